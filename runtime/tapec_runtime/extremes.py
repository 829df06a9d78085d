"""The larger and the smaller of two numbers, nan if one is, in a form that LLVM turns into reductions on vectors.

Numba writes comparisons and choices, of which LLVM does not see that their order is no matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba.core import types

from tapec_runtime.registration import register

# older ones have no code for the instruction on every processor
_SINCE = 18


def maximum(x: Any, y: Any) -> Any:
    """The larger of two numbers.

    x, y     float64 or float32
    returns  x, y, or nan where one of them is nan; of zeros the positive one

    >>> float(maximum(2.0, 3.0))
    3.0
    """
    return np.maximum(x, y)


def minimum(x: Any, y: Any) -> Any:
    """The smaller of two numbers.

    x, y     float64 or float32
    returns  x, y, or nan where one of them is nan; of zeros the negative one

    >>> float(minimum(2.0, 3.0))
    2.0
    """
    return np.minimum(x, y)


def _resolve(_context: Any) -> Callable[[Any, Any], Any]:
    def result(x: Any, y: Any) -> Any:
        # `float` leaves a number of single precision as it is
        is_float = isinstance(x, types.Float) and isinstance(y, types.Float)
        return max(x, y, key=lambda type_: type_.bitwidth) if is_float else None

    return result


def _lowering(name: str, function: Any) -> Callable[..., Any]:
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if binding.llvm_version_info[0] < _SINCE:
            typing = context.typing_context.resolve_value_type(function)
            plain = typing.get_call_type(context.typing_context, signature.args, {})
            return context.get_function(typing, plain)(builder, args)
        given = zip(args, signature.args, strict=True)
        args = [context.cast(builder, arg, kind, signature.return_type) for arg, kind in given]
        type_ = args[0].type
        called = builder.module.declare_intrinsic(name, [type_], ir.FunctionType(type_, [type_, type_]))
        return builder.call(called, args)

    return lower


for _own, _name, _plain in ((maximum, "llvm.maximum", np.maximum), (minimum, "llvm.minimum", np.minimum)):
    register(_own, _resolve, _lowering(_name, _plain), types.Float, types.Float)
