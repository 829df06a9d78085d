"""Whether iterations side by side are worth it: what decides is what the innermost loops of an iteration do.

    for i in range(n):
        for j in range(k):
            for c in range(d):
                s = s + x[i, c] * w[j, c]

As lanes, they must read and write neighbours: `w[j, c]` is the same for all, and a copy of `x` can have the lanes
last, since all `j` read it again.  Alone, a loop over `c` would not run on vectors, or hardly, if it is short, if its
elements lie apart, or if its iterations need one another.  How long it is only the run knows; where it could be long,
and works on memory of the iteration, which is larger by a lane's width, it stays as it is; unless another loop of that
length takes elements apart.

Where the iterations of an innermost loop wait for one another (paths of a random walk, step by step), lanes gain more
than it takes to copy what the loop reads, once.  Of few iterations a copy would be mostly empty, and copies of long
loops leave the cache: the loop gets a second version for them.

Where elementary functions are called in loops that would run on vectors by themselves, what decides is how long those
are: `short_loops` says which iteration counts have to be small.  Vectors leave most of a short loop over.
"""

from __future__ import annotations

from collections.abc import Iterator

from tapec.analyses.iterations import Access, Iterations
from tapec.analyses.lane_variance import Lanes
from tapec.optimise import costs
from tapec.optimise.vector_operations import VECTORISED
from tapec.optimise.vectors.lane_packing import Packed
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
    literal_range,
    mentions,
    names_in,
    walk,
    written_in,
)
from tapec.syntax.types import Array

# elementary functions that cost more than to move an element or two
CALLED = frozenset(VECTORISED) - {"np.maximum", "np.minimum", "**", "np.power", "np.pow"}


def few(loop: For, iterations: Iterations) -> bool:
    """Whether a loop is known to make too few iterations for lanes, or has no loop inside that they could help."""
    counted = literal_range(loop)
    few = counted is not None and len(counted) < costs.LANES
    if few or not any(isinstance(stmt, For) for stmt in walk(loop.body)):
        return True
    return loop.start == Const(0) and iterations.is_few(loop.stop)


def gains(lanes: Lanes, packed: Packed, with_copies: bool = False) -> bool:
    """Whether the innermost loops of an iteration run faster in lanes; see the module.

    with_copies  what a loop whose iterations wait for one another reads may be copied for it alone
    """
    loops = list(_nested(lanes.loop.body, 1))
    depth = max(level for _, level in loops)
    slow = False
    # bounds of loops that take elements apart, and of those over memory of the iteration that would run on vectors
    apart, along = set(), set()
    copying = 0
    for loop, level in loops:
        if level < depth:
            continue
        if not isinstance(loop, For) or loop.key in lanes.controls:
            return False
        accesses = list(lanes.iterations.accesses(loop.body))
        waits = not lanes.iterations.is_parallel(loop)
        apart_ones = [access for access in accesses if not _neighbours(lanes, packed, access)]
        if apart_ones and not (with_copies and waits and all(packed.copied(access.stmt) for access in apart_ones)):
            return False
        copying += waits
        bounds = loop.start, loop.stop
        if waits or _bounds_differ(lanes, loop) or is_short(loop):
            slow = True
        elif literal_range(loop) is not None and not _strides(lanes, loop, accesses):
            # whole vectors, as of a Jacobian's directions
            return False
        elif _strides(lanes, loop, accesses):
            slow = True
            apart.add(bounds)
        elif any(lanes.widened(access.array) for access in accesses):
            along.add(bounds)
    # one loop alone may be a sum, or a maximum, which LLVM takes apart
    return (slow or depth > 1) and along <= apart and (copying > 1 or not with_copies)


def copied_stops(lanes: Lanes, packed: Packed) -> set[str]:
    """Names of the iteration counts that must not be large for copies to be worth it; none if they are not anyway."""
    if not gains(lanes, packed, with_copies=True):
        return set()
    inside = written_in(lanes.loop.body)
    loops = [loop for loop, _ in _nested(lanes.loop.body, 1)]
    stops = {loop.stop.id for loop in loops if isinstance(loop, For) and isinstance(loop.stop, Name)}
    return stops - inside


