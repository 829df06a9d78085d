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

from collections.abc import Callable
from dataclasses import dataclass, replace

from tapec.analyses.dependence import Affine
from tapec.analyses.trips import Trips
from tapec.optimise.clean.names import Fresh
from tapec.syntax.core import Assign, Atom, Const, Expr, For, Loop, Name, Op, Stmt, Store
from tapec.syntax.linear import Sum
from tapec.syntax.types import INT64, Array


@dataclass(frozen=True)
class Index:
    """An element that counts with a loop: `x[k, n + i - 1]` is 1 before the trip's own of the row at `n` in row `k`.

    leading  the subscripts but the last one, which stand still
    row      what stands still of the last one
    offset   by how much it is further on than the loop's variable and that
    """

    leading: tuple[Affine, ...]
    row: Sum
    offset: int

    def beside(self, other: Index) -> bool:
        """Whether another element is in the same row."""
        return (self.leading, self.row) == (other.leading, other.row)


@dataclass(frozen=True)
class Addition:
    """An addition that waits: to which element, and what, as a name or number of the trip."""

    stmt: Store
    index: Index

    @property
    def offset(self) -> int:
        """How far the element is from the trip's own."""
        return self.index.offset


@dataclass(frozen=True)
class Span:
    """The bounds of a loop that stand still: its variable is from `first` to below `behind`."""

    first: Affine
    behind: Affine


def standing(trips: Trips, loop: For, outermost: For | Loop) -> Span | None:
    """The bounds of a loop, if they are set before `outermost`."""
    first = trips.dependence.bound(loop.var, low=True)
    last = trips.dependence.bound(loop.var, low=False)
    if first is None or last is None:
        return None
    (around,) = trips.regions.body[id(outermost)]
    if any(one.base is not None and trips.regions.home[one.base].inside(around) for one in (first, last)):
        return None
    return Span(first, Affine(last.base, last.offset + 1))


def together(additions: list[Addition]) -> list[list[Addition]]:
    """The additions in groups of neighbours: elements of one row."""
    groups: dict[tuple[object, ...], list[Addition]] = {}
    for one in additions:
        groups.setdefault((one.stmt.array, one.index.leading, one.index.row), []).append(one)
    return [group for group in groups.values() if len(group) > 1]


def padding(trips: Trips, loop: For, additions: list[Addition]) -> int:
    """By how much a buffer's subscripts must be larger than the trip's number to have room for the zeros."""
    return max(0, reach(additions) - trips.dependence.minimum(Affine(loop.var, 0)))


def reach(additions: list[Addition]) -> int:
    """How far apart the elements are that one trip adds to."""
    offsets = [one.offset for one in additions]
    return max(offsets) - min(offsets)


def moved(fresh: Fresh, base: Atom, offset: int, stmt: Stmt, body: list[Stmt]) -> Atom:
    """A whole number plus a constant, as an atom; `body` gets what computes it."""
    if offset == 0:
        return base
    sign, step = ("+", offset) if offset > 0 else ("-", -offset)
    return _computed(fresh, Op(sign, (base, Const(step))), stmt, body)


def placed(fresh: Fresh, index: Index, base: Atom, stmt: Stmt, body: list[Stmt]) -> tuple[Atom, ...]:
    """The subscripts of an element of a trip, or place, `base`; `body` gets what computes them."""
    leading = [
        Const(one.offset) if one.base is None else moved(fresh, Name(one.base), one.offset, stmt, body)
        for one in index.leading
    ]
    for name, factor in index.row.terms:
        part: Atom = Name(name)
        if abs(factor) > 1:
            part = _computed(fresh, Op("*", (Const(abs(factor)), part)), stmt, body)
        base = _computed(fresh, Op("+" if factor > 0 else "-", (base, part)), stmt, body)
    return (*leading, moved(fresh, base, index.offset, stmt, body))


def _computed(fresh: Fresh, value: Expr, stmt: Stmt, body: list[Stmt]) -> Name:
    name = fresh("t", INT64)
    body.append(Assign(name, value, stmt.span))
    return Name(name)


class Gathering:
    """Writes the loop of one group.

    computed   gives an expression a name before the outermost loop
    """

    def __init__(self, trips: Trips, fresh: Fresh, computed: Callable[[Expr, For], Atom]) -> None:
        self.trips = trips
        self.fresh = fresh
        self.computed = computed

    def loop(self, loop: For, span: Span, group: list[Addition], buffers: dict[Atom, str], pad: int) -> For:
        """The loop over the elements that receive; each buffer has its trip's value at the trip's number plus `pad`."""
        stmt = group[0].stmt
        low, high = (side(one.offset for one in group) for side in (min, max))
        start = self.computed(self.sum(span.first, low), loop)
        end = self.computed(self.sum(span.behind, high), loop)
        # a loop without a trip touches nothing
        runs = self.computed(Op(">", (self.place(span.behind, loop), self.place(span.first, loop))), loop)
        stop = self.computed(Op("ifelse", (runs, end, start)), loop)
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

    def sum(self, value: Affine, more: int) -> Expr:
        """A bound plus a number."""
        offset = value.offset + more
        if value.base is None:
            return Const(offset)
        if offset == 0:
            return Name(value.base)
        return Op("+" if offset > 0 else "-", (Name(value.base), Const(abs(offset))))

    def place(self, value: Affine, loop: For) -> Atom:
        return self.computed(self.sum(value, 0), loop)
