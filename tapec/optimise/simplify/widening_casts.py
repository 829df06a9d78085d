"""Numbers of single precision that become double, by a name that says so: Numba's `float` leaves them as they are.

    t = float(x)              ->      t = np.float64(x)
"""

from __future__ import annotations

from dataclasses import replace

from tapec.syntax.core import Assign, Block, Function, Name, Op, Stmt, map_blocks, same
from tapec.syntax.types import Scalar, Type

_SINGLE = Scalar("float32")


def widen_exactly(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such casts; see the module."""
    if _SINGLE not in function.types.values():
        return function
    body = _block(function.body, function.types)
    return function if same(body, function.body) else replace(function, body=body)


def _block(block: Block, types: dict[str, Type]) -> Block:
    return tuple(_statement(stmt, types) for stmt in block)


def _statement(stmt: Stmt, types: dict[str, Type]) -> Stmt:
    match stmt:
        case Assign(value=Op(fn="cast.float64", args=(Name(id=name),) as args)) if types.get(name) == _SINGLE:
            return replace(stmt, value=Op("np.float64", args))
    return map_blocks(stmt, lambda inner: _block(inner, types))
