"""Of which class a value is in Python: `isinstance` and `type`.

A number of an array's or argument's type may be Python's or NumPy's; a tuple that an argument is may be a list.
What holds of one and not of the other is refused, but that integers and booleans count as Python's.
"""

from __future__ import annotations

import collections
import functools
import types
from typing import Any

import numpy as np

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import (
    Caught,
    Complex,
    Dct,
    Deque,
    Func,
    Instance,
    Lst,
    MaybeNone,
    NumberClass,
    PackedList,
    Partial,
    Record,
    Slice,
    Static,
    Sym,
    Tup,
    Unseen,
    Value,
    describe,
    is_array,
    is_complex_array,
    number,
)
from tapec.frontend.structures import jitclasses
from tapec.syntax.types import Scalar, Text

# Python's class of numbers that Numba does not tell from those of NumPy
_PYTHONS: dict[str, type] = {"float64": float, "int64": int, "bool": bool, "complex128": complex}
_COUNTED = ("int64", "bool")


def isinstance_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    value, asked = args
    if isinstance(value, Unseen) and not isinstance(value, Caught):
        ev.fail(UnsupportedSyntax, f"`{value.name}` cannot be used here", node, reason=value.reason)
    kinds = asked_of(ev, asked, node)
    if isinstance(value, Static):
        return number(isinstance(value.obj, kinds))
    classes = classes_of(value)
    try:
        found = [issubclass(cls, kinds) for cls in classes]
    except TypeError as error:
        ev.fail(UnsupportedSyntax, f"`isinstance` of {describe(asked)}", node, reason=str(error).partition(". ")[0])
    if not found:
        ev.fail(UnsupportedSyntax, f"`isinstance` of {describe(value)}", node)
    if any(found) and not all(found) and not (found[0] and _is_counted(value)):
        names = " or ".join(f"`{cls.__module__}.{cls.__name__}`".replace("builtins.", "") for cls in classes)
        ev.fail(TypeMismatch, f"`isinstance` of what may be {names}", node, hint="ask for both, as a tuple of classes")
    return number(found[0])


def asked_of(ev: Evaluator, asked: Value, node: Any) -> tuple[Any, ...]:
    """The classes that `isinstance` is asked for."""
    if isinstance(asked, Tup):
        return tuple(kind for item in asked.items for kind in asked_of(ev, item, node))
    if isinstance(asked, Static) and isinstance(asked.obj, type | types.UnionType):
        return (jitclasses.class_asked_for(asked.obj),)
    ev.fail(TypeMismatch, f"`isinstance` needs a class, not {describe(asked)}", node)


def classes_of(value: Value) -> tuple[type, ...]:
    """The classes that a value that is not known may be of; none where nothing can be said."""
    if (variable := getattr(value, "variable", None)) is not None:
        return (type(variable),)
    if is_array(value) or is_complex_array(value):
        return (np.ndarray,)
    match value:
        case Sym(type=Text()):
            return (str,)
        case Sym(type=Scalar(dtype=dtype)):
            return _of_number(dtype)
        case Complex():
            return _of_number(value.type.dtype)
        case MaybeNone(value=inner):
            return (*classes_of(inner), type(None))
        case Tup(cls=None):
            return (tuple, list) if value.is_argument else (tuple,)
        case Tup(cls=cls):
            # a dict that an argument is comes as a named tuple with its keys
            return (dict,) if hasattr(cls, "mapping_keys") else (cls,)  # type: ignore[return-value]
        case Deque():
            return (collections.deque,)
        case Lst():
            return (list,)
        case PackedList():
            return (tuple, list)
        case Record(cls=cls):
            return (cls.object_class,)
        case Instance() | Dct() | Caught():
            return (value.cls,)
        case Func():
            return (types.FunctionType,)
        case Partial():
            return (functools.partial,)
        case Slice():
            return (slice,)
    return ()


def _of_number(dtype: str) -> tuple[type, ...]:
    own = np.dtype(dtype).type
    return (_PYTHONS[dtype], own) if dtype in _PYTHONS else (own,)


def _is_counted(value: Value) -> bool:
    return isinstance(value, Sym) and isinstance(value.type, Scalar) and value.type.dtype in _COUNTED


def type_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`type(x)`; of a number, what converts to its type."""
    [value] = args
    if isinstance(value, Static):
        return Static(type(value.obj))
    classes = () if isinstance(value, MaybeNone) else classes_of(value)
    if not classes or set(classes) == {tuple, list}:
        ev.fail(UnsupportedSyntax, f"cannot take the type of {describe(value)}", node)
    return (NumberClass if len(classes) > 1 else Static)(classes[-1])


def may_be_same(left: Value, right: Value) -> bool:
    """Whether two classes of numbers may be one, or may be two: `type(x) is float`."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, NumberClass) and isinstance(other, Static):
            return other.obj in _of_number(np.dtype(one.obj).name)
    return False
