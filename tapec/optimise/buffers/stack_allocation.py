"""Put small arrays on the stack whose elements loops on vectors then keep in registers.

    s_dot_lanes = np.empty(8)                          s_dot_lanes = tapec_runtime.stack_array("float64", 8)
    for i in range(n):                                 for i in range(n):
        for lane in range(8):                  ->          for lane in range(8):
            s_dot_lanes[lane] += x_dot[i, lane]                s_dot_lanes[lane] += x_dot[i, lane]

LLVM sees that nothing else shares such memory.  Where a loop over the array makes a known number of iterations it
becomes straight code with vectors, and what the loop around it carries are vectors in registers.

Arrays qualify if their extents are known and small, nothing but their own elements is used, by one name, and the last
subscript of each is a number, or the variable of a loop whose iteration count is known.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tapec.optimise import costs
from tapec.optimise.buffers.scalar_replacement import small_arrays
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    For,
    Function,
    Name,
    Op,
    Stmt,
    element_of,
    literal_range,
    map_blocks,
    walk,
)

# axes of an array on the stack
_AXES = 4


def use_stack_arrays(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such arrays; see the module."""
    small = small_arrays(function, costs.STACK_ELEMENTS)
    lanes = {stmt.var for stmt in walk(function.body) if isinstance(stmt, For) and literal_range(stmt) is not None}
    counts = {stmt.var for stmt in walk(function.body) if isinstance(stmt, For)} - lanes
    found = {name for name, shape in small.items() if math.prod(shape) > 1 and len(shape) <= _AXES}
    along = set[str]()
    for stmt in walk(function.body):
        element = element_of(stmt)
        if element is None or element[0] not in found:
            continue
        array, index = element
        match index:
            case (*_, Const()):
                pass
            case (*_, Name(id=last)) if last in lanes - counts:
                along.add(array)
            case _:
                found.discard(array)
    found &= along
    if not found:
        return function

    def statement(stmt: Stmt) -> Stmt:
        match stmt:
            case Assign(target=target, value=Op(fn="empty", args=(Const(dtype), *extents))) if target in found:
                return replace(stmt, value=Op("tapec_runtime.stack_array", (Const(dtype), *extents)))
        return map_blocks(stmt, block)

    def block(stmts: Block) -> Block:
        return tuple(map(statement, stmts))

    return replace(function, body=block(function.body))
