"""`Kind(1)`: the member of an enum class that has a value.  Members are known objects, so the value must be known."""

from __future__ import annotations

import enum
from typing import Any

from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Static, Value
from tapec.frontend.structures.dicts import key_of

# how the classes of the library find members of values that none has; a user's own way is code like any other
_OF_THE_LIBRARY = (enum.Enum._missing_.__func__, enum.Flag._missing_.__func__)  # type: ignore[attr-defined]


def call(ev: Evaluator, obj: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
    """The member that a call of an enum class gives; None for other objects, and for what the class itself finds."""
    if not isinstance(obj, enum.EnumMeta) or type(obj).__call__ is not enum.EnumMeta.__call__:
        return None
    if len(args) != 1 or kwargs or not len(obj):
        return None
    hint = f"compare the {'integers' if issubclass(obj, int) else 'values'}"
    value = key_of(ev, args[0], node, f"the value of a member of `{obj.__name__}`", hint)
    if isinstance(value, obj):
        return Static(value)
    if value in (members := obj._value2member_map_):
        return Static(members[value])
    if obj._missing_.__func__ not in _OF_THE_LIBRARY:  # type: ignore[attr-defined]
        return None
    try:
        return Static(obj(value))
    except ValueError as error:
        ev.fails(ValueError, str(error), node)
