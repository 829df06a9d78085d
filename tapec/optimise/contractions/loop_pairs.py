"""Two products of a nest that are one.

    for i in range(n):
        for j in range(m):
            s = 0.0
            for k in range(m):
                s = s + a[i, k] * b[j, k]           P = np.dot(a, b.T + b)
                y[i, k] += a[i, j] * b[j, k]   ->   y += P
            y[i, j] += s

The adjoint of what is multiplied by itself, as deviations are in a covariance, is such a nest.  Both products have one
first factor, and both are added to the same elements, with the same signs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from tapec.errors import Span
from tapec.optimise.contractions.loop_nests import Nest, Term
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import Assign, Atom, Block, Const, Expr, For, Name, Op, Stmt, Store, substitute
from tapec.syntax.types import INT64, Array

# array, subscripts, sign
Additions = Counter[tuple[str, tuple[Expr, ...], int]]


def joined_term(nest: Nest, own: dict[str, Assign], is_one: Callable[[str, str], bool]) -> Term | None:
    """The term over the second loop, if that over the third one has its first factor and is added to the same.

    own      what computes the numbers that two loops tell apart at most
    is_one   whether two numbers, one told apart by the first two loops and one by the first and third, are one matrix
    """
    terms = {term.over: term for term in nest.terms}
    if len(nest.terms) != 2 or terms.keys() != {nest.j, nest.k}:
        return None
    one, other = terms[nest.j], terms[nest.k]
    lefts = [name for term in (one, other) for name in (term.first, term.second) if nest.i in nest.counted[name]]
    if len(lefts) != 2 or any(_stands_on_end(own[name], nest) for name in lefts) or not is_one(*lefts):
        return None
    added = _additions(one.uses, one, nest, own, {nest.k: Name(nest.j)})
    same = _additions((*other.uses, *nest.after), other, nest, own, {})
    return one if added is not None and added == same else None


def added_up(matrices: tuple[str, str, str], size: Atom, fresh: Fresh, span: Span | None) -> For:
    """The loops that set the last of three square matrices to the sum of the others."""
    *parts, total = matrices
    type_ = fresh.types[total]
    assert isinstance(type_, Array)
    i, j = (Name(fresh(name, INT64)) for name in ("i", "j"))
    one, other, both = (Name(fresh("t", type_.element)) for _ in range(3))
    loads = [
        Assign(name.id, Op("load", (Name(part), i, j)), span) for name, part in zip((one, other), parts, strict=True)
    ]
    added = Assign(both.id, Op("+", (one, other)), span)
    body: Block = (*loads, added, Store(total, (i, j), both, span=span))
    return For(i.id, Const(0), size, Const(1), (For(j.id, Const(0), size, Const(1), body, span=span),), span=span)


def _stands_on_end(stmt: Assign, nest: Nest) -> bool:
    """Whether a factor is an array's element whose row is not the first loop's."""
    match stmt.value:
        case Op(fn="load", args=(_, row, *_)):
            return row != Name(nest.i)
    return False


def _additions(
    block: Iterable[Stmt], term: Term, nest: Nest, own: dict[str, Assign], renamed: dict[str, Expr]
) -> Additions | None:
    """To which elements some statements add a term, and with which sign; None if they do anything else."""
    signs = {term.made.target: 1}
    signs |= {total: 0 for total in nest.sums if total in own and own[total].value == Const(0.0)}
    found: Additions = Counter()
    for stmt in block:
        match stmt:
            case Assign(target=target, value=Op(fn="neg", args=(Name(id=name),))) if name in signs:
                signs[target] = -signs[name]
            case Assign(target=target, value=Op(fn="+", args=(Name(id=one), Name(id=two)))) if (
                one in signs and two in signs and 0 in (signs[one], signs[two])
            ):
                total = signs[target] = signs[one] + signs[two]
                signs |= {name: total for name, (made, _) in nest.sums.items() if made == target}
            case Store(array=array, index=index, value=Name(id=name), accumulate=True) if signs.get(name):
                found[array, tuple(substitute(sub, renamed) for sub in index), signs[name]] += 1
            case _:
                return None
    return found
