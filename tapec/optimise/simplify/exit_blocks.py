"""Let what a loop does on its only way out stand behind it.

    while True:                           while True:
        w = v + x                             w = v + x
        if w > 9.0:                           if w > 9.0:
            v = w                 ->              break
            break                             v = w
        v = w                             v = w

It runs once, as before.  Numba 0.68 takes a `v` that is set where every way to the end of the function comes through
for a variable of its own, and stores into that what statements of the loop behind that place set `v` to: the loop then
goes on with the `v` that it began with, silently.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.syntax.core import Block, Break, Function, If, Loop, Stmt, map_blocks
from tapec.transforms.loop_exits import count_breaks


def move_exits_behind_loops(function: Function) -> Function:
    """The function with nothing but `break` on the only way out of its loops."""
    return replace(function, body=_block(function.body))


def _block(block: Block) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        stmt = map_blocks(stmt, _block)
        if isinstance(stmt, Loop) and count_breaks(stmt.body) == 1:
            body, last = _without(stmt.body)
            out += (replace(stmt, body=body), *last)
        else:
            out.append(stmt)
    return tuple(out)


def _without(block: Block) -> tuple[Block, Block]:
    """A block that leaves a loop at one place, without what stands before that, and that."""
    if any(isinstance(stmt, Break) for stmt in block):
        # nothing follows a `break`
        return block[-1:], block[:-1]
    out: list[Stmt] = []
    moved: Block = ()
    for stmt in block:
        if isinstance(stmt, If) and count_breaks(stmt.body):
            body, moved = _without(stmt.body)
            out.append(replace(stmt, body=body))
        elif isinstance(stmt, If) and count_breaks(stmt.orelse):
            orelse, moved = _without(stmt.orelse)
            out.append(replace(stmt, orelse=orelse))
        else:
            out.append(stmt)
    return tuple(out), moved
