"""Write a branch that only chooses between numbers that are known as one operation.

    if i == j:                                same = 1.0 if i == j else 0.0
        same = 1.0                 ->
    else:
        same = 0.0

The reverse sweep computes such a number again, where it would have kept what a branch had left.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.syntax.core import Assign, Block, Const, Function, If, Op, Stmt, map_blocks
from tapec.syntax.types import FLOAT64


def choose_numbers(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such branches as operations; see the module."""

    def block(stmts: Block) -> Block:
        return tuple(new for stmt in stmts for new in statement(stmt))

    def statement(stmt: Stmt) -> Block:
        if isinstance(stmt, If) and stmt.body and len(stmt.body) == len(stmt.orelse):
            first, second = (_numbers(side, function) for side in (stmt.body, stmt.orelse))
            if first is not None and second is not None and first.keys() == second.keys():
                return tuple(
                    Assign(name, Op("ifelse", (stmt.test, value, second[name])), stmt.body[0].span)
                    for name, value in first.items()
                )
        return (map_blocks(stmt, block),)

    return replace(function, body=block(function.body))


def _numbers(side: Block, function: Function) -> dict[str, Const] | None:
    """What a side of a branch sets to numbers; None if it does anything else."""
    found: dict[str, Const] = {}
    for stmt in side:
        if not isinstance(stmt, Assign) or not isinstance(stmt.value, Const) or stmt.target in found:
            return None
        if function.types[stmt.target] != FLOAT64 or not isinstance(stmt.value.value, float):
            return None
        found[stmt.target] = stmt.value
    return found
