"""Compute elementary functions between inner loops in a loop of their own, for some iterations at a time.

    for i in range(n):                              for first in range(0, n, 32):
        z = b                                           lanes = min(32, n - first)
        for j in range(d):                              for lane in range(lanes):
            z = z + w[j] * x[i, j]                          z = b
        s = s + math.exp(z)            ->                   for j in range(d):
                                                                z = z + w[j] * x[first + lane, j]
                                                            z_lanes[lane] = z
                                                        for lane in range(lanes):
                                                            s = s + math.exp(z_lanes[lane])

LLVM runs innermost loops on vectors only: a function that an iteration calls beside its loops is one of the C library.
The inner loops stay as they are, since they run on vectors themselves, along rows: as lanes (`outer_vectorisation.py`)
they would
gather.  Of a few iterations at a time, rows that are read again are still in the cache.

The iterations must be parallel, and make no memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tapec.analyses.iterations import Iterations
from tapec.analyses.lane_variance import Lanes
from tapec.optimise import costs
from tapec.optimise.name_origins import Fresh
from tapec.optimise.vectors.if_conversion import calls_functions, can_select
from tapec.optimise.vectors.lane_gain import few
from tapec.optimise.vectors.lane_packing import Packed
from tapec.optimise.vectors.outer_vectorisation import Rewriting
from tapec.remarks import remark
from tapec.syntax.core import Block, Const, For, Function, If, Loop, Stmt, map_blocks, walk, writes


def strip_mine_functions(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such loops in parts; see the module.  Afterwards a name may have several values."""
    iterations = Iterations(function)
    fresh = Fresh(function.types)

    def block(stmts: Block) -> Block:
        return tuple(new for stmt in stmts for new in statement(stmt))

    def statement(stmt: Stmt) -> Iterable[Stmt]:
        lanes = _apart(stmt, iterations) if isinstance(stmt, For) else None
        if lanes is None:
            return (map_blocks(stmt, block),)
        why = "between its inner loops, for 32 iterations at a time: they run on vectors then"
        remark(stmt.span, "strip_mined_functions", "elementary functions have a loop of their own", why)
        return Rewriting(lanes, Packed(lanes, fresh), fresh, costs.STRIP_ITERATIONS, _is_cut).loop()

    return replace(function, body=block(function.body), types=fresh.types)


def _apart(loop: For, iterations: Iterations) -> Lanes | None:
    """What differs between the iterations of a loop, if functions are called between loops inside."""
    if loop.step != Const(1) or loop.slots is not None or few(loop, iterations) or not any(map(_calls, loop.body)):
        return None
    if any(isinstance(stmt, For) and stmt.parallel for stmt in walk((loop,))) or not iterations.is_parallel(loop):
        return None
    lanes = Lanes(loop, iterations, whole=True)
    if any(lanes.widened(name) for stmt in walk(loop.body) for name in writes(stmt)):
        return None
    return lanes if lanes.separate() else None


def _calls(stmt: Stmt) -> bool:
    """Whether a statement without loops calls functions that can run on vectors."""
    if _has_loop(stmt) or not any(map(calls_functions, walk((stmt,)))):
        return False
    return not isinstance(stmt, If) or can_select(stmt)


def _has_loop(stmt: Stmt) -> bool:
    return any(isinstance(inner, For | Loop) for inner in walk((stmt,)))


def _is_cut(run: list[Stmt], stmt: Stmt) -> bool:
    """Whether a statement cannot be in one loop with those before it: loops end such a part, and calls."""
    if _has_loop(stmt):
        return any(map(_calls, run))
    return any(map(_has_loop, run))
