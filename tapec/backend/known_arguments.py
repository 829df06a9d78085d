"""Arguments that are known while compiling: functions, classes, dtypes and modules.

Numba has no type for them, or one that does not say which they are.  A call passes them on as Numba passes a default
that was left out: their value is in the type, and a derivative is compiled for each.  A lambda that is made anew at
every call is the one that was met before, if its code and what it holds are the same.
"""

from __future__ import annotations

import enum
import functools
import types
from collections import OrderedDict
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from tapec_runtime.locking import compiling

_BY_IDENTITY = (type, types.ModuleType, types.BuiltinFunctionType, np.ufunc, Dispatcher)
_KNOWN = (*_BY_IDENTITY, enum.Enum, np.dtype, types.FunctionType, types.MethodType, functools.partial)
# the functions met last, by what they are
_met: OrderedDict[Any, Any] = OrderedDict()
_MOST = 512


class Unlike(Exception):
    """A function holds what is told from others by identity alone, and may not live long."""


def is_known(value: Any) -> bool:
    """Whether an argument is known while compiling."""
    return isinstance(value, _KNOWN) or hasattr(value, "__tapec_lower__")


@compiling
def canonical(value: Any) -> Any:
    """Of functions with equal code that hold equal numbers, text and functions, one that was met before.

    What was met may hold something else by now, as a variable of an outer function that was bound anew: then it is not
    the one.
    """
    if not isinstance(value, types.FunctionType | functools.partial):
        return value
    key = _key_of(value)
    if key is None:
        return value
    found = _met.get(key)
    if found is None or (found is not value and _key_of(found) != key):
        found = _met[key] = value
    _met.move_to_end(key)
    if len(_met) > _MOST:
        _met.popitem(last=False)
    return found


def sharing(function: types.FunctionType) -> types.FunctionType | None:
    """The function whose derivative serves for one; None for one that holds what a call may have made, as an array.

    It is compiled at a later call, when what a function holds may be something else: so a function that holds anything
    has its own.  A lambda that holds nothing, made anew, is the one that was met before.
    """
    if _key_of(function) is None:
        return None
    if (rule := rule_of(function)) is not None:
        parts = [sharing(one) if isinstance(one, types.FunctionType) else None for one in rule.rule_parts]
        return None if None in parts else canonical(function)
    holds = function.__closure__ or function.__defaults__ or function.__kwdefaults__ or vars(function)
    anew = "<" in function.__qualname__
    found: types.FunctionType = canonical(function) if anew and not holds else function
    return found


def rule_of(value: Any) -> Any:
    """What a function with a derivative of its own calls: it has a `decorator`, and the functions that it was given.

    None for other values.
    """
    if isinstance(value, types.FunctionType):
        value = getattr(vars(value).get("__tapec_lower__"), "__self__", None)
    return value if hasattr(value, "rule_parts") else None


def _key_of(value: Any) -> Any:
    try:
        return key_of(value)
    except Unlike:
        return None


def key_of(value: Any, around: tuple[int, ...] = ()) -> Any:
    """What tells a value from others; raises Unlike, also for a function that holds itself.

    around  what holds it
    """
    if id(value) in around:
        raise Unlike
    inside = functools.partial(key_of, around=(*around, id(value)))

    def named(values: dict[str, Any]) -> Any:
        return tuple((name, inside(one)) for name, one in values.items())

    match value:
        case enum.Enum():
            return "member", id(value)
        case types.FunctionType():
            try:
                cells = tuple(inside(cell.cell_contents) for cell in value.__closure__ or ())
            except ValueError:  # nothing is bound to it yet
                raise Unlike from None
            defaults = tuple(map(inside, value.__defaults__ or ())), named(value.__kwdefaults__ or {})
            if (rule := rule_of(value)) is not None:
                return "rule", rule.decorator, tuple(map(inside, rule.rule_parts)), defaults
            return "function", value.__code__, id(value.__globals__), cells, defaults, named(vars(value))
        case functools.partial():
            return "partial", inside(value.func), tuple(map(inside, value.args)), named(value.keywords)
        case float() | complex():
            return type(value), repr(value)
        case None | bool() | int() | str() | np.dtype():
            return type(value), value
        case tuple() if type(value) is tuple:
            return tuple(map(inside, value))
    if isinstance(value, _BY_IDENTITY):
        return "object", id(value)
    raise Unlike
