"""Objects as arguments: their numbers, arrays and containers, in a named tuple that stands for the object.

What else an object holds (text, functions, classes) is known: it is in the class of the named tuple, and with it in
the argument's type, so that another function there compiles anew.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import itertools
import threading
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from tapec.errors import UnsupportedType
from tapec.frontend.structures import jitclasses, sparse_classes

_LEAVES = (bool, int, float, complex, np.generic, types.NoneType)
_FIXED = (str, enum.Enum, type, np.dtype, np.ufunc, functools.partial, Dispatcher, types.ModuleType)
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
# the objects whose attributes are being converted, in each thread
_around = threading.local()
# the numbers of classes of a name
_numbers: dict[str, Iterator[int]] = {}


def is_object(value: Any) -> bool:
    """Whether `value` is of a class with source, a dataclass or a jitclass, and finds attributes as usual."""
    cls = type(value)
    if isinstance(value, (*_LEAVES, *_FIXED, *_FUNCTIONS)) or hasattr(value, "__tapec_lower__"):
        return False
    if jitclasses.is_object(value):
        return True
    made_plainly: Any = cls.__new__
    read_plainly: Any = cls.__getattribute__
    if read_plainly is not object.__getattribute__ or hasattr(cls, "__getattr__"):
        return False
    if dataclasses.is_dataclass(cls):
        return True
    return made_plainly is object.__new__ and (hasattr(value, "__dict__") or bool(_slots(cls)))


def plain(value: Any, label: str, item: Any) -> Any:
    """The named tuple that stands for an object; `item(value, label)` converts what it holds."""
    if (sparse := sparse_classes.class_of(value)) is not None:
        return sparse_classes.stand_in(sparse)(*sparse_classes.held(value))
    around = _around.__dict__.setdefault("objects", set())
    if id(value) in around:
        # an attribute of one of its own attributes: nothing stands for it there
        return value
    around.add(id(value))
    try:
        return _converted(value, label, item)
    finally:
        around.remove(id(value))


def _converted(value: Any, label: str, item: Any) -> Any:
    held: dict[str, Any] = {}
    fixed: dict[str, Any] = {}
    opaque: dict[str, str] = {}
    for name, one in _attributes(value).items():
        if isinstance(one, (*_FIXED, *_FUNCTIONS)):
            fixed[name] = one
            continue
        if isinstance(one, list | tuple) and one and all(isinstance(item, (*_FIXED, *_FUNCTIONS)) for item in one):
            fixed[name] = tuple(one)
            continue
        try:
            converted = item(one, f"{label}.{name}")
        except UnsupportedType:
            converted = one
        if _has_type(converted):
            held[name] = converted
        else:
            opaque[name] = type(one).__name__ + (", which holds this object" if id(one) in _around.objects else "")
    cls: Any = jitclasses.class_of(value) if jitclasses.is_object(value) else type(value)
    made = _stand_in(cls, tuple(held), tuple(fixed.items()), tuple(opaque.items()))
    return made(*held.values())


def like(original: Any, found: Any, item: Any) -> Any:
    """A copy of an object with what `found`, its named tuple, has; `item(original, found)` converts back."""
    if sparse_classes.class_of(original) is not None:
        return sparse_classes.joined(original, found)
    # an object of a jitclass can be made by calling it alone
    made = object.__new__(jitclasses.class_of(original) if jitclasses.is_object(original) else type(original))
    gradients = {
        name: item(getattr(original, name), one) for name, one in zip(type(found).object_names, found, strict=True)
    }
    for name, one in {**_attributes(original), **gradients}.items():
        # also of frozen dataclasses
        object.__setattr__(made, name, one)
    return made


def _attributes(value: Any) -> dict[str, Any]:
    if jitclasses.is_object(value):
        return jitclasses.attributes(value)
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {**fields, **getattr(value, "__dict__", {})}
    slots = {name: getattr(value, name) for name in _slots(type(value)) if hasattr(value, name)}
    return {**slots, **getattr(value, "__dict__", {})}


def _slots(cls: type) -> list[str]:
    """The attributes that a class and those above it have by `__slots__`."""
    with_slots = [vars(base) for base in cls.__mro__ if "__slots__" in vars(base)]
    return [name for found in with_slots for name, one in found.items() if isinstance(one, types.MemberDescriptorType)]


def _has_type(value: Any) -> bool:
    """Whether Numba has a type for a value that was converted."""
    if isinstance(value, tuple):
        return all(map(_has_type, value))
    if isinstance(value, np.ndarray):
        return type(value) is np.ndarray and value.dtype.kind in "biufc"
    return isinstance(value, (*_LEAVES, str))


def stand_in(name: str, fields: list[str]) -> Any:
    """A class of named tuples of its own name.

    Calls of compiled functions tell such classes apart by their names alone, and take one of the same name and field
    types for the other.
    """
    count = next(_numbers.setdefault(name, itertools.count(1)))
    make: Any = collections.namedtuple
    return make(name if count == 1 else f"{name}_{count}", fields)


@functools.lru_cache(maxsize=512)
def _stand_in(
    cls: Any, names: tuple[str, ...], fixed: tuple[tuple[str, Any], ...], opaque: tuple[tuple[str, str], ...]
) -> Any:
    """The named tuple for objects of a class that hold numbers and arrays under `names`."""
    # its fields cannot begin with an underscore
    made = stand_in(f"{cls.__name__}_object", [f"attribute_{k}" for k in range(len(names))])
    made.object_class, made.object_names = cls, names
    made.object_fixed, made.object_opaque = dict(fixed), dict(opaque)
    return made
