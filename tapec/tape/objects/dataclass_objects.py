"""Dataclasses: what their generated methods do, whose source is in no file."""

from __future__ import annotations

import dataclasses
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from tapec.errors import LoweringError
from tapec.frontend.evaluator.values import Instance, Items, Lst, Static, Sym, Tup, Value, describe, number
from tapec.frontend.structures.dicts import new_dict
from tapec.frontend.structures.made_objects import dataclass_values
from tapec.tape.objects.class_lookup import UNDEFINED, class_of, static_lookup

if TYPE_CHECKING:
    from tapec.tape.objects.user_objects import Objects


def dataclass_init(
    objects: Objects, made: Instance, args: list[Value], kwargs: dict[str, Value], node: Any
) -> None:
    """What the generated `__init__` does."""
    ev, cls = objects.ev, made.cls
    for name, value in dataclass_values(ev, cls, args, kwargs, node).items():
        objects.put(made, name, value, node)
    if static_lookup(cls, "__post_init__") is not UNDEFINED:
        ev.apply(objects.of_instance(made, "__post_init__", node), [], {}, node)


def _fields(objects: Objects, value: Value, node: Any) -> tuple[dataclasses.Field[Any], ...]:
    own = isinstance(value, Static) and isinstance(value.obj, type)
    cls = value.obj if own else class_of(value) if isinstance(value, Static | Instance) else None  # type: ignore[attr-defined]
    if cls is None or not dataclasses.is_dataclass(cls):
        objects.ev.fail(LoweringError, f"{describe(value)} is not of a dataclass", node)
    return dataclasses.fields(cls)


def fields_of(objects: Objects, value: Value, node: Any) -> Value:
    """`dataclasses.fields(value)`."""
    fields = _fields(objects, value, node)
    for field in fields:
        objects.live.guards.root(field)
    return Tup(tuple(map(Static, fields)))


def replaced(objects: Objects, value: Value, changes: dict[str, Value], node: Any) -> Value:
    """`dataclasses.replace(value, ...)`."""
    ev = objects.ev
    kept = [field.name for field in _fields(objects, value, node) if field.init and field.name not in changes]
    held = {name: ev.get_attribute(value, name, node) for name in kept}
    return ev.call_object(class_of(value), [], held | changes, node)


def as_dict(objects: Objects, value: Value, node: Any) -> Value:
    """`dataclasses.asdict(value)`."""
    ev = objects.ev
    held = {field.name: ev.get_attribute(value, field.name, node) for field in _fields(objects, value, node)}
    return new_dict(ev, {name: _copied(objects, inner, node) for name, inner in held.items()})


def _copied(objects: Objects, value: Value, node: Any) -> Value:
    """What `asdict` makes of a value: copies, all the way down."""
    ev = objects.ev
    match value:
        case Static(obj=type() | None | str() | types.FunctionType() | types.BuiltinFunctionType() | np.ufunc()):
            return value
        case Static() | Instance() if dataclasses.is_dataclass(class_of(value)):
            return as_dict(objects, value, node)
        case Sym() if not hasattr(value, "variable"):
            return ev.call_object(np.copy, [value], {}, node) if value.is_array else value
        case Tup(items=items, cls=cls):
            return Tup(tuple(_copied(objects, item, node) for item in items), cls)
        case Lst() if isinstance(contents := ev.heap[value], Items):
            return ev.new_list(Items(tuple(_copied(objects, item, node) for item in contents.values)))
    ev.fail(
        LoweringError, f"`asdict` of a dataclass that holds {describe(value)}", node, hint="read its fields instead"
    )


def equal(objects: Objects, left: Value, right: Value, node: Any) -> Value | None:
    """What the generated `__eq__` says; None for objects of different classes."""
    if not isinstance(left, Static | Instance) or not isinstance(right, Static | Instance):
        return None
    if class_of(left) is not class_of(right):
        return None
    ev = objects.ev
    names = [field.name for field in _fields(objects, left, node) if field.compare]
    if not names:
        return number(True)
    first, second = (Tup(tuple(ev.get_attribute(side, name, node) for name in names)) for side in (left, right))
    return ev.compare("==", first, second, node)
