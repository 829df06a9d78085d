"""Closures as functions of what they hold: a new closure of the same code compiles nothing.

    grad(lambda q: loss(q, batch))(p)         made anew for each batch

The first closure of some code is compiled with what it holds as constants, as by Numba.  Of the next one `batch` is an
argument, as if it were a partial function; its derivative serves for all that follow, while the functions, text and
integers that they hold are the same.  Where a program needs to know what a closure holds while it is compiled, it is
made with constants again.
"""

from __future__ import annotations

import collections
import inspect
import types
import weakref
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

import tapec_runtime
from tapec.bound import Bound, BoundDerivative, unbound
from tapec.errors import TapecError, UsageError
from tapec.frontend.source.function_source import parameters

_MOST = 512
# what was met last: the first closure of some code, and the function of what such closures hold
_first: collections.OrderedDict[Any, weakref.ref[types.FunctionType]] = collections.OrderedDict()
_lifted: collections.OrderedDict[Any, types.FunctionType] = collections.OrderedDict()
# kinds of derivatives, and functions that need to know what they hold
_refused: weakref.WeakKeyDictionary[types.FunctionType, set[Any]] = weakref.WeakKeyDictionary()


class Captured:
    """What stands in a closure for a value that is an argument."""

    def __init__(self, place: int) -> None:
        self.place = place

    def __tapec_key__(self) -> tuple[Any, ...]:
        return "captured", self.place


def lifted(f: Any, kind: Any) -> Bound | None:
    """A closure as a function of what it holds, and that; None for others, and for the first one of its code."""
    if type(f) is not types.FunctionType or not f.__closure__ or vars(f):
        return None
    if f.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return None
    taken = _taken(f)
    key = _key_of(f, taken)
    if key is None:
        return None
    first = _kept(_first, key, lambda: weakref.ref(f))
    if first() is f:
        return None
    made = _kept(_lifted, key, lambda: _function_of(f, taken))
    if _key_of(made, taken) != key:
        # a function that it holds has changed, which another closure held, too
        made = _lifted[key] = _function_of(f, taken)
    return None if kind in _refused.get(made, ()) else Bound(made, tuple(map(_fixed, taken.values())))


def _taken(f: types.FunctionType) -> dict[str, Any]:
    """What a closure holds that may be an argument."""
    held = zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
    try:
        return {name: value for name, cell in held if _is_input(value := cell.cell_contents)}
    except ValueError:  # nothing is bound to a variable yet
        return {}


def _key_of(f: types.FunctionType, taken: Collection[str]) -> Any:
    """What tells a closure from those of another program, apart from what is an argument; None if nothing does."""
    from tapec.backend.known_arguments import Unlike, key_of

    held = zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
    try:
        others = tuple((name, key_of(cell.cell_contents)) for name, cell in held if name not in taken)
        defaults = key_of(f.__defaults__ or ()), tuple((n, key_of(v)) for n, v in (f.__kwdefaults__ or {}).items())
    except (ValueError, Unlike):  # nothing is bound to a variable yet, or it holds what is told by identity
        return None
    return f.__code__, id(f.__globals__), tuple(taken), others, defaults


def _kept(known: collections.OrderedDict[Any, Any], key: Any, make: Callable[[], Any]) -> Any:
    found = known.get(key)
    if found is None:
        # another thread may have been here
        found = known.setdefault(key, make())
        if len(known) > _MOST:
            known.popitem(last=False)
    return found


def _is_input(value: Any) -> bool:
    """Whether a value may be an argument of a program: floats, arrays, and containers of those."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fiub"
    if type(value) in (tuple, list):
        return bool(value) and all(map(_is_input, value))
    if type(value) is dict:
        return bool(value) and all(isinstance(key, str) for key in value) and all(map(_is_input, value.values()))
    return isinstance(value, float)


def _fixed(value: Any) -> Any:
    """A value whose arrays no program writes into, as they are constants otherwise."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
        return value
    if isinstance(value, dict):
        return {key: _fixed(item) for key, item in value.items()}
    return type(value)(map(_fixed, value)) if isinstance(value, tuple | list) else value


def _function_of(f: types.FunctionType, taken: dict[str, Any]) -> types.FunctionType:
    """The code of a closure, as a function whose first parameters are what it holds."""
    names = list(taken)
    # in variables of its own: those of `f` may be bound anew
    cells = tuple(
        types.CellType(Captured(names.index(name)) if name in taken else cell.cell_contents)
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
    )
    made: Any = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, cells)
    made.__kwdefaults__ = f.__kwdefaults__
    made.__qualname__, made.__module__, made.__doc__ = f.__qualname__, f.__module__, f.__doc__
    own = parameters(f).values()
    kind = next((one.kind for one in own if one.kind is not one.KEYWORD_ONLY), inspect.Parameter.POSITIONAL_OR_KEYWORD)
    first = [inspect.Parameter(name, kind) for name in names]
    made.__signature__ = inspect.Signature([*first, *own])
    made.captured = tuple(names)
    function: types.FunctionType = made
    return function


def with_captured_arguments(f: Any, kind: Any, transform: Callable[[Bound], Any]) -> Any:
    """What a transform makes of a function: of a closure by what it holds, if that can be an argument."""
    held = lifted(f, kind)
    if held is not None:
        try:
            return transform(held)
        except (UsageError, tapec_runtime.AliasedArguments):
            pass
        except TapecError:
            refuse(held, kind)
    return transform(unbound(f))


def refuse(held: Bound, kind: Any) -> None:
    """Note that a derivative of some kind needs to know what a closure holds."""
    _refused.setdefault(held.function, set()).add(kind)


class CapturedDerivative(BoundDerivative):
    """A derivative of the closure `f` by what it holds at each call; `plain` makes that with constants.

    make  the derivative of the function that `lifted` makes of it
    """

    def __init__(
        self,
        f: Any,
        make: Callable[[Bound], Any],
        bound: Bound,
        recipe: tuple[Any, ...],
        kind: Any,
        plain: Callable[[], Any],
    ) -> None:
        super().__init__(make(bound), bound, recipe)
        self._f, self._make, self._kind, self._make_plain = f, make, kind, plain
        self._plain: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = lifted(self._f, self._kind) if self._plain is None else None
        if bound is not None:
            if bound.function is not self.bound.function:
                self.derivative = self._make(bound)
            self.bound = bound
            try:
                return super().__call__(*args, **kwargs)
            except (UsageError, tapec_runtime.AliasedArguments):
                pass
            except TapecError:
                refuse(bound, self._kind)
        return self.plain(*args, **kwargs)

    @property
    def plain(self) -> Any:
        """The derivative with constants, which jitted code calls."""
        if self._plain is None:
            self._plain = self._make_plain()
        return self._plain

    @property
    def _numba_type_(self) -> Any:
        return self.plain._numba_type_

    def source(self, *arguments: Any) -> str:
        text: str = super().source(*arguments) if self._plain is None else self._plain.source(*arguments)
        return text
