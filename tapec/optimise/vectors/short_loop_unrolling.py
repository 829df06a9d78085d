"""Write short loops out that the iterations of a loop run side by side: what they add up stays in the lane.

    for lane in range(lanes):                 for lane in range(lanes):
        x_lanes[lane] = 0.0                       x = 0.0 + p[0, lane] * w[0]
    for b in range(2):                            x += p[1, lane] * w[1]
        for lane in range(lanes):       ->        ...
            x = x_lanes[lane]
            x += p[b, lane] * w[b]
            x_lanes[lane] = x
    ...

Each iteration of an inner loop is a loop over lanes of its own (`outer_vectorisation.py`), which loads and stores what
the lanes hand on. Only innermost loops of few iterations, known beforehand, without branches, that hand a number on
from iteration to iteration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapec.analyses.iterations import Iterations
from tapec.optimise import costs
from tapec.optimise.name_origins import Fresh
from tapec.optimise.simplify.value_numbering import number_values
from tapec.optimise.vectors.outer_vectorisation import planned
from tapec.remarks import remark
from tapec.syntax.core import Assign, Block, Const, For, Function, Stmt, Store, literal_range, map_blocks, walk, writes


def unroll_short_loops(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with such loops written out, one name per value; see the module."""
    if not any(_iterations(stmt) for stmt in walk(function.body)):
        return function
    iterations, fresh = Iterations(function), Fresh(function.types)

    def block(stmts: Block) -> Block:
        return tuple(map(statement, stmts))

    def statement(stmt: Stmt) -> Stmt:
        if isinstance(stmt, For) and planned(stmt, iterations, fresh) is not None:
            return map_blocks(stmt, written_out)
        return map_blocks(stmt, block)

    def written_out(stmts: Block) -> Block:
        return tuple(new for stmt in stmts for new in statements(stmt))

    def statements(stmt: Stmt) -> Iterator[Stmt]:
        values = _iterations(stmt)
        if values is None or not hands_on(stmt):
            yield map_blocks(stmt, written_out)
            return
        assert isinstance(stmt, For)
        why = "what it adds up then stays in the lane"
        remark(stmt.span, "short_loop_unrolling", "written out in lanes, {0} times", why, len(values))
        for value in values:
            yield Assign(stmt.var, Const(value), stmt.span)
            yield from stmt.body

    def hands_on(loop: Stmt) -> bool:
        assert isinstance(loop, For)
        inside = {one.key for one in loop.body}
        names = (name for stmt in loop.body for name in writes(stmt))
        return any(made.key not in inside for name in names for made in iterations.scopes.defs.get(name, ()))

    body = block(function.body)
    return function if body == function.body else number_values(replace(function, body=body), constants)


def _iterations(stmt: Stmt) -> range | None:
    """What the variable of a loop counts through, if it is one to write out."""
    if not isinstance(stmt, For) or stmt.slots is not None:
        return None
    values = literal_range(stmt)
    if values is None or len(values) > costs.UNROLLED_ITERATIONS:
        return None
    if len(values) * len(stmt.body) > costs.LANE_STATEMENTS:
        return None
    return values if all(isinstance(inner, Assign | Store) for inner in stmt.body) else None
