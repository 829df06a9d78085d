"""What classes define, found without calling anything of theirs."""

from __future__ import annotations

import inspect
from typing import Any

from tapec.errors import UnknownKeyword
from tapec.frontend.evaluator.class_methods import binds_as_functions
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Instance, Static, Value

# what `static_lookup` gives for a name that a class does not define; None is a value like others
UNDEFINED = object()


def class_of(value: Value) -> type:
    if isinstance(value, Instance):
        return value.cls
    assert isinstance(value, Static)
    return type(value.obj)


def static_lookup(cls: type, name: str) -> Any:
    """What a class defines under a name; `UNDEFINED` if nothing."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return UNDEFINED


def custom(cls: type, name: str) -> Any:
    """A special method that a class of the user's defines in Python; None if there is none."""
    found = static_lookup(cls, name)
    ours = cls.__module__.startswith(("numpy", "tapec"))
    return found if binds_as_functions(found) and not ours else None


def check_constructor(ev: Evaluator, cls: type, args: list[Value], kwargs: dict[str, Value], node: Any) -> None:
    """Arguments that a class does not take are a TypeError, as in Python."""
    try:
        inspect.signature(cls).bind(*args, **kwargs)
    except TypeError as error:
        ev.fails(TypeError, f"{cls.__name__}.__init__() {error}", node, refusal=UnknownKeyword)
