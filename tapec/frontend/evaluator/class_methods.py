"""Methods such as `__getitem__`, which Python looks up in the class of an object."""

from __future__ import annotations

import inspect
import types
from typing import Any

from tapec.frontend.evaluator.evaluator import Evaluator

# the method of each operator, and that of the right operand
OPERATORS = {
    "+": ("__add__", "__radd__"),
    "-": ("__sub__", "__rsub__"),
    "*": ("__mul__", "__rmul__"),
    "/": ("__truediv__", "__rtruediv__"),
    "//": ("__floordiv__", "__rfloordiv__"),
    "%": ("__mod__", "__rmod__"),
    "**": ("__pow__", "__rpow__"),
    "@": ("__matmul__", "__rmatmul__"),
    "&": ("__and__", "__rand__"),
    "|": ("__or__", "__ror__"),
    "^": ("__xor__", "__rxor__"),
    "<<": ("__lshift__", "__rlshift__"),
    ">>": ("__rshift__", "__rrshift__"),
    "<": ("__lt__", "__gt__"),
    "<=": ("__le__", "__ge__"),
    ">": ("__gt__", "__lt__"),
    ">=": ("__ge__", "__le__"),
    "==": ("__eq__", "__eq__"),
    "!=": ("__ne__", "__ne__"),
}


def binds_as_functions(found: Any) -> bool:
    """Whether something that a class holds is a method: a function, derivative or compiled function."""
    ours = hasattr(type(found), "__tapec_lower__") and hasattr(type(found), "__get__")
    return ours or isinstance(found, types.FunctionType)


def special_method(ev: Evaluator, obj: Any, name: str) -> Any:
    """The method of the class of an object; None if it has none that is written in Python.

    That it is this one is noted: another one may take its place.
    """
    found = inspect.getattr_static(type(obj), name, None)
    if not binds_as_functions(found):
        return None
    ev.reads[type(obj), name] = found
    return found
