"""Types of operators, which Numba looks for once per process.

For each `a * b`, Numba's inference tries all that it knows of `*`, arrays and strings included.  A program
of a hundred lines asks the same few questions hundreds of times.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import types as nt

_known: dict[tuple[Any, ...], Any] = {}

# what has no types of its own inside, and whose operators nobody defines anew
_PLAIN = (nt.Integer, nt.Float, nt.Boolean, nt.Array)


@contextmanager
def remembered(context: Any) -> Iterator[None]:
    """Have a typing context of Numba answer questions for operators on numbers and arrays from memory."""
    resolve = context.resolve_function_type

    def answer(function: Any, args: Any, keywords: Any) -> Any:
        called = function.typing_key if isinstance(function, nt.Function) else function
        if keywords or not _is_operator(called) or not all(isinstance(arg, _PLAIN) for arg in args):
            return resolve(function, args, keywords)
        # functions of a type are the same object as long as nothing is registered for them
        key = (called, id(function), args)
        if key not in _known:
            _known[key] = function, resolve(function, args, keywords)
        return _known[key][1]

    if "resolve_function_type" in vars(context):
        yield  # a compilation inside another one
        return
    context.resolve_function_type = answer
    try:
        yield
    finally:
        del context.resolve_function_type


def _is_operator(function: Any) -> bool:
    return isinstance(function, types.BuiltinFunctionType) and function.__module__ == "_operator"
