"""What the patterns of `match` ask of a value, and `hasattr`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import TypeMismatch
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import (
    Dct,
    Instance,
    Lst,
    PackedList,
    Record,
    Static,
    Tup,
    Value,
    describe,
    known_text,
    mapping,
    number,
)
from tapec.frontend.source.match_statement import WHOLE_SUBJECTS, is_mapping, is_sequence, positional, rest_of
from tapec.frontend.structures import argument_objects, dicts


def _is_sequence(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    [value] = args
    if mapping(value) is not None:
        return number(False)
    return number(isinstance(value, Tup | Lst | PackedList) or (isinstance(value, Static) and is_sequence(value.obj)))


def _is_mapping(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    [value] = args
    if isinstance(value, Static):
        return number(is_mapping(value.obj))
    return number(mapping(value) is not None or (isinstance(value, Dct) and issubclass(value.cls, dict)))


def _rest_of(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    named = [dicts.key_of(ev, key, node) for key in args[1:]]
    pairs = dicts.pairs(ev, args[0], node)
    return dicts.new_dict(ev, {key: value for key, value in pairs.items() if key not in named})


def _positional(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    value, cls, place = args
    kind = cls.obj if isinstance(cls, Static) else None
    if not isinstance(kind, type):
        hint = "write a pattern for each class, joined by `|`"
        ev.fail(TypeMismatch, f"{describe(cls)} in a pattern is no class", node, hint=hint)
    index = getattr(ev.sym(place), "constant", 0)
    if issubclass(kind, WHOLE_SUBJECTS) and not hasattr(kind, "__match_args__"):
        return value
    names = getattr(kind, "__match_args__", ())
    if index >= len(names):
        reason = f"the length of its `__match_args__` is {len(names)}"
        ev.fail(TypeMismatch, f"`{kind.__name__}` has no positional pattern {index + 1}", node, reason=reason)
    return ev.get_attribute(value, names[index], node)


def has_attribute(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`hasattr` of what is known without a running program."""
    value, name = args
    label = known_text(name)
    if label is None:
        ev.fail(TypeMismatch, f"the name of an attribute is {describe(name)}, which only the run knows", node)
    if isinstance(value, Tup):
        return number(hasattr(dict if mapping(value) is not None else value.cls or tuple, label))
    if isinstance(value, Static):
        return number(hasattr(value.obj, label))
    if isinstance(value, Lst | Dct):
        return number(hasattr(list if isinstance(value, Lst) else dict, label))
    if isinstance(value, Instance):
        return number(value.cells.get(label) in ev.heap or hasattr(value.cls, label))
    if isinstance(value, Record):
        return number(argument_objects.has(value, label))
    kind = ev.materialise(value)
    if getattr(kind, "is_array", False):
        return number(hasattr(np.ndarray, label))
    plain = {hasattr(one, label) for one in (float, np.float64)}
    if len(plain) == 1:
        return number(plain.pop())
    ev.fail(
        TypeMismatch,
        f"whether {describe(value)} has an attribute `{label}` is not known",
        node,
        reason="NumPy's numbers have it, Python's do not",
        hint="ask for its type by isinstance",
    )


SPECIAL: dict[Any, Any] = {
    is_sequence: _is_sequence,
    is_mapping: _is_mapping,
    rest_of: _rest_of,
    positional: _positional,
    hasattr: has_attribute,
}
