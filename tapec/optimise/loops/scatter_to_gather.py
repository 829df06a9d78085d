"""Write the additions to several neighbours as one loop over the elements that receive them.

`distribute` keeps what a stencil's adjoint scatters in buffers; the elements then collect it:

    for i in range(1, n - 1):                     for i in range(1, n - 1):
        s_kept[i] = c[i] * y_bar[i]                   s_kept[i + 1] = c[i] * y_bar[i]
    for i in range(1, n - 1):                     for i in range(n if n - 1 > 1 else 0):
        x_bar[i - 1] += s_kept[i]         ->          x_bar[i] += s_kept[i + 2] + s_kept[i]
    for i in range(1, n - 1):
        x_bar[i + 1] += s_kept[i]

Each element is read and written once.  The first and last ones receive less than the others: the buffers have zeros
at both ends, which only stay zeros if the loop has the same bounds whenever it runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tapec.analyses.dependence import Affine
from tapec.analyses.iterations import Iterations
from tapec.optimise.loops.loop_preheader import Outside
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import Assign, Atom, Block, Const, Expr, For, If, Loop, Name, Op, Stmt, Store, walk
from tapec.syntax.linear import Sum
from tapec.syntax.types import INT64, Array


@dataclass(frozen=True)
class Index:
    """An element that counts with a loop: `x[k, n + i - 1]` is 1 before the iteration's own of the row at `n` in row
    `k`.

    leading  the subscripts but the last one, which stand still
    row      what stands still of the last one
    offset   by how much it is further on than the loop's variable and that
    back     whether it is the variable's negative: `x[n - i]` counts the other way
    """

    leading: tuple[Affine, ...]
    row: Sum
    offset: int
    back: bool = False

    def beside(self, other: Index) -> bool:
        """Whether another element is in the same row, or comes to it from its other end."""
        return self.leading == other.leading and (self.back != other.back or self.row == other.row)

    def at(self, iteration: str) -> Sum:
        """The last subscript in an iteration."""
        return self.row.plus(Sum.of(iteration), -1 if self.back else 1).plus(Sum(number=self.offset))


@dataclass(frozen=True)
class Addition:
    """An addition that waits: to which element, and what, as a name or number of the iteration."""

    stmt: Store
    index: Index

    @property
    def offset(self) -> int:
        """How far the element is from the iteration's own."""
        return self.index.offset


@dataclass(frozen=True)
class IndexSpan:
    """The bounds of a loop that stand still: its variable is from `first` to below `behind`."""

    first: Affine
    behind: Affine


def straight(body: Block) -> bool:
    """Whether each iteration makes the same stores: branches only choose between values."""
    return all(
        isinstance(stmt, Assign | Store)
        or (isinstance(stmt, If) and all(isinstance(s, Assign | If) for s in walk((stmt,))))
        for stmt in body
    )


def standing(iterations: Iterations, loop: For, outermost: For | Loop) -> IndexSpan | None:
    """The bounds of a loop, if they are set before `outermost`."""
    first = iterations.dependence.bound(loop.var, low=True)
    last = iterations.dependence.bound(loop.var, low=False)
    if first is None or last is None:
        return None
    (around,) = iterations.scopes.body[outermost.key]
    if any(one.base is not None and iterations.scopes.scope_of[one.base].inside(around) for one in (first, last)):
        return None
    return IndexSpan(first, Affine(last.base, last.offset + 1))


def together(additions: list[Addition]) -> list[list[Addition]]:
    """The additions in groups of neighbours: elements of one row."""
    groups: dict[tuple[object, ...], list[Addition]] = {}
    for one in additions:
        if not one.index.back:
            groups.setdefault((one.stmt.array, one.index.leading, one.index.row), []).append(one)
    return [group for group in groups.values() if len(group) > 1]


def padding(iterations: Iterations, loop: For, reach: int) -> int:
    """By how much a buffer's subscripts must be larger than the iteration's number to have room for the zeros.

    reach  how far apart the elements are that one iteration adds to
    """
    return max(0, reach - iterations.dependence.minimum(Affine(loop.var, 0)))


def reach(additions: list[Addition]) -> int:
    """How far apart the elements are that one iteration adds to."""
    offsets = [one.offset for one in additions]
    return max(offsets) - min(offsets)


