"""Which elements of a vector a block has written before it reads them: whether it needs none of what was there.

    p[0] = 0.0                          [0, 1)
    for i in range(1, n - 1):           [0, i) in a trip
        p[i] = r / (s - p[i - 1])
    for i in range(n - 2, 0, -1):       [0, n - 1)
        x[i] = p[i] * x[i + 1]

Subscripts are sums (`analyses/integers.py`) that are never negative, and loops count by one.
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
    reads,
    walk,
    writes,
    written_in,
)
from tapec.syntax.linear import Sum


@dataclass(frozen=True)
class Stretch:
    """The elements from `low` to the one before `high`; none if that is not above."""

    low: Sum
    high: Sum


Stretches = tuple[Stretch, ...]
# with more of them, what is joined is not looked for
_MOST = 12


class Written:
    """What blocks of a function write of one vector."""

    def __init__(self, array: str, integers: Integers) -> None:
        self.array = array
        self.integers = integers
        self.regions = integers.regions

    def before_reading(self, block: Block) -> bool:
        """Whether a block reads no element that it has not written before."""
        return self._after(block, ()) is not None

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
            case Store(array=self.array, index=(index,), accumulate=accumulate, value=value):
                place = self._place(index, stmt)
                if place is None or value == Name(self.array) or (accumulate and not self._covers(known, place, stmt)):
                    return None
                return self._joined((*known, Stretch(place, _next(place))), stmt)
            case Assign(value=Op(fn="dim")):
                return known
            case Assign(value=Op(fn="load", args=(Name(id=self.array), index))):
                read = self._place(index, stmt)
                return known if read is not None and self._covers(known, read, stmt) else None
            case If(body=body, orelse=orelse):
                ways = self._after(body, known), self._after(orelse, known)
                return None if None in ways else known
            case For():
                return self._loop(stmt, known)
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
                place = self._place(stmt.index[0], stmt) if self._is_store(stmt) else None  # type: ignore[union-attr]
                # by one from trip to trip, and with nothing else that a trip sets
                rest = None if place is None else place.plus(Sum.of(loop.var), -1)
                if place is None or rest is None or rest.names() & made:
                    continue
                first, end = place.with_({loop.var: start}), place.with_({loop.var: stop})
                if forward:
                    so_far, all_ = Stretch(first, place), Stretch(first, end)
                else:
                    so_far, all_ = Stretch(_next(place), _next(first)), Stretch(_next(end), _next(first))
                here, behind = self._joined((*here, so_far), stmt), self._joined((*behind, all_), loop)
        return None if self._after(loop.body, here) is None else behind

    def _is_store(self, stmt: Stmt) -> bool:
        return isinstance(stmt, Store) and stmt.array == self.array and len(stmt.index) == 1 and not stmt.accumulate

    def _place(self, index: Expr, user: Stmt) -> Sum | None:
        """A subscript that counts from the front."""
        place = self.integers.bound(index, user)
        return place if self.integers.never_negative(place, self.regions.of[id(user)]) else None

    def _covers(self, known: Stretches, place: Sum, user: Stmt) -> bool:
        return any(self._at_most(one.low, place, user) and self._at_most(_next(place), one.high, user) for one in known)

    def _joined(self, known: Stretches, user: Stmt) -> Stretches:
        """The stretches, and those that two of them make up together."""
        found = list(dict.fromkeys(known))
        for one in known:
            for other in known:
                both = Stretch(one.low, other.high)
                if len(found) < _MOST and both not in found and self._at_most(other.low, one.high, user):
                    found.append(both)
        return tuple(found)

    def _at_most(self, one: Sum, other: Sum, user: Stmt) -> bool:
        """Whether one number is at most another one, where both have a value."""
        return self.integers.never_negative(other.plus(one, -1), self.regions.of[id(user)], one)


def _next(place: Sum) -> Sum:
    return place.plus(Sum(number=1))
