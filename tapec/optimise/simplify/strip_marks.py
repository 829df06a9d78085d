"""Values without what is said of their derivatives, once nobody differentiates any more.

    shift = stop_gradient(top)      ->      shift = top
    top = known(best, mean)         ->      top = best
"""

from __future__ import annotations

from dataclasses import replace

from tapec.syntax.core import Assign, Block, Function, Op, Stmt, map_blocks

_VALUE_FIRST = frozenset({"stop_gradient", "known"})


def strip_marks(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with the operands whose values count; see the module."""
    return replace(function, body=_block(function.body))


def _block(block: Block) -> Block:
    return tuple(map(_statement, block))


def _statement(stmt: Stmt) -> Stmt:
    match stmt:
        case Assign(value=Op(fn=fn, args=(value, *_))) if fn in _VALUE_FIRST:
            return replace(stmt, value=value)
    return map_blocks(stmt, _block)