def moved(fresh: Fresh, base: Atom, offset: int, stmt: Stmt, body: list[Stmt]) -> Atom:
    """A whole number plus a constant, as an atom; `body` gets what computes it."""
    if offset == 0:
        return base
    sign, step = ("+", offset) if offset > 0 else ("-", -offset)
    return _computed(fresh, Op(sign, (base, Const(step))), stmt, body)


def standing_still(fresh: Fresh, sub: Affine, stmt: Stmt, body: list[Stmt]) -> Atom:
    """A subscript that no loop counts, as an atom; `body` gets what computes it."""
    return Const(sub.offset) if sub.base is None else moved(fresh, Name(sub.base), sub.offset, stmt, body)


def placed(fresh: Fresh, index: Index, base: Atom, stmt: Stmt, body: list[Stmt]) -> tuple[Atom, ...]:
    """The subscripts of an element of an iteration, or place, `base`; `body` gets what computes them."""
    leading = [standing_still(fresh, one, stmt, body) for one in index.leading]
    place: Atom = Const(0) if index.back else base
    for product, factor in index.row.terms:
        first, *others = product.split("*")
        part: Atom = Name(first)
        for name in others:
            part = _computed(fresh, Op("*", (part, Name(name))), stmt, body)
        if abs(factor) > 1:
            part = _computed(fresh, Op("*", (Const(abs(factor)), part)), stmt, body)
        alone = place == Const(0) and factor > 0
        place = part if alone else _computed(fresh, Op("+" if factor > 0 else "-", (place, part)), stmt, body)
    place = moved(fresh, place, index.offset, stmt, body)
    return (*leading, _computed(fresh, Op("-", (place, base)), stmt, body) if index.back else place)


def bounds_of_elements(span: IndexSpan, offsets: Iterable[int], loop: For, outside: Outside) -> tuple[Atom, Atom]:
    """The first element on an axis that iterations add to, so far from their own number, and the one behind the
    last.
    """
    known = list(offsets)
    start = outside.computed(_sum(span.first, min(known)), loop)
    end = outside.computed(_sum(span.behind, max(known)), loop)
    # a loop without an iteration touches nothing
    runs = Op(">", (outside.computed(_sum(span.behind, 0), loop), outside.computed(_sum(span.first, 0), loop)))
    return start, outside.computed(Op("ifelse", (outside.computed(runs, loop), end, start)), loop)


def _sum(value: Affine, more: int) -> Expr:
    """A bound plus a number."""
    offset = value.offset + more
    if value.base is None:
        return Const(offset)
    if offset == 0:
        return Name(value.base)
    return Op("+" if offset > 0 else "-", (Name(value.base), Const(abs(offset))))


def _computed(fresh: Fresh, value: Expr, stmt: Stmt, body: list[Stmt]) -> Name:
    name = fresh("t", INT64)
    body.append(Assign(name, value, stmt.span))
    return Name(name)


class Gathering:
    """Writes the loop of one group.

    outside   what stands before the outermost loop
    """

    def __init__(self, iterations: Iterations, outside: Outside) -> None:
        self.iterations = iterations
        self.fresh = outside.fresh
        self.outside = outside

    def loop(self, loop: For, span: IndexSpan, group: list[Addition], buffers: dict[Atom, str], pad: int) -> For:
        """The loop over the elements that receive; each buffer has its iteration's value at the iteration's number plus
        `pad`.
        """
        stmt = group[0].stmt
        start, stop = bounds_of_elements(span, (one.offset for one in group), loop, self.outside)
        var = self.fresh(loop.var, INT64)
        type_ = self.fresh.types[stmt.array]
        assert isinstance(type_, Array)
        body: list[Stmt] = []
        total: Atom | None = None
        for one in group:
            sub = moved(self.fresh, Name(var), pad - one.offset, stmt, body)
            value = self.fresh("t", type_.element)
            body.append(Assign(value, Op("load", (Name(buffers[one.stmt.value]), sub)), one.stmt.span))
            if total is None:
                total = Name(value)
                continue
            both = self.fresh("t", type_.element)
            body.append(Assign(both, Op("+", (total, Name(value))), one.stmt.span))
            total = Name(both)
        assert total is not None
        place = placed(self.fresh, replace(group[0].index, offset=0), Name(var), stmt, body)
        body.append(Store(stmt.array, place, total, True, stmt.span))
        return For(var, start, stop, Const(1), tuple(body), False, loop.span)