def short_loops(lanes: Lanes) -> set[str]:
    """Names of the iteration counts that have to be small for lanes to gain, where nothing else has to; or none."""
    loops = [loop for loop, _ in _nested(lanes.loop.body, 1)]
    inside = written_in(lanes.loop.body)
    stops: set[str] = set()
    calls = apart = 0
    for loop in loops:
        if not isinstance(loop, For) or loop.key in lanes.controls or loop.start != Const(0):
            return set()
        if not isinstance(loop.stop, Name) or loop.stop.id in inside:
            return set()
        stops.add(loop.stop.id)
        made = [stmt.value for stmt in walk(loop.body) if isinstance(stmt, Assign)]
        calls += sum(isinstance(value, Op) and value.fn in CALLED for value in made)
        apart += sum(not _neighbours(lanes, None, access) for access in lanes.iterations.accesses(loop.body))
    # what only goes from element to element, and one loop alone, run along rows
    handed_on = len(loops) > 1 and any(_hands_on(lanes, loop) for loop in loops)
    few_lanes = lanes.loop.stop in {Name(stop) for stop in stops}
    return stops if handed_on and apart <= costs.APART_PER_CALL * calls and not few_lanes else set()


def _hands_on(lanes: Lanes, loop: For | Loop) -> bool:
    """Whether an iteration of a loop goes on with a number that the one before has left."""
    inside = {one.key for one in walk((loop,))}
    defs = lanes.iterations.scopes.defs
    return any(stmt.key not in inside for name in written_in(loop.body) for stmt in defs.get(name, ()))


def _nested(block: Block, level: int) -> Iterator[tuple[For | Loop, int]]:
    """The loops in a block, and how many are around each, itself included."""
    for stmt in block:
        match stmt:
            case For(body=body) | Loop(body=body):
                yield stmt, level
                yield from _nested(body, level + 1)
            case If(body=body, orelse=orelse):
                yield from _nested((*body, *orelse), level)


def _neighbours(lanes: Lanes, packed: Packed | None, access: Access) -> bool:
    """Whether lanes touch one element, or elements side by side; without copies if there are none."""
    if packed is not None and packed.repeated(access.stmt):
        return True
    if access.index is None:
        return access.array not in lanes.rows and not lanes.widened(access.array)
    found = lanes.element(access.array, access.index)
    assert found is not None
    array, index = found
    differing = [k for k, sub in enumerate(index) if mentions(sub, lanes.names)]
    if lanes.widened(array) or not differing:
        return not differing
    type_ = lanes.iterations.types[array]
    assert isinstance(type_, Array)
    last = 0 if type_.layout == "F" else type_.ndim - 1
    return differing == [last] and _step(lanes, index[last], lanes.loop.var, lanes.names) == 1


def _bounds_differ(lanes: Lanes, loop: For) -> bool:
    """Whether a loop makes other iteration counts in other iterations of the loop around."""
    inside = written_in(lanes.loop.body)
    return any(name in inside for bound in (loop.start, loop.stop) for name in names_in(bound))


def is_short(loop: For) -> bool:
    """Whether a loop is known to make too few iterations for vectors."""
    counted = literal_range(loop)
    return counted is not None and len(counted) < costs.SHORT_LOOP


def _strides(lanes: Lanes, loop: For, accesses: list[Access]) -> bool:
    """Whether a loop takes elements that lie apart."""
    moving = written_in((loop,))
    for access in accesses:
        if access.index is None:
            continue
        found = lanes.element(access.array, access.index)
        assert found is not None
        type_ = lanes.iterations.types[found[0]]
        assert isinstance(type_, Array)
        for k, sub in enumerate(found[1]):
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
    made = lanes.iterations.definition(sub) if isinstance(sub, Name) else None
    if not isinstance(made, Op) or made.fn not in ("+", "-") or len(made.args) != 2:
        return None
    first, second = (_step(lanes, arg, var, moving) for arg in made.args)
    if first is None or second is None:
        return None
    return first + second if made.fn == "+" else first - second
