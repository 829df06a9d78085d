"""A number whose origin LLVM does not see.

Where a loop works on rows of an array, LLVM asks before the loop around it whether the rows are apart from other
arrays, for all rows at once.  For rows that are counted down the answer is no, whatever the arrays, and the loop
does not run on vectors.  Of a row that it cannot foresee, it asks each time before it begins with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types

from tapec_runtime.registration import register


def opaque(number: Any) -> Any:
    """The number itself.

    number   an integer
    returns  the same integer, which takes no time

    >>> opaque(3)
    3
    """
    return number


def _resolve(_context: Any) -> Callable[[Any], Any]:
    def result(number: Any) -> Any:
        return number if isinstance(number, types.Integer) else None

    return result


def _lower(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
    (number,) = args
    # no instruction at all, of which LLVM knows nothing but that the result stands where the number stood
    nothing = ir.InlineAsm(ir.FunctionType(number.type, [number.type]), "", "=r,0")
    return builder.call(nothing, args)


register(opaque, _resolve, _lower, types.Integer)
