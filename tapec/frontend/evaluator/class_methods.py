"""Methods such as `__getitem__`, which Python looks up in the class of an object."""

from __future__ import annotations

import inspect
import types
from typing import Any

from tapec.frontend.evaluator.evaluator import Evaluator


def special_method(ev: Evaluator, obj: Any, name: str) -> types.FunctionType | None:
    """The method of the class of an object; None if it has none that is written in Python.

    That it is this one is noted: another one may take its place.
    """
    found = inspect.getattr_static(type(obj), name, None)
    if not isinstance(found, types.FunctionType):
        return None
    ev.reads[type(obj), name] = found
    return found
