"""Whether what a derivative was compiled with is still so.

Compiled code holds the values of modules, closures and objects that its function read.  Transforms that are called
anew for each derivative, as `jvp` is, must not answer with those of an earlier call.
"""

from __future__ import annotations

import collections
import hashlib
import threading
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numba import config

from tapec.backend.fingerprint import read, trusted

_KEPT = 512

Read = tuple[Any, str, Any]


class Reads:
    """What compiled code has read, and from where."""

    def __init__(self) -> None:
        # the values are kept, and their ids with them
        self._known: list[tuple[Any, str, Any, Any]] = []

    def note(self, found: Iterable[Read]) -> None:
        """Add values, each with its owner and its name there."""
        self._known += [(*one, _state(one[2])) for one in found if not trusted(one[0])]

    @property
    def changed(self) -> bool:
        """Whether one of them is another value now, or has another content."""
        return any(_state(read(owner, name)) != state for owner, name, _, state in self._known)


def _state(value: Any) -> Any:
    """What tells a value, with its content, from others."""
    match value:
        case bool() | int() | float() | complex() | str():
            return type(value), repr(value)
        case np.ndarray() if not value.dtype.hasobject:
            digest = hashlib.blake2b(np.ascontiguousarray(value).tobytes()).digest()
            return value.shape, value.dtype.str, value.flags.f_contiguous, digest
        case list() | tuple():
            return type(value), [_state(item) for item in value]
        case dict():
            return type(value), [(_state(key), _state(item)) for key, item in value.items()]
        case types.MethodType():
            return id(value.__self__), id(value.__func__)
    return id(value)


_made: collections.OrderedDict[Any, Any] = collections.OrderedDict()
_lock = threading.Lock()


def shared(make: Callable[..., Any], *given: Any) -> Any:
    """The derivative `make(*given)`, the one of an earlier call where all that it read is as it was."""
    # with the JIT off a derivative is another object: see make_derivative
    key = (make, bool(getattr(config, "DISABLE_JIT", 0)), *given)
    with _lock:
        found = _made.get(key)
        if found is None or found.reads.changed:
            found = _made[key] = make(*given)
        _made.move_to_end(key)
        if len(_made) > _KEPT:
            _made.popitem(last=False)
    return found
