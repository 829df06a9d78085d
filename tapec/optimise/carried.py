"""Carry to the next trip what a trip adds to that one's element.

    for i in range(n - 1):                    x_carried = 0.0
        x_bar[i] += s                         for i in range(n - 1):
        x_bar[i + 1] += t          ->             x_bar[i] += s + x_carried
                                                  x_carried = t
                                              if 0 < n - 1:
                                                  x_bar[n - 1] += x_carried

Each element is read and written once, and the loop runs on vectors: what the trip before has left is the same vector
shifted by one.  Where nothing but the two additions meets the array, their order does not matter.  Only in loops that
stand in no other one: a loop that waits for its trip before cannot run in lanes, nor on threads.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.trips import Access, Trips
from tapec.journal import Listener, Named
from tapec.optimise.names import Fresh
from tapec.syntax.core import Assign, Const, Expr, For, Function, If, Name, Op, Stmt, Store, walk, writes
from tapec.syntax.types import BOOL, INT64, Array


def carry_additions(
    function: Function, _constants: frozenset[str] = frozenset(), listener: Listener | None = None
) -> Function:
    """The function with such additions carried; see the module.  Afterwards a name may have several values."""
    worker = _Carried(function, listener)
    body = tuple(new for stmt in function.body for new in (worker.loop(stmt) if isinstance(stmt, For) else (stmt,)))
    return replace(function, body=body, types=worker.fresh.types)


class _Carried:
    def __init__(self, function: Function, listener: Listener | None) -> None:
        self.listener = listener
        self.trips = Trips(function)
        self.fresh = Fresh(function.types)

    def loop(self, loop: For) -> list[Stmt]:
        """What takes a loop's place."""
        stands = self.trips.fixed(loop.start) and self.trips.fixed(loop.stop)
        if loop.step not in (Const(1), Const(-1)) or loop.parallel or not stands:
            return [loop]
        if not self.trips.free_of_effects(loop.body):
            return [loop]
        before: list[Stmt] = []
        after: list[Stmt] = []
        for group in self.trips.groups(loop.body):
            pair = self.pair(loop, group)
            if pair is not None:
                loop = self.carry(loop, *pair, before, after)
        return [*before, loop, *after]

    def pair(self, loop: For, group: list[Access]) -> tuple[Store, Store] | None:
        """The additions to elements that a trip is the last to add to, and to those that the next one is the last for.

        None if anything else in the loop meets their memory.
        """
        stores = [one for one in loop.body if isinstance(one, Store) and any(access.stmt is one for access in group)]
        if len(group) != 2 or len(stores) != 2 or not all(one.accumulate for one in stores):
            return None
        first, second = stores
        type_ = self.trips.types[first.array]
        inside = {name for stmt in walk(loop.body) for name in writes(stmt)}
        if first.array != second.array or first.array in inside or not isinstance(type_, Array) or type_.ndim != 1:
            return None
        values = [self.trips.types[one.value.id] for one in stores if isinstance(one.value, Name)]
        if (
            not type_.is_float
            or values != [type_.element] * 2
            or not all(self.trips.fixed(one.value) for one in stores)
        ):
            return None
        places = [self.trips.subscript(one.index[0]) for one in stores]
        offsets = [one.offset for one in places if one is not None and one.base == loop.var]
        if len(offsets) != 2 or abs(offsets[0] - offsets[1]) != 1:
            return None
        upward = loop.step == Const(1)
        return (first, second) if (offsets[0] < offsets[1]) == upward else (second, first)

    def carry(self, loop: For, last: Store, carried: Store, before: list[Stmt], after: list[Stmt]) -> For:
        """The loop, which adds at `last` what the trip before has left of `carried`, with what stands around it."""
        type_ = self.trips.types[last.array]
        place = self.trips.subscript(carried.index[0])
        assert isinstance(type_, Array) and place is not None
        step = 1 if loop.step == Const(1) else -1
        name, both = self.fresh(f"{last.array}_carried", type_.element), self.fresh("t", type_.element)
        zero: Expr = Const(0.0) if type_.dtype == "float64" else Op(f"cast.{type_.dtype}", (Const(0.0),))
        before.append(Assign(name, zero, carried.span))
        body: list[Stmt] = []
        for stmt in loop.body:
            if stmt is last:
                body.append(Assign(both, Op("+", (last.value, Name(name))), last.span))
                stmt = replace(last, value=Name(both))
            if stmt is not carried:
                body.append(stmt)
        body.append(Assign(name, carried.value, carried.span))
        runs, index = self.fresh("t", BOOL), self.fresh("t", INT64)
        ordered = (loop.start, loop.stop) if step == 1 else (loop.stop, loop.start)
        rest = (
            Assign(index, Op("+", (loop.stop, Const(place.offset - step))), loop.span),
            Store(last.array, (Name(index),), Name(name), True, carried.span),
        )
        after += [Assign(runs, Op("<", ordered), loop.span), If(Name(runs), rest, (), loop.span)]
        if self.listener is not None:
            why = "an addition to the next trip's element of `{0}` is carried to that trip"
            self.listener.decide(loop.span, "carried", "carried over", why, Named(last.array))
        return replace(loop, body=tuple(body))
