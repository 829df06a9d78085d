"""Functions and objects that have a derivative of their own, and what lowers a call of them."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from tapec.frontend.source.function_source import undecorated
from tapec.rules import function_name
from tapec.rules.library import library_function

# functions that users have given a derivative, by id, with what lowers a call of them
_REGISTERED: dict[int, tuple[Callable[..., Any], Any]] = {}


def note_registered(function: Callable[..., Any], carrier: Any) -> None:
    """Lower calls of a function, also of what is under a jitted one, by the derivative that a user has given it."""
    for one in (function, undecorated(function)):
        if one is not None:
            _REGISTERED[id(one)] = one, carrier


def registered(function: Any) -> Any:
    """What lowers a function that a user has given a derivative; None for others."""
    found = _REGISTERED.get(id(function))
    return None if found is None else found[1].__tapec_lower__


def lowering_of(function: Any) -> Any:
    """What lowers a call of an object that knows how to be: a derivative, a tape, a custom or registered gradient."""
    # a method has the attributes of its function
    own = None if isinstance(function, types.MethodType) else getattr(function, "__tapec_lower__", None)
    return registered(function) if own is None else own


def has_derivative(function: Any) -> bool:
    """Whether a function has a derivative of its own, by a rule or a plain function of ours."""
    if lowering_of(function) is not None:
        return True
    try:
        return function_name(function) is not None or library_function(function) is not None
    except TypeError:
        return False
