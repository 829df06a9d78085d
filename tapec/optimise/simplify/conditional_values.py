"""A value that a branch chooses is one statement, where it is short.

    if k == 0:
        y_bar = start_bar                ->       y_bar = start_bar if k == 0 else np.zeros(n)
    else:
        y_bar = np.zeros(n)

The printer writes what has more than two sides as `elif`: a branch that stands alone on the other side of one stays.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.optimise import costs
from tapec.syntax.core import Assign, Block, Expr, Function, If, Op, Stmt, map_blocks


def choose_values(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with conditional expressions in place of such branches."""
    return replace(function, body=_block(function.body))


def _block(block: Block) -> Block:
    return tuple(map(_statement, block))


def _statement(stmt: Stmt) -> Stmt:
    match stmt:
        case If(test=test, body=(Assign(target=target, value=first),), orelse=(Assign(target=other, value=second),)):
            chosen = Op("ifelse", (test, first, second))
            if target == other and _parts(chosen) <= costs.CONDITIONAL_PARTS:
                return Assign(target, chosen, stmt.span)
        case If(body=body, orelse=(If(orelse=chain) as last,)):
            kept = replace(last, body=_block(last.body), orelse=_block(chain))
            return replace(stmt, body=_block(body), orelse=(kept,))
    return map_blocks(stmt, _block)


def _parts(expr: Expr) -> int:
    """How many operations, names and numbers an expression has; one that chooses again counts as too many."""
    if not isinstance(expr, Op):
        return 1
    inside = sum(map(_parts, expr.args))
    choices = sum(isinstance(arg, Op) and arg.fn == "ifelse" for arg in expr.args)
    return 1 + inside + choices * costs.CONDITIONAL_PARTS
