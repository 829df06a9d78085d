"""Put small arrays on the stack.

    s_dot_lanes = np.empty(8)          ->          s_dot_lanes = tapec_runtime.stack_array("float64", 8)

No memory is asked for, LLVM sees that nothing else shares it, and after a loop over such an array has become vectors
the elements are registers.  Arrays qualify if their extents are known and small, and nothing but their own elements is
used, by one name.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tapec.optimise.buffers.scalar_replacement import small_arrays
from tapec.syntax.core import Assign, Block, Const, Function, Op, Stmt, map_blocks

# numbers in all
_LARGEST = 256
_AXES = 4


def use_stack_arrays(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such arrays; see the module."""
    found = {
        name
        for name, shape in small_arrays(function, _LARGEST).items()
        if math.prod(shape) > 1 and len(shape) <= _AXES
    }

    def statement(stmt: Stmt) -> Stmt:
        match stmt:
            case Assign(target=target, value=Op(fn="empty", args=(Const(dtype), *extents))) if target in found:
                return replace(stmt, value=Op("tapec_runtime.stack_array", (Const(dtype), *extents)))
        return map_blocks(stmt, block)

    def block(stmts: Block) -> Block:
        return tuple(map(statement, stmts))

    return replace(function, body=block(function.body)) if found else function
