"""Small arrays in the memory of the function that makes them.

LLVM knows that no other array shares such memory, and keeps the elements in registers where their places are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.np import arrayobj
from numba.np.numpy_support import from_dtype

from tapec_runtime.registration import register


def stack_array(dtype: Any, n: Any, m: Any = None, k: Any = None, j: Any = None) -> Any:
    """An array with no values yet, which must not leave the function that makes it.

    dtype       NumPy's name of a dtype, a literal in jitted code
    n, m, k, j  as many extents as there are axes, literals in jitted code
    returns     an array of that shape, in the order of rows

    >>> stack_array("float64", 2, 3).shape
    (2, 3)
    """
    return np.empty([extent for extent in (n, m, k, j) if extent is not None], dtype)


def _resolve(_context: Any) -> Callable[..., Any]:
    def result(dtype: Any, n: Any, m: Any = None, k: Any = None, j: Any = None) -> Any:
        extents = [extent for extent in (n, m, k, j) if extent is not None]
        if not isinstance(dtype, types.StringLiteral) or not all(isinstance(e, types.IntegerLiteral) for e in extents):
            return None
        return types.Array(from_dtype(np.dtype(dtype.literal_value)), len(extents), "C")

    return result


def _lower(context: Any, builder: Any, signature: Any, _args: Any) -> Any:
    kind = signature.return_type
    extents = [extent.literal_value for extent in signature.args[1 : 1 + kind.ndim]]
    element = context.get_data_type(kind.dtype)
    size = context.get_abi_sizeof(element)
    memory = cgutils.alloca_once(builder, ir.ArrayType(element, math.prod(extents)))
    memory.align = 64
    strides = [size * math.prod(extents[axis + 1 :]) for axis in range(len(extents))]
    number = context.get_value_type(types.intp)
    made = arrayobj.make_array(kind)(context, builder)
    arrayobj.populate_array(
        made,
        data=builder.bitcast(memory, element.as_pointer()),
        shape=[ir.Constant(number, extent) for extent in extents],
        strides=[ir.Constant(number, stride) for stride in strides],
        itemsize=ir.Constant(number, size),
        meminfo=None,
    )
    return made._getvalue()


register(stack_array, _resolve, _lower, types.VarArg(types.Any))
