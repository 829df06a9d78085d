"""Classes derived from numbers, text and containers, whose objects count as those.

A float of a class of its own is a float to Numba, and nobody would ask its class what `+` means.  So a class that
defines a method of its base anew, or an operator, is refused; one that adds something else, as an enumeration of
integers does, is not.  Of arrays the plain data count whatever their class is, as for Numba.
"""

from __future__ import annotations

import collections
import enum
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapec.errors import UnsupportedType

_BASES = (float, int, complex, str, tuple, list, dict, np.generic)
# of these nobody asks the class, and most values are of them
EXACT = frozenset({float, int, bool, complex, str, tuple, list, dict, np.ndarray, np.float64, np.float32, np.int64})
_BINARY = {"add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow"}
_BITS = {"and", "or", "xor", "lshift", "rshift", "invert"}
_NUMBER = {"neg", "pos", "abs", "round", "trunc", "floor", "ceil", "float", "int", "index", "complex"}
_CONTAINER = {"len", "getitem", "iter", "contains", "reversed", "array", "array_ufunc", "array_function", "missing"}
_OBJECT = {"eq", "ne", "lt", "le", "gt", "ge", "bool", "getattribute", "enter", "exit"}
OPERATORS = tuple(
    f"__{name}__"
    for name in sorted(
        {*_BINARY, *(f"r{name}" for name in _BINARY | _BITS), *_BITS, *_NUMBER, *_CONTAINER, *_OBJECT}
    )
)
# how objects are made, shown, copied and changed is not asked where numbers are computed
_UNASKED = frozenset(
    f"__{name}__"
    for name in (
        *("new", "init", "init_subclass", "class_getitem", "subclasshook", "class", "doc", "dir", "del"),
        *("repr", "str", "format", "hash", "sizeof", "setattr", "delattr", "setitem", "delitem"),
        *("reduce", "reduce_ex", "getnewargs", "getstate", "setstate", "copy", "deepcopy"),
    )
)
# classes of Python's own whose objects behave as those of their bases where both have a meaning
_ALIKE = frozenset({collections.Counter})
HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a `class` statement, or as if by one


def check(value: Any, what: str) -> None:
    """Refuse an object, `what` in a message, of a class that defines operators or methods of its base anew.

    raises  UnsupportedType
    """
    name = redefines(value)
    if name is not None:
        cls = type(value)
        base = next(base for base in _BASES if issubclass(cls, base))
        raise UnsupportedType(
            f"{what} is of the class `{cls.__name__}`, which defines `{name}`",
            reason=f"its objects are compiled as those of `{base.__name__}`, for which that has a meaning of its own",
            hint=_hint(base),
        )


def check_argument(value: Any, name: str) -> None:
    """Refuse an argument of such a class, or what it holds: compiled code asks (`argument_classes.py`)."""
    check(value, f"`{name}`")


def redefines(value: Any) -> str | None:
    """What of its base the class of an object defines anew; None for other objects."""
    cls: Any = type(value)
    return None if cls in EXACT or not isinstance(value, _BASES) else redefined(cls)


def _hint(base: Any) -> str:
    return f"pass a {base.__name__} of its items" if base in (list, dict, tuple) else f"pass `{base.__name__}` of it"


@functools.lru_cache(maxsize=512)
def redefined(cls: Any) -> str | None:
    """The first operator, or method of its base, that a class defines anew; None for one that behaves as its base."""
    if "_fields" in vars(cls) or any("_fields" in vars(one) for one in cls.__mro__):
        return None  # see named_tuples.py
    for name, value in _defined(cls):
        if (name in OPERATORS or name in _methods(cls)) and getattr(value, "__globals__", None) is not vars(enum):
            return name
    return None


def _defined(cls: Any) -> Iterator[tuple[str, Any]]:
    """What Python code defines between a class and its base."""
    for one in cls.__mro__:
        if not one.__flags__ & HEAP or one in _ALIKE:
            return
        if vars(enum).get(one.__name__) is not one:
            yield from vars(one).items()


@functools.lru_cache(maxsize=512)
def _methods(cls: Any) -> frozenset[str]:
    """The methods of the built-in class that a class is derived from."""
    base = next(one for one in cls.__mro__ if not one.__flags__ & HEAP)
    return frozenset(dir(base)) - _UNASKED
