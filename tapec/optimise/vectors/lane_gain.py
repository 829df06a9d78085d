"""Whether trips side by side are worth it: what decides is what the innermost loops of a trip do.

    for i in range(n):
        for j in range(k):
            for c in range(d):
                s = s + x[i, c] * w[j, c]

As lanes, they must read and write neighbours: `w[j, c]` is the same for all, and a copy of `x` can have the lanes
last, since all `j` read it again.  Alone, a loop over `c` would not run on vectors, or hardly, if it is short, if its
elements lie apart, or if its trips need one another.  How long it is only the run knows; where it could be long, and
works on memory of the trip, which is larger by a lane's width, it stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from tapec.analyses.lanes import Lanes
from tapec.analyses.trips import Access
from tapec.optimise.vectors.packed import Packed
from tapec.syntax.core import Block, Expr, For, If, Loop, Name, Op, literal_range, mentions, names_in, walk, written_in
from tapec.syntax.types import Array

# fewer trips than this do not fill vectors
_FEW = 16


def few(loop: For) -> bool:
    """Whether a loop is known to make too few trips for lanes, or has no loop inside that they could help."""
    counted = literal_range(loop)
    return (counted is not None and len(counted) < _FEW) or not any(isinstance(stmt, For) for stmt in walk(loop.body))


def gains(lanes: Lanes, packed: Packed) -> bool:
    """Whether the innermost loops of a trip run faster in lanes; see the module."""
    loops = list(_nested(lanes.loop.body, 1))
    depth = max(level for _, level in loops)
    slow = False
    for loop, level in loops:
        if level < depth:
            continue
        if not isinstance(loop, For) or id(loop) in lanes.controls:
            return False
        accesses = list(lanes.trips.accesses(loop.body))
        if not all(_neighbours(lanes, packed, access) for access in accesses):
            return False
        bad = _slow_alone(lanes, loop, accesses)
        if not bad and any(lanes.widened(access.array) for access in accesses):
            return False
        slow = slow or bad
    return slow or depth > 1


def _nested(block: Block, level: int) -> Iterator[tuple[For | Loop, int]]:
    """The loops in a block, and how many are around each, itself included."""
    for stmt in block:
        match stmt:
            case For(body=body) | Loop(body=body):
                yield stmt, level
                yield from _nested(body, level + 1)
            case If(body=body, orelse=orelse):
                yield from _nested((*body, *orelse), level)


def _neighbours(lanes: Lanes, packed: Packed, access: Access) -> bool:
    """Whether lanes touch one element, or elements side by side."""
    if packed.repeated(access.stmt):
        return True
    if access.index is None:
        return access.array not in lanes.rows and not lanes.widened(access.array)
    found = lanes.element(access.array, access.index)
    assert found is not None
    array, index = found
    differing = [k for k, sub in enumerate(index) if mentions(sub, lanes.names)]
    if lanes.widened(array) or not differing:
        return not differing
    type_ = lanes.trips.types[array]
    assert isinstance(type_, Array)
    last = 0 if type_.layout == "F" else type_.ndim - 1
    return differing == [last] and _step(lanes, index[last], lanes.loop.var, lanes.names) == 1


def _slow_alone(lanes: Lanes, loop: For, accesses: list[Access]) -> bool:
    """Whether a loop would not run on vectors by itself, or not for long."""
    inside = written_in(lanes.loop.body)
    if any(name in inside for bound in (loop.start, loop.stop) for name in names_in(bound)):
        return True
    if not lanes.trips.commute(loop):
        return True
    moving = written_in((loop,))
    for access in accesses:
        for k, sub in enumerate(access.index or ()):
            type_ = lanes.trips.types[access.array]
            assert isinstance(type_, Array)
            apart = k != (0 if type_.layout == "F" else type_.ndim - 1)
            step = _step(lanes, sub, loop.var, moving)
            if step is None or (step != 0 and apart):
                return True
    return False


def _step(lanes: Lanes, sub: Expr, var: str, moving: set[str]) -> int | None:
    """By how much a subscript grows with a loop's variable, if `moving` is all that changes with it."""
    if sub == Name(var):
        return 1
    if not mentions(sub, moving):
        return 0
    made = lanes.trips.definition(sub) if isinstance(sub, Name) else None
    if not isinstance(made, Op) or made.fn not in ("+", "-") or len(made.args) != 2:
        return None
    first, second = (_step(lanes, arg, var, moving) for arg in made.args)
    if first is None or second is None:
        return None
    return first + second if made.fn == "+" else first - second
