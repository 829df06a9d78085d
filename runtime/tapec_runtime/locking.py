"""The one lock under which everything is compiled: Numba's.

Numba holds it while it asks our types for their signatures, so a lock of our own would be taken in both orders.  What
lowers, differentiates or compiles holds it, and may import and take other locks meanwhile.  Nothing takes it in the
other order: no module of ours needs it while it is imported, and other locks of ours are held for a few operations on
a dictionary, which call nothing.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

# Numba asks for it when it meets an array, in a call of compiled code: a fork then would leave its import unfinished
import numpy.ma  # noqa: F401
from llvmlite.binding import ffi
from numba import config
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

P = ParamSpec("P")
R = TypeVar("R")

# Numba makes its contexts when they are first asked for, under a lock of theirs, and takes this lock meanwhile:
# here they are asked for before it is taken
contexts = cpu_target.typing_context, cpu_target.target_context
compiler_lock = global_compiler_lock
_settings: Any = config

# held for each call of LLVM, also by a thread that gives back the machine code of what is collected
llvm_lock = ffi.lib._lock


def hold_all() -> None:
    """Wait until no thread compiles, and keep them from it."""
    compiler_lock.acquire()
    llvm_lock.__enter__()


def release_all() -> None:
    llvm_lock.__exit__(None, None, None)
    compiler_lock.release()


def compiling(function: Callable[P, R]) -> Callable[P, R]:
    """A function that runs in one thread at a time, with all others that compile; once more, with room, if it is deep.

    Python takes sums of thousands of terms, and walks down them in another way than we do.
    """

    @functools.wraps(function)
    def alone(*args: P.args, **kwargs: P.kwargs) -> R:
        with compiler_lock:
            try:
                return function(*args, **kwargs)
            except RecursionError:
                limit = sys.getrecursionlimit()
                if limit >= _ROOM:
                    raise
            sys.setrecursionlimit(_ROOM)
            try:
                return function(*args, **kwargs)
            finally:
                sys.setrecursionlimit(limit)

    return alone


# frames that calls may have then
_ROOM = 50_000
_changes = 0


@contextmanager
def jit_turned_on() -> Iterator[None]:
    """A while in which Numba compiles although the user has turned it off; whoever calls holds the lock."""
    global _changes
    off = _settings.DISABLE_JIT
    if not off:
        yield
        return
    _changes += 1
    _settings.DISABLE_JIT = 0
    try:
        yield
    finally:
        _settings.DISABLE_JIT = off
        _changes += 1


def jit_is_off() -> bool:
    """Whether the user has turned Numba off, `NUMBA_DISABLE_JIT=1`, whatever another thread does meanwhile."""
    before = _changes
    off = bool(getattr(config, "DISABLE_JIT", 0))
    if before % 2 or before != _changes:
        with compiler_lock:
            off = bool(getattr(config, "DISABLE_JIT", 0))
    return off


def turns() -> threading.Condition:
    """A condition on the lock: a thread that waits for it lets another one compile."""
    return threading.Condition(compiler_lock._lock)


def refresh() -> None:
    """Have Numba know what has been registered since; whoever calls holds the lock."""
    for context in contexts:
        context.refresh()
