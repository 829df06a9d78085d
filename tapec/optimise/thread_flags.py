"""Which loops of a program are on threads."""

from __future__ import annotations

from dataclasses import replace

from tapec.syntax.core import Block, For, Function, Stmt, map_blocks, walk


def sequential(function: Function) -> Function:
    """The function with no loop on threads: the source's `prange` is no proof."""

    def block(stmts: Block) -> Block:
        return tuple(one(stmt) for stmt in stmts)

    def one(stmt: Stmt) -> Stmt:
        changed = map_blocks(stmt, block)
        return replace(changed, parallel=False) if isinstance(changed, For) and changed.parallel else changed

    return replace(function, body=block(function.body)) if has_threads(function) else function


def has_threads(function: Function) -> bool:
    """Whether a loop of the function runs on threads."""
    return any(isinstance(stmt, For) and stmt.parallel for stmt in walk(function.body))
