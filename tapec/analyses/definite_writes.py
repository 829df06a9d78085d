"""Which rows of an array a block has written before it reads them: whether it needs none of what was there.

    p[0] = 0.0                          [0, 1)
    for i in range(1, n - 1):           [0, i) in an iteration
        p[i] = r / (s - p[i - 1])
    for i in range(n - 2, 0, -1):       [0, n - 1)
        x[i] = p[i] * x[i + 1]

Subscripts are sums (`analyses/integers.py`) that are never negative, and loops count by one.  Rows of a vector are its
elements; those of other arrays are written by loops over all their elements.
"""

from __future__ import annotations

from dataclasses import dataclass

from tapec.analyses.integers import Integers
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    For,
    If,
    Loop,
    Name,
    Op,
    Stmt,
    Store,
    may_leave,
    mentions,
    reads,
    walk,
    writes,
    written_in,
)
from tapec.syntax.linear import Sum


@dataclass(frozen=True)
class RowRange:
    """The rows from `low` to the one before `high`; none if that is not above."""

    low: Sum
    high: Sum


Stretches = tuple[RowRange, ...]
# rows that may be missing where nearly all are written
_REST = 4
# with more of them, what is joined is not looked for
_MOST = 12


class DefiniteWrites:
    """What blocks of a function write of one array, which is made with `extents`."""

    def __init__(self, array: str, integers: Integers, extents: tuple[Expr, ...]) -> None:
        self.array = array
        self.extents = extents
        self.integers = integers
        self.scopes = integers.scopes

    def before_reading(self, block: Block, nearly_all: bool = False) -> bool:
        """Whether a block reads no row that it has not written before, and writes all but a few if `nearly_all`."""
        names = written_in(block)
        if any(mentions(extent, names) for extent in self.extents):
            # they are not the array's any more
            return False
        written = self._after(block, ())
        return written is not None and (not nearly_all or any(map(self._is_most, written)))

    def _is_most(self, written: RowRange) -> bool:
        extent = self.integers.sum(self.extents[0])
        rest = None if extent is None else extent.plus(written.high, -1).plus(written.low)
        return rest is not None and not rest.terms and rest.number <= _REST

    def _after(self, block: Block, known: Stretches) -> Stretches | None:
        """What is written behind a block; None if it reads something else."""
        for stmt in block:
            found = self._behind(stmt, known)
            if found is None:
                return None
            known = found
        return known

    def _behind(self, stmt: Stmt, known: Stretches) -> Stretches | None:
        if not any(self.array in (*reads(one), *writes(one)) for one in walk((stmt,))):
            return known
        match stmt:
            case Store(array=self.array, index=(index, *_), accumulate=accumulate, value=value):
                place = self._place(index, stmt)
                if place is None or value == Name(self.array) or (accumulate and not self._covers(known, place, stmt)):
                    return None
                return self._with_row(stmt, known)
            case Assign(value=Op(fn="dim")):
                return known
            case Assign(value=Op(fn="load", args=(Name(id=self.array), index, *_))):
                read = self._place(index, stmt)
                return known if read is not None and self._covers(known, read, stmt) else None
            case If(body=body, orelse=orelse):
                ways = self._after(body, known), self._after(orelse, known)
                return None if None in ways else known
            case For():
                behind = self._loop(stmt, known)
                return None if behind is None else self._with_row(stmt, behind)
            case Loop(body=body):
                return None if self._after(body, known) is None else known
        return None

    def _loop(self, loop: For, known: Stretches) -> Stretches | None:
        here, behind = known, known
        start, stop = (self.integers.bound(bound, loop) for bound in (loop.start, loop.stop))
        if loop.step in (Const(1), Const(-1)) and start is not None and stop is not None and not may_leave(loop.body):
            forward = loop.step == Const(1)
            made = {loop.var, *written_in(loop.body)}
            for stmt in loop.body:
                place = self._row(stmt)
                # by one from iteration to iteration, and with nothing else that an iteration sets
                rest = None if place is None else place.plus(Sum.of(loop.var), -1)
                if place is None or rest is None or rest.names() & made:
                    continue
                first, end = place.with_({loop.var: start}), place.with_({loop.var: stop})
                if forward:
                    so_far, all_ = RowRange(first, place), RowRange(first, end)
                else:
                    so_far, all_ = RowRange(_next(place), _next(first)), RowRange(_next(end), _next(first))
                here, behind = self._joined((*here, so_far), stmt), self._joined((*behind, all_), loop)
        return None if self._after(loop.body, here) is None else behind

    def _with_row(self, stmt: Stmt, known: Stretches) -> Stretches:
        """What is written, with the row that a statement writes all of, if there is one."""
        place = self._row(stmt)
        return known if place is None else self._joined((*known, RowRange(place, _next(place))), stmt)

    def _row(self, stmt: Stmt) -> Sum | None:
        """The row that a store, or loops over its elements, write all of."""
        along: list[str] = []
        made = written_in((stmt,))
        while isinstance(stmt, For) and len(along) + 1 < len(self.extents):
            (extent,) = self.extents[len(along) + 1 : len(along) + 2]
            inner = [one for one in stmt.body if self._writes(one)]
            if (stmt.start, stmt.stop, stmt.step) != (Const(0), extent, Const(1)) or may_leave(stmt.body) or not inner:
                return None
            along.append(stmt.var)
            stmt = inner[-1]
        whole = len(along) + 1 == len(self.extents)
        if not whole or not isinstance(stmt, Store) or stmt.array != self.array or stmt.accumulate:
            return None
        place = self._place(stmt.index[0], stmt)
        own = stmt.index[1:] == tuple(map(Name, along))
        return place if own and place is not None and not place.names() & made else None

    def _writes(self, stmt: Stmt) -> bool:
        return any(isinstance(one, Store) and one.array == self.array for one in walk((stmt,)))

    def _place(self, index: Expr, user: Stmt) -> Sum | None:
        """A subscript that counts from the front, where there is such an element."""
        place = self.integers.bound(index, user)
        here = self.scopes.of[user.key]
        if place is None or self.integers.never_negative(place, here):
            return place
        return place if self.integers.never_negative(place, here, given=self._inside(place, user)) else None

    def _inside(self, place: Sum, user: Stmt) -> tuple[Sum, ...]:
        """What is not below zero if there is an element of a subscript."""
        extent = self.integers.bound(self.extents[0], user)
        return () if extent is None else (place.plus(extent), extent.plus(place, -1).plus(Sum(number=-1)))

    def _covers(self, known: Stretches, place: Sum, user: Stmt) -> bool:
        given = self._inside(place, user)
        return any(
            self._at_most(one.low, place, user, given) and self._at_most(_next(place), one.high, user, given)
            for one in known
        )

    def _joined(self, known: Stretches, user: Stmt) -> Stretches:
        """The stretches, and those that two of them make up together."""
        found = list(dict.fromkeys(known))
        for one in known:
            for other in known:
                both = RowRange(one.low, other.high)
                if len(found) < _MOST and both not in found and self._at_most(other.low, one.high, user):
                    found.append(both)
        return tuple(found)

    def _at_most(self, one: Sum, other: Sum, user: Stmt, given: tuple[Sum, ...] = ()) -> bool:
        """Whether one number is at most another one, where both have a value, and `given` are not below zero."""
        return self.integers.never_negative(other.plus(one, -1), self.scopes.of[user.key], one, given)


def _next(place: Sum) -> Sum:
    return place.plus(Sum(number=1))
