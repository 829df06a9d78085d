"""Objects whose classes have source: attributes and methods of those that are arguments, `super` and `getattr`."""

from __future__ import annotations

import functools
import inspect
import types
from dataclasses import dataclass
from typing import Any

from numba.core.dispatcher import Dispatcher

from tapec.errors import UndefinedName, UnsupportedSyntax, UnsupportedType
from tapec.frontend.evaluator.class_methods import binds_as_functions
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import Instance, Partial, Record, Static, Value, describe, known_text
from tapec.frontend.structures import sparse_matrices

_ABSENT = object()


@dataclass(frozen=True)
class ParentAttributes(Value):
    """`super()` in a method of `cls`."""

    cls: type
    owner: Value


def attribute(ev: Evaluator, owner: Record, attr: str, node: Any) -> Value:
    """`owner.attr`: a property of its class, what the object holds, or a method, as Python looks them up."""
    if sparse_matrices.is_sparse(owner):
        return sparse_matrices.attribute(ev, owner, attr, node)
    cls = owner.cls.object_class
    if attr == "__class__":
        return Static(cls)
    found = inspect.getattr_static(cls, attr, _ABSENT)
    if hasattr(type(found), "__set__") and not isinstance(found, types.MemberDescriptorType):
        return of_class(ev, owner, cls, found, attr, node)
    if attr in owner.cls.object_names:
        return owner.items[owner.cls.object_names.index(attr)]
    if attr in owner.cls.object_fixed:
        return ev.wrap(owner.cls.object_fixed[attr], node)
    if attr in owner.cls.object_opaque:
        message = f"the attribute `{attr}` of an object that is an argument is a {owner.cls.object_opaque[attr]}"
        ev.fail(UnsupportedType, message, node, hint="keep numbers, arrays, and containers or objects of those in it")
    if found is _ABSENT:
        ev.lacks(f"an object of {cls.__qualname__}", attr, node)
    return of_class(ev, owner, cls, found, attr, node)


def super_attribute(ev: Evaluator, value: ParentAttributes, attr: str, node: Any) -> Value:
    """`super().attr`."""
    owner = value.owner
    if isinstance(owner, Record):
        cls: Any = owner.cls.object_class
    elif isinstance(owner, Instance):
        cls = owner.cls
    else:
        assert isinstance(owner, Static)
        cls = owner.obj if isinstance(owner.obj, type) else type(owner.obj)
    mro = cls.__mro__
    for base in mro[mro.index(value.cls) + 1 :]:
        if attr in vars(base):
            found = vars(base)[attr]
            if isinstance(found, classmethod):
                # of the class, or of the object's class, not of the one above it that has the method
                ev.reads[base, attr] = getattr(base, attr)
                return Partial(Static(found.__func__), (Static(cls),), {})
            if cls is getattr(owner, "obj", None) and isinstance(found, types.FunctionType):
                return ev.get_attribute(Static(base), attr, node)
            return of_class(ev, owner, base, found, attr, node)
    ev.fail(UndefinedName, f"no class above {value.cls.__qualname__} has an attribute `{attr}`", node)


def of_class(ev: Evaluator, owner: Value, cls: type, found: Any, attr: str, node: Any) -> Value:
    """What an attribute of a class is to one of its objects."""
    if isinstance(found, property | functools.cached_property | classmethod) or binds_as_functions(found):
        ev.reads[cls, attr] = getattr(cls, attr)
    if isinstance(found, property):
        return ev.call_object(found.fget, [owner], {}, node)
    if isinstance(found, functools.cached_property):
        return ev.call_object(found.func, [owner], {}, node)
    if isinstance(found, Dispatcher) or binds_as_functions(found):
        return Partial(Static(found), (owner,), {})
    if isinstance(found, classmethod):
        return Partial(Static(found.__func__), (Static(cls),), {})
    if hasattr(type(found), "__get__") and not isinstance(found, staticmethod | type):
        ev.fail(
            UnsupportedSyntax,
            f"the attribute `{attr}` of {cls.__qualname__} is a descriptor, a {type(found).__name__}",
            node,
            hint="make it a property",
        )
    return ev.get_attribute(Static(cls), attr, node)


def has(record: Record, attr: str) -> bool:
    """`hasattr` of an object that is an argument."""
    held = (record.cls.object_names, record.cls.object_fixed, record.cls.object_opaque)
    return any(attr in names for names in held) or hasattr(record.cls.object_class, attr)


def _super(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    first = [arg.id for arg in ev.frame.source.node.args.args[:1]]
    cls, owner = args if args else (ev.frame.names("__class__"), ev.frame.env.get(*first) if first else None)
    known = isinstance(owner, Record | Instance | Static)
    if not isinstance(cls, Static) or not known:
        ev.fail(UnsupportedSyntax, "`super` is for methods of objects and classes", node)
    assert owner is not None
    return ParentAttributes(cls.obj, owner)


def _getattr(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    owner, name, *default = args
    attr = known_text(name)
    if attr is None:
        ev.fail(UnsupportedSyntax, f"the name of an attribute is {describe(name)}, which only the run knows", node)
    if default and getattr(ev.call_object(hasattr, [owner, name], {}, node), "constant", True) is False:
        return default[0]
    return ev.get_attribute(owner, attr, node)


SPECIAL: dict[Any, Any] = {super: _super, getattr: _getattr}
