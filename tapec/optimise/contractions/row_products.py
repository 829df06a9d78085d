"""Leave products with a factor in columns, which loops repeat, to the runtime.

    for j in range(n):                        for j in range(n):
        y = np.dot(x, w[j].T)         ->          y = tapec_runtime.product(x, w[j].T)

Where the factor is small, a copy of it in rows makes the product up to three times as fast.
"""

from __future__ import annotations

import functools
from dataclasses import replace

from tapec.remarks import remark
from tapec.syntax.core import Assign, Block, Expr, For, Function, Loop, Name, Op, Stmt, map_blocks
from tapec.syntax.types import Array, Type


def multiply_in_rows(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with calls of the runtime's product; see the module."""
    return replace(function, body=_changed(function.body, function.types))


def _changed(block: Block, types: dict[str, Type], repeated: bool = False) -> Block:
    """A block with its products changed, if it is repeated, and those of blocks inside it."""
    out: list[Stmt] = []
    for stmt in block:
        match stmt:
            case Assign(value=Op(fn="np.dot", args=(first, second))) if repeated and _in_columns(first, second, types):
                why = "the second one stands in columns, and loops repeat the product"
                remark(stmt.span, "row_products", "a small factor is copied to rows", why)
                out.append(replace(stmt, value=Op("tapec_runtime.product", (first, second))))
            case _:
                again = repeated or isinstance(stmt, For | Loop)
                inside = functools.partial(_changed, types=types, repeated=again)
                out.append(map_blocks(stmt, inside))
    return tuple(out)


def _in_columns(first: Expr, second: Expr, types: dict[str, Type]) -> bool:
    """Whether the second of two matrices stands in columns."""
    one, other = (types.get(factor.id) if isinstance(factor, Name) else None for factor in (first, second))
    matrices = isinstance(one, Array) and isinstance(other, Array) and one.ndim == other.ndim == 2
    return matrices and isinstance(other, Array) and other.layout == "F"
