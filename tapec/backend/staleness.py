"""Whether what a derivative was compiled with is still so.

Compiled code holds the values of modules, closures and objects that its function read.  Transforms that are called
anew for each derivative, as `jvp` is, must not answer with those of an earlier call.
"""

from __future__ import annotations

import array
import collections
import functools
import hashlib
import os
import threading
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tapec.backend.fingerprint import builtin_names, read, trusted
from tapec.backend.known_arguments import rule_of
from tapec_runtime.locking import jit_is_off

_KEPT = 512

Read = tuple[Any, str, Any]


class Reads:
    """What compiled code has read, and from where."""

    def __init__(self) -> None:
        # the values are kept, and their ids with them
        self._known: list[tuple[Any, str, Any, Any]] = []
        self._functions: list[_Reached] = []

    def note(self, found: Iterable[Read], functions: Iterable[Any]) -> None:
        """Add values, each with its owner and its name there, and functions that were reached."""
        self._known += [(*one, _state(one[2])) for one in found if not _is_librarys(one[0])]
        plain = (one for one in functions if isinstance(one, types.FunctionType) and not trusted(one))
        self._functions += [_Reached(one) for one in plain]

    @property
    def changed(self) -> bool:
        """Whether a value is another one now, or has another content, or a function is made of something else."""
        for owner, name, _, state in self._known:
            if _state(read(owner, name)) != state:
                return True
        return any([one.changed for one in self._functions])


def _is_librarys(owner: Any) -> bool:
    """Whether what is read is told by the versions of packages; a module of one may have been changed."""
    return trusted(owner) and not isinstance(owner, types.ModuleType)


class _Reached:
    """What a function was made of, apart from the values that it reads."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self.code = function.__code__
        self.defaults = function.__defaults__
        # kept, as what is told by its id must be
        self.held = function.__defaults__, dict(function.__kwdefaults__ or {})
        self.builtins = builtin_names(self.code)
        self.state = self._state()

    @property
    def changed(self) -> bool:
        return self.function.__code__ is not self.code or self._state() != self.state

    def _state(self) -> Any:
        function = self.function
        own = [name for name in self.builtins if name in function.__globals__]
        if function.__defaults__ is None and function.__kwdefaults__ is None:
            return own
        return own, _state(function.__defaults__), _state(function.__kwdefaults__)


def _state(value: Any, around: tuple[int, ...] = ()) -> Any:
    """What tells a value, with its content, from others.

    around  the objects that hold it, one of which it may be
    """
    if id(value) in around:
        return id(value)
    inside = functools.partial(_state, around=(*around, id(value)))
    match value:
        case bool() | int() | float() | complex() | str():
            return type(value), repr(value)
        case np.ndarray() if not value.dtype.hasobject:
            digest = hashlib.blake2b(np.ascontiguousarray(value).tobytes()).digest()
            return value.shape, value.dtype.str, value.flags.f_contiguous, digest
        case list() | tuple() | collections.deque():
            return type(value), [inside(item) for item in value]
        case bytearray() | memoryview() | array.array():
            return type(value), bytes(value)
        case dict() | types.MappingProxyType():
            return type(value), [(inside(key), inside(item)) for key, item in value.items()]
        case set() | frozenset():
            return type(value), sorted(map(repr, value))
        case types.SimpleNamespace():
            return id(value), inside(vars(value))
        case functools.partial():
            return id(value), inside((value.func, value.args, value.keywords))
        case types.MethodType():
            return id(value.__func__), inside(value.__self__)
    if (rule := rule_of(value)) is not None:
        # kept: `defjvp` may give it another function, at the place of one that is gone
        return id(value), rule.rule_parts
    # as the cache tells it
    own = getattr(type(value), "__tapec_key__", None)
    return id(value) if own is None else (id(value), inside(own(value)))


_made: collections.OrderedDict[Any, Any] = collections.OrderedDict()
_lock = threading.Lock()


def _new_lock() -> None:
    """In a child that is forked while another thread holds the lock, nobody would give it back."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


def shared(make: Callable[..., Any], *given: Any) -> Any:
    """The derivative `make(*given)`, the one of an earlier call where all that it read is as it was."""
    # with the JIT off a derivative is another object: see make_derivative
    key = (make, jit_is_off(), *given)
    with _lock:
        found = _made.get(key)
    if found is None or found.reads.changed:
        # not under the lock: it may ask for others
        found = make(*given)
    with _lock:
        _made[key] = found
        _made.move_to_end(key)
        if len(_made) > _KEPT:
            _made.popitem(last=False)
    return found
