"""Functions whose types and machine code are given by hand rather than compiled from their source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import config
from numba.extending import lower_builtin, type_callable


def register(function: Callable[..., Any], resolve: Callable[..., Any], lower: Callable[..., Any], *kinds: Any) -> None:
    """Let jitted code call a function; nothing happens where Numba is switched off.

    resolve  what says the type of a call from the types of its arguments (see `numba.extending.type_callable`)
    lower    what writes a call's machine code (see `numba.extending.lower_builtin`)
    kinds    the arguments' kinds of types, such as `numba.types.Integer`
    """
    if getattr(config, "DISABLE_JIT", 0):
        return
    type_callable(function)(resolve)
    lower_builtin(function, *kinds)(lower)
