"""Bring every `break` into tail position again: what follows its `if` moves into the other ways.

Core form has a `break` only where nothing follows it in the loop's body, and reverse mode relies
on it.  Passes that write a loop's copies at the end of its body leave them behind such an `if`.

    if test:                        if test:
        x = f(k)                        x = f(k)
    else:                   ->          k = x
        break                       else:
    k = x                               break
"""

from __future__ import annotations

from dataclasses import replace

from tapec.syntax.core import Block, Break, Function, If, Stmt, map_blocks, may_leave


def move_breaks_last(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function in core form: nothing follows a `break`."""
    return replace(function, body=_block(function.body))


def _block(block: Block) -> Block:
    out: list[Stmt] = []
    for position, stmt in enumerate(block):
        match stmt:
            case Break():
                return (*out, stmt)
            case If() if may_leave(stmt.body) or may_leave(stmt.orelse):
                rest = block[position + 1 :]
                body, orelse = (_block((*side, *rest)) for side in (stmt.body, stmt.orelse))
                return (*out, replace(stmt, body=body, orelse=orelse))
            case _:
                out.append(map_blocks(stmt, _block))
    return tuple(out)
