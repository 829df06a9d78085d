"""Memory that is kept from call to call.

The C library gives memory back to the system when a function frees more than twice the largest block that was ever
freed, and the next call of the function waits for fresh pages.  A block as large as all arrays of the call together, of
which nothing is used, raises that bound.  Blocks of more than 32 MB are given back in any case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types

from tapec_runtime.registration import register

_LEAST = 2**18
_MOST = 2**25


def make_room(size: int) -> None:
    """Let the memory of arrays that a function is about to make stay with the process when they are freed.

    size     bytes of all arrays together; nothing happens below 256 KB and above 32 MB

    >>> make_room(10**6)
    """


def _resolve(_context: Any) -> Callable[[Any], Any]:
    def result(size: Any) -> Any:
        return types.none if isinstance(size, types.Integer) else None

    return result


def _lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    size = context.cast(builder, args[0], signature.args[0], types.intp)
    kind = size.type
    large = builder.icmp_signed(">=", size, ir.Constant(kind, _LEAST))
    small = builder.icmp_signed("<=", size, ir.Constant(kind, _MOST))
    with builder.if_then(builder.and_(large, small)):
        context.nrt.free(builder, context.nrt.allocate_unchecked(builder, size))
    return context.get_dummy_value()


register(make_room, _resolve, _lower, types.Integer)
