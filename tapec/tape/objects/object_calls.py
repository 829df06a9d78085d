"""Built-in functions on objects of user classes, while a block is lowered: `getattr`, `super()`, `id` and others."""

from __future__ import annotations

import dataclasses
import enum
import functools
from typing import Any

import numpy as np

from tapec.errors import LoweringError
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import NONE, Func, Instance, Static, Sym, Template, Tup, Value, describe, number
from tapec.frontend.library.pattern_tests import has_attribute
from tapec.frontend.operations import runtime_text
from tapec.frontend.structures.captured_values import Held
from tapec.syntax.core import Name
from tapec.tape.objects.class_lookup import UNDEFINED, class_of, custom, static_lookup
from tapec.tape.objects.dataclass_objects import as_dict, fields_of, replaced
from tapec.tape.objects.user_objects import BoundTo, Objects


class PartialObject(Held):
    """`functools.partial(...)` that the block makes."""

    def __init__(self, function: Value, args: list[Value], kwargs: dict[str, Value]) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs

    @property
    def held(self) -> tuple[Value, ...]:
        return (self.function, *self.args, *self.kwargs.values())

    def holding(self, ev: Evaluator, values: tuple[Value, ...]) -> PartialObject:
        first, named = values[: 1 + len(self.args)], values[1 + len(self.args) :]
        return PartialObject(first[0], list(first[1:]), dict(zip(self.kwargs, named, strict=True)))

    def __tapec_lower__(self, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        return ev.apply(self.function, [*self.args, *args], self.kwargs | kwargs, node)


class SuperObject:
    """`super()` in a method of `cls`."""

    def __init__(self, objects: Objects, cls: type, owner: Value) -> None:
        self.objects, self.cls, self.owner = objects, cls, owner

    def lookup(self, name: str, node: Any) -> Value:
        own = self.owner.obj if isinstance(self.owner, Static) else None
        of_class = isinstance(own, type)
        if not isinstance(own, type):
            own = class_of(self.owner)
        mro = own.__mro__
        for base in mro[mro.index(self.cls) + 1 :]:
            if name not in base.__dict__:
                continue
            if base is object and name in ("__init__", "__init_subclass__"):
                break
            if base is object and name == "__setattr__":
                return Static(BoundTo(object.__setattr__, self.owner))
            if of_class:
                found = base.__dict__[name]
                if isinstance(found, classmethod):
                    return Static(BoundTo(found.__func__, self.owner))
                return self.objects.ev.get_attribute(Static(base), name, node)
            return self.objects.bound(base, base.__dict__[name], name, self.owner, node)
        return Static(_nothing)


def _nothing(*args: Any) -> None:
    """What `object.__init__` does."""


class ObjectCalls:
    """The functions that look at the block's objects, or change them."""

    def __init__(self, objects: Objects) -> None:
        self.objects, self.ev, self.live = objects, objects.ev, objects.live

    def specials(self) -> dict[Any, Any]:
        return {getattr: self._getattr, hasattr: self._hasattr, setattr: self._setattr, super: self._super,
                callable: self._callable, issubclass: self._issubclass, id: self._id, functools.partial: self._partial,
                str: self._str, object.__setattr__: self._set_plainly, dataclasses.fields: self._fields,
                dataclasses.replace: self._replace, dataclasses.asdict: self._asdict, abs: self._abs}

    def _asdict(self, ev: Evaluator, args: list[Value], kwargs: Any, node: Any) -> Value:
        if len(args) > 1 or kwargs:
            ev.fail(
                LoweringError, "`asdict` with a `dict_factory`", node, hint="call it on the dict that `asdict` gives"
            )
        return as_dict(self.objects, args[0], node)

    def _abs(self, ev: Evaluator, args: list[Value], kwargs: Any, node: Any) -> Value:
        own = self.live.operator("__abs__", args, node)
        return ev.call_object(np.abs, args, kwargs, node) if own is None else own

    def _set_plainly(self, ev: Evaluator, args: list[Value], kwargs: Any, node: Any) -> Value:
        self.objects.store(args[0], _text(ev, args[1], node), ev.materialise(args[2]), node, plainly=True)
        return NONE

    def _fields(self, ev: Evaluator, args: list[Value], kwargs: Any, node: Any) -> Value:
        return fields_of(self.objects, args[0], node)

    def _replace(self, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        return replaced(self.objects, args[0], kwargs, node)

    def _getattr(self, ev: Evaluator, args: list[Value], kwargs: Any, node: Any) -> Value:
        name = _text(ev, args[1], node)
        if len(args) > 2 and not self._has(args[0], name, node):
            return args[2]
        return ev.get_attribute(args[0], name, node)

    def _hasattr(self, ev: Evaluator, args: list[Value], kwargs: Any, node: Any) -> Value:
        return number(self._has(args[0], _text(ev, args[1], node), node))

    def _has(self, owner: Value, name: str, node: Any) -> bool:
        own = getattr(type(owner.obj), "__tapec_has__", None) if isinstance(owner, Static) else None
        if isinstance(owner, Static) and own is not None:
            return bool(own(owner.obj, name))
        if isinstance(owner, Static | Instance) and custom(class_of(owner), "__getattr__") is not None:
            self.ev.fail(LoweringError, f"whether an object with a `__getattr__` has an attribute `{name}`", node)
        if isinstance(owner, Instance):
            cell = owner.cells.get(name)
            return (cell is not None and cell in self.ev.heap) or static_lookup(owner.cls, name) is not UNDEFINED
        if not isinstance(owner, Static):
            known = [leaf.obj for leaf in self.live.leaves if isinstance(owner, Sym) and owner.atom == Name(leaf.name)]
            variable = getattr(owner, "variable", None)
            if known or variable is not None:
                return hasattr(known[0] if known else variable, name)
            found = has_attribute(self.ev, [owner, Static(name)], {}, node)
            return isinstance(found, Sym) and found.constant is True
        cell = self.objects.cells.get((id(owner.obj), name))
        if cell is not None and cell in self.ev.heap:
            return True
        there = name in getattr(owner.obj, "__dict__", {}) or hasattr(type(owner.obj), name)
        slot = self.live.guards.owners.get(id(owner.obj))
        if slot is None:
            self.live.guards.complete = False
        else:
            self.live.guards.guard(slot, f"hasattr({{v}}, {name!r}) is {there}")
        return there

    def _setattr(self, ev: Evaluator, args: list[Value], kwargs: Any, node: Any) -> Value:
        self.objects.store(args[0], _text(ev, args[1], node), ev.materialise(args[2]), node)
        return NONE

    def _super(self, ev: Evaluator, args: list[Value], kwargs: Any, node: Any) -> Value:
        if args:
            cls, owner = args
        else:
            first = ev.frame.source.node.args.args[0].id
            found = ev.frame.names("__class__")
            if found is None:
                ev.fail(LoweringError, "`super()` outside a method", node)
            cls, owner = found, ev.frame.env[first]
        if not isinstance(cls, Static) or not isinstance(owner, Static | Instance):
            ev.fail(LoweringError, f"`super` of {describe(owner)}", node)
        return Static(SuperObject(self.objects, cls.obj, owner))

    def _id(self, ev: Evaluator, args: list[Value], kwargs: Any, node: Any) -> Value:
        """`id` of an object from outside: the program is then one of this object."""
        [value] = args
        obj = value.obj if isinstance(value, Static) else getattr(value, "variable", None)
        slot = self.live.guards.owners.get(id(obj))
        if obj is None or slot is None:
            ev.fail(LoweringError, f"`id` of {describe(value)}", node, hint="use a name instead")
        self.live.guards.guard(slot, f"id({{v}}) == {id(obj)}")
        return number(id(obj))

    def _str(self, ev: Evaluator, args: list[Value], kwargs: Any, node: Any) -> Value:
        """Text of what is known; of anything else, text that only the run knows."""
        value = args[0] if args else Static("")
        obj = value.obj if isinstance(value, Static) else getattr(value, "constant", None)
        known = isinstance(obj, str | int | np.dtype) and not isinstance(obj, Template | enum.Enum)
        return Static(str(obj) if known else runtime_text.of_value(ev, value, "{...}"))

    def _partial(self, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        return Static(PartialObject(args[0], [ev.materialise(arg) for arg in args[1:]], kwargs))

    def _issubclass(self, ev: Evaluator, args: list[Value], kwargs: Any, node: Any) -> Value:
        one, other = args
        several = other.items if isinstance(other, Tup) else (other,)
        kinds: list[Any] = [kind.obj if isinstance(kind, Static) else None for kind in (one, *several)]
        if not all(isinstance(kind, type | tuple) for kind in kinds):
            ev.fail(LoweringError, f"`issubclass` of {describe(one)} and {describe(other)}", node)
        return number(issubclass(kinds[0], tuple(kinds[1:])))

    def _callable(self, ev: Evaluator, args: list[Value], kwargs: Any, node: Any) -> Value:
        [value] = args
        if isinstance(value, Instance):
            return number(static_lookup(value.cls, "__call__") not in (UNDEFINED, None))
        return number(isinstance(value, Func) or (isinstance(value, Static) and callable(value.obj)))


def _text(ev: Evaluator, value: Value, node: Any) -> str:
    if not isinstance(value, Static) or not isinstance(value.obj, str) or isinstance(value.obj, Template):
        ev.fail(LoweringError, f"the name of an attribute is {describe(value)}", node)
    return value.obj
