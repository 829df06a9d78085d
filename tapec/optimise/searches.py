"""Search sorted tables without branches, in loops.

    for i in range(n):                               for i in range(n):
        k = np.searchsorted(knots, x[i])      ->         k = tapec_runtime.searchsorted(knots, x[i])

Numba's search branches at every step, and the next number is rarely found on the same way.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.syntax.core import Assign, Block, Expr, For, Function, Loop, Name, Op, Stmt, map_blocks
from tapec.syntax.types import FLOAT64, INT64, Array, Type

SEARCHES = {
    "np.searchsorted": "tapec_runtime.searchsorted",
    "np.searchsorted;side='left'": "tapec_runtime.searchsorted",
    "np.searchsorted;side='right'": "tapec_runtime.searchsorted_right",
}


def search_tables(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such searches; see the module."""
    types = function.types

    def block(body: Block, inside: bool = False) -> Block:
        return tuple(statement(stmt, inside) for stmt in body)

    def statement(stmt: Stmt, inside: bool) -> Stmt:
        if inside and isinstance(stmt, Assign) and types[stmt.target] == INT64:
            return replace(stmt, value=_searched(stmt.value, types))
        return map_blocks(stmt, lambda body: block(body, inside or isinstance(stmt, For | Loop)))

    return replace(function, body=block(function.body))


def _searched(value: Expr, types: dict[str, Type]) -> Expr:
    match value:
        case Op(fn=fn, args=(Name(id=table), Name(id=number))) if fn in SEARCHES:
            type_ = types[table]
            if isinstance(type_, Array) and type_.ndim == 1 and type_.element == types[number] == FLOAT64:
                return Op(SEARCHES[fn], value.args)
    return value
