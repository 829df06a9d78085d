"""Let loops run on vectors whose iteration count is a choice.

    n = m if m - 1 > 1 else 0                 n = tapec_runtime.opaque(m if m - 1 > 1 else 0)
    for i in range(n):                 ->     for i in range(n):
        x[i] += y[i] + y[i + 2]                   x[i] += y[i] + y[i + 2]

LLVM draws the choice into the loop and no longer sees that `i` is not negative; the number is the same.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import Assign, Block, For, Function, Name, Op, Stmt, Store, map_blocks, walk, writes


def hide_iteration_counts(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such numbers hidden; see the module."""
    stops = {
        loop.stop.id
        for loop in walk(function.body)
        if isinstance(loop, For) and isinstance(loop.stop, Name) and any(isinstance(s, Store) for s in loop.body)
    }
    counts = [name for stmt in walk(function.body) for name in writes(stmt) if name in stops]
    once = {name for name in stops if counts.count(name) == 1}
    fresh = Fresh(function.types)

    def block(body: Block) -> Block:
        out: list[Stmt] = []
        for stmt in body:
            if not isinstance(stmt, Assign) or stmt.target not in once or not _chosen(stmt):
                out.append(map_blocks(stmt, block))
                continue
            chosen = fresh(stmt.target, fresh.types[stmt.target])
            out.append(replace(stmt, target=chosen))
            out.append(replace(stmt, value=Op("tapec_runtime.opaque", (Name(chosen),))))
        return tuple(out)

    body = block(function.body)
    return replace(function, body=body, types=fresh.types)


def _chosen(stmt: Assign) -> bool:
    return isinstance(stmt.value, Op) and stmt.value.fn == "ifelse"
