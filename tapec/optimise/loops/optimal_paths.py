"""Go back along the path that a dynamic programme has chosen, past the elements that are not on it.

    for j in range(m - 1, -1, -1):            for j in range(m - 1, -1, -1):
        d = y[j]                                  t = a_bar[j + 1]
        t = a_bar[j + 1]                          if t != 0.0:
        a_bar[j + 1] = 0.0            ->              d = y[j]
        d_bar[j] += d * t                             a_bar[j + 1] = 0.0
        s = t if first else 0.0                       d_bar[j] += d * t
        r = 0.0 if first else t                       s = t if first else 0.0
        a_bar[j] += s                                 r = 0.0 if first else t
        b_bar[j] += r                                 a_bar[j] += s
                                                      b_bar[j] += r

Of several results before it, each element has taken the least or the largest one: its adjoint goes to that one alone,
so that few elements have another one than zero.  Done where the iterations need one another, do nothing but spread the
adjoint of one element, and hand on to elements of its array only what is chosen, to two at least.  (Iterations in any
order run on vectors, which is as fast as asking.)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tapec.analyses.aliases import is_memory
from tapec.analyses.iterations import Iterations
from tapec.optimise import costs
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Const,
    For,
    Function,
    If,
    Name,
    Note,
    Op,
    Stmt,
    Store,
    map_blocks,
    mentions,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import BOOL

_ZERO = Const(0.0)


def follow_optimal_paths(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with loops that pass over elements without an adjoint; see the module."""
    return _Paths(function).rewritten()


class _Paths(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.iterations = Iterations(function)
        self.uses = Counter(name for stmt in walk(function.body) for name in reads(stmt))

    def statement(self, stmt: Stmt) -> tuple[Stmt, ...]:
        found = self.asking(stmt) if isinstance(stmt, For) and self.plain(stmt) else None
        if found is None:
            return (map_blocks(stmt, self.block),)
        why = "their adjoint goes to the one that was chosen alone"
        remark(stmt.span, "optimal_paths", "the reverse sweep passes over elements not chosen", why)
        return (found,)

    def plain(self, loop: For) -> bool:
        """Whether the iterations of an innermost loop take no ways."""
        return not loop.parallel and all(isinstance(stmt, Assign | Store | Note) for stmt in loop.body)

    def asking(self, loop: For) -> For | None:
        """The loop with a question for the adjoint that its iterations spread, if they do nothing else.

        Only where iterations need one another: others run on vectors.
        """
        for place, (take, clear) in enumerate(zip(loop.body, loop.body[1:], strict=False)):
            match take, clear:
                case (
                    Assign(target=taken, value=Op(fn="load", args=(Name(id=array), *index))),
                    Store(array=cleared, index=subs, value=value, accumulate=False),
                ) if array == cleared and tuple(index) == subs and value == _ZERO:
                    return None if self.iterations.is_parallel(loop) else self.split(loop, place, array, taken)
        return None

    def split(self, loop: For, place: int, array: str, taken: str) -> For | None:
        """The loop with all that need not be done for an adjoint of zero behind the question for it."""
        take, clear, *after = loop.body[place:]
        if not all(isinstance(stmt, Assign) and self.harmless(stmt) for stmt in loop.body[:place]):
            return None
        if not self.spreads(after, taken) or not self.chosen(after, array):
            return None
        before: list[Stmt] = []
        moved: list[Stmt] = []
        needed = set(reads(take))
        for stmt in reversed(loop.body[:place]):
            stays = not needed.isdisjoint(writes(stmt))
            (before if stays else moved).insert(0, stmt)
            needed |= set(reads(stmt)) if stays else set()
        inside = (*moved, clear, *after)
        used = Counter(name for stmt in inside for name in reads(stmt))
        sums = {target for _, target in _copies(after)}
        own = {stmt.target for stmt in inside if isinstance(stmt, Assign)} - sums
        if any(used[name] != self.uses[name] for name in own):
            return None
        some = self.fresh("t", BOOL)
        ask = Assign(some, Op("!=", (Name(taken), _ZERO)), take.span)
        return replace(loop, body=(*before, take, ask, If(Name(some), inside, span=take.span)))

    def harmless(self, stmt: Assign) -> bool:
        """Whether a statement computes a number that has no other value, and does nothing else."""
        if is_memory(self.iterations.types[stmt.target]) or not self.iterations.fixed(Name(stmt.target)):
            return False
        pure = isinstance(stmt.value, Op) and stmt.value.fn != "pop" and not stmt.value.fn.startswith("np.random")
        return pure or not isinstance(stmt.value, Op)

    def spreads(self, block: list[Stmt], taken: str) -> bool:
        """Whether statements do nothing but add multiples of an adjoint, to elements and to sums in variables."""
        names, sums = {taken}, dict[str, str]()
        for stmt in block:
            match stmt:
                case Note():
                    pass
                case Store(index=index, value=Name(id=value), accumulate=True):
                    if value not in names or any(mentions(sub, names) for sub in index):
                        return False
                case Assign(target=target, value=Name(id=source)) if sums.get(source) == target:
                    pass
                case Assign(target=target, value=Op(fn="+" | "-", args=(Name(id=total), Name(id=value)))) if (
                    value in names and total not in names and self.uses[target] == 1
                ):
                    sums[target] = sums.get(total, total)
                case Assign(target=target) if self.harmless(stmt):
                    if self.multiple(stmt, names):
                        names.add(target)
                    elif any(name in names or name in sums for name in reads(stmt)):
                        return False
                case _:
                    return False
        return True

    def multiple(self, stmt: Assign, names: set[str]) -> bool:
        """Whether a number is zero if those of `names` are, or a sum of such numbers."""
        match stmt.value:
            case Op(fn="ifelse", args=(test, *sides)):
                adjoints = [side == _ZERO or mentions(side, names) for side in sides]
                return all(adjoints) and not mentions(test, names)
            case Op(fn=fn, args=args):
                involved = [mentions(arg, names) for arg in args]
                if fn == "neg" or fn in ("+", "-"):
                    return all(involved)
                return (fn == "*" and sum(involved) == 1) or (fn == "/" and involved == [True, False])
        return False

    def chosen(self, block: list[Stmt], array: str) -> bool:
        """Whether elements of an array receive chosen values alone, each its own, and enough of them."""
        adds = [
            stmt.value for stmt in block if isinstance(stmt, Store) and self.iterations.may_share(stmt.array, array)
        ]
        return len(set(adds)) == len(adds) >= costs.PATH_ADDITIONS and all(map(self.may_be_zero, adds))

    def may_be_zero(self, value: Atom) -> bool:
        """Whether a number is zero on one side of a choice."""
        match self.iterations.definition(value):
            case Op(fn="ifelse", args=(_, *sides)):
                return any(side == _ZERO or (isinstance(side, Name) and self.may_be_zero(side)) for side in sides)
        return False


def _copies(block: list[Stmt]) -> list[tuple[str, str]]:
    """The names that statements copy, and what into."""
    return [(stmt.value.id, stmt.target) for stmt in block if isinstance(stmt, Assign) and isinstance(stmt.value, Name)]
