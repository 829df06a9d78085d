"""Objects of user classes, while a block is lowered: attributes that it sets, objects that it makes.

What the block does to an object stays in the evaluator's state: one cell per attribute.  The
objects themselves are left alone; the body sets them when it runs.
"""

from __future__ import annotations

import abc
import enum
import functools
import types
from typing import TYPE_CHECKING, Any, NoReturn

from tapec.errors import LoweringError
from tapec.frontend.evaluator.class_methods import binds_as_functions
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Instance, Items, Lst, Static, Value, describe
from tapec.frontend.structures.captured_values import Held
from tapec.frontend.structures.dicts import cell_value
from tapec.tape.objects.class_lookup import UNDEFINED, class_of, custom, static_lookup
from tapec.tape.objects.dataclass_objects import dataclass_init

if TYPE_CHECKING:
    from tapec.tape.objects.live_objects import LiveObjects

PLAIN_DESCRIPTORS = (
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.BuiltinMethodType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    classmethod,
    staticmethod,
)


class BoundTo(Held):
    """A function with its first argument."""

    def __init__(self, function: Any, owner: Value) -> None:
        self.function, self.owner = function, owner

    @property
    def held(self) -> tuple[Value, ...]:
        return (self.owner,)

    def holding(self, ev: Evaluator, values: tuple[Value, ...]) -> BoundTo:
        return BoundTo(self.function, values[0])

    def __tapec_lower__(self, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        return ev.call_object(self.function, [self.owner, *args], kwargs, node)


class Objects:
    """The attributes of live objects that the block sets, and the objects that it makes."""

    def __init__(self, ev: Evaluator, live: LiveObjects) -> None:
        self.ev, self.live = ev, live
        self.cells: dict[tuple[int, str], Lst] = {}
        self.written: dict[int, tuple[Any, dict[str, Lst]]] = {}

    # live objects

    def read(self, obj: Any, name: str, node: Any) -> Value | None:
        """What the block has set an attribute to; None if it has not."""
        cell = self.cells.get((id(obj), name))
        if cell is None or cell not in self.ev.heap:
            return None
        return cell_value(self.ev, cell, name, node)

    def attribute(self, obj: Any, name: str, node: Any) -> Value | None:
        """Attributes that getattr must not fetch; None where it may."""
        ev = self.ev
        own = self.read(obj, name, node)
        if own is not None:
            return own
        found = static_lookup(type(obj), name)
        if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
            return self._accessor(type(obj), name, "fget", found.fget, [Static(obj)], node)
        if custom(type(obj), "__getattribute__") is not None or (name == "__dict__" and self.written.get(id(obj))):
            self._refuse(name, node)
        held = getattr(obj, "__dict__", {})
        if isinstance(found, functools.cached_property) and name not in held:
            made = ev.materialise(self._accessor(type(obj), name, "func", found.func, [Static(obj)], node))
            self._keep(obj, name, made, node)
            return made
        described = self._described(type(obj), name, found, Static(obj), name in held, node)
        if described is not None:
            return described
        plain = isinstance(found, PLAIN_DESCRIPTORS) or binds_as_functions(found)
        if name in held or plain or isinstance(obj, enum.Enum):
            return None
        if found is UNDEFINED and custom(type(obj), "__getattr__") is not None:
            self.live.guards.lacks(obj, name)
            return self._fallback(Static(obj), name, node)
        if found is UNDEFINED and ev.deciding and isinstance(type(obj).__getattribute__, types.WrapperDescriptorType):
            self.live.guards.lacks(obj, name)
            ev.fails(AttributeError, f"{type(obj).__name__!r} object has no attribute {name!r}", node)
        if found is UNDEFINED or hasattr(type(found), "__get__"):
            self._refuse(name, node)
        return None

    def _refuse(self, name: str, node: Any) -> NoReturn:
        self.ev.fail(
            LoweringError,
            f"the attribute `{name}` is computed by code that cannot be followed",
            node,
            hint="bind it to a name before the tape",
        )

    def _described(
        self, cls: type, name: str, found: Any, owner: Value, held: bool, node: Any, stored: Value | None = None
    ) -> Value | None:
        """What a descriptor of the user's gives, or does with `stored`; None where `found` is none."""
        method = "__get__" if stored is None else "__set__"
        function = custom(type(found), method)
        # attributes of the object come before descriptors that do not set them
        if function is None or isinstance(found, type | functools.cached_property):
            return None
        if held and custom(type(found), "__set__") is None:
            return None
        self.live.guards.described(cls, name, found)
        self.ev.wrap(function, node, ("attribute", type(found), method))
        last = Static(cls) if stored is None else stored
        return self.ev.call_object(function, [Static(found), owner, last], {}, node)

    def _fallback(self, owner: Value, name: str, node: Any) -> Value:
        """`__getattr__`, for an attribute that is not there."""
        function = custom(class_of(owner), "__getattr__")
        self.ev.wrap(function, node, ("attribute", class_of(owner), "__getattr__"))
        return self.ev.call_object(function, [owner, Static(name)], {}, node)

    def _accessor(self, cls: type, name: str, part: str, function: Any, args: list[Value], node: Any) -> Value:
        """Call the function behind a property: another one in its place is another program."""
        if isinstance(function, types.FunctionType):
            self.live.guards.accessor(cls, name, part, function)
        return self.ev.call_object(function, args, {}, node)

    def store(self, owner: Value, name: str, value: Value, node: Any, plainly: bool = False) -> None:
        """`owner.name = value`; `plainly` as `object.__setattr__` does it."""
        ev = self.ev
        if not isinstance(owner, Static | Instance) or isinstance(getattr(owner, "obj", None), types.ModuleType | type):
            ev.fail(LoweringError, f"an attribute of {describe(owner)} is set inside a tape's block", node)
        cls = class_of(owner)
        found = static_lookup(cls, name)
        if isinstance(found, property) and isinstance(found.fset, types.FunctionType):
            self._accessor(cls, name, "fset", found.fset, [owner, value], node)
            return
        setter = custom(cls, "__setattr__")
        if setter is not None and not plainly:
            ev.wrap(setter, node, ("attribute", cls, "__setattr__"))
            ev.call_object(setter, [owner, Static(name), value], {}, node)
            return
        if self._described(cls, name, found, owner, False, node, value) is not None:
            return
        if hasattr(type(found), "__set__") and not isinstance(found, types.MemberDescriptorType):
            ev.fail(
                LoweringError,
                f"setting `{name}` runs code that cannot be followed",
                node,
                hint="set it before the tape or after it",
            )
        if isinstance(owner, Instance):
            self.put(owner, name, value, node)
        else:
            self._keep(owner.obj, name, value, node)

    def put(self, owner: Instance, name: str, value: Value, node: Any) -> None:
        """Set an attribute of an object that the block makes."""
        self._put(owner.cells, name, name, value, owner.home, node)

    def _keep(self, obj: Any, name: str, value: Value, node: Any) -> None:
        """Set an attribute of a live object."""
        self._put(self.cells, (id(obj), name), name, value, self.ev.root, node)
        _, written = self.written.setdefault(id(obj), (obj, {}))
        written[name] = self.cells[id(obj), name]

    def _put(self, cells: Any, key: Any, label: str, value: Value, home: list[Any], node: Any) -> None:
        ev = self.ev
        if key not in cells or cells[key] not in ev.heap:
            if ev.block is not home:
                ev.fail(LoweringError, f"the attribute `{label}` is set inside a branch or loop only", node)
            cells[key] = Lst(label)
        ev.heap[cells[key]] = Items((value,))

    # objects that the block makes

    def of_instance(self, owner: Instance, name: str, node: Any) -> Value:
        """`owner.name`."""
        ev, cls = self.ev, owner.cls
        found = static_lookup(cls, name)
        if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
            return self._accessor(cls, name, "fget", found.fget, [owner], node)
        if custom(cls, "__getattribute__") is not None:
            self._refuse(name, node)
        cell = owner.cells.get(name)
        held = cell is not None and cell in ev.heap
        described = self._described(cls, name, found, owner, held, node)
        if described is not None:
            return described
        if cell is not None and held:
            return cell_value(ev, cell, name, node)
        if name == "__class__":
            return Static(cls)
        if isinstance(found, functools.cached_property):
            made = ev.materialise(self._accessor(cls, name, "func", found.func, [owner], node))
            self.put(owner, name, made, node)
            return made
        if found is UNDEFINED and custom(cls, "__getattr__") is not None:
            return self._fallback(owner, name, node)
        if found is UNDEFINED:
            ev.fail(LoweringError, f"an object of {cls.__qualname__} has no attribute `{name}` here", node)
        return self.bound(cls, found, name, owner, node)

    def bound(self, cls: type, found: Any, name: str, owner: Value, node: Any) -> Value:
        """What a class attribute gives when it is read through an object."""
        if binds_as_functions(found):
            self.ev.wrap(found, node, ("attribute", cls, name))
            return Static(BoundTo(found, owner))
        if isinstance(found, staticmethod):
            return self.ev.wrap(found.__func__, node, ("attribute", cls, name))
        if isinstance(found, classmethod):
            self.ev.wrap(getattr(cls, name), node, ("attribute", cls, name))
            return Static(BoundTo(found.__func__, Static(class_of(owner))))
        if hasattr(type(found), "__get__") and not isinstance(found, type):
            self._refuse(name, node)
        return self.ev.wrap(found, node, ("attribute", cls, name))

    def construct(self, cls: type, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
        """`cls(...)` of a class with source; None for other classes."""
        ev = self.ev
        if cls is types.SimpleNamespace and not args:
            return self._namespace(kwargs, node)
        initialise = static_lookup(cls, "__init__")
        ordinary = type(cls) in (type, abc.ABCMeta) and static_lookup(cls, "__new__") is object.__dict__["__new__"]
        if not ordinary or issubclass(cls, BaseException) or not cls.__flags__ & (1 << 9):
            return None
        self.live.guards.class_grown(cls)
        made = Instance(cls, {}, ev.block)
        fields = static_lookup(cls, "__dataclass_fields__")
        generated = isinstance(initialise, types.FunctionType) and initialise.__code__.co_filename == "<string>"
        if fields is not UNDEFINED and generated:
            dataclass_init(self, made, args, kwargs, node)
        elif isinstance(initialise, types.FunctionType):
            ev.wrap(initialise, node, ("attribute", cls, "__init__"))
            ev.call_object(initialise, [made, *args], kwargs, node)
        elif initialise is not object.__init__ or args or kwargs:
            return None
        return made

    def _namespace(self, attributes: dict[str, Value], node: Any) -> Value:
        made = Instance(types.SimpleNamespace, {}, self.ev.block)
        for name, value in attributes.items():
            self.store(made, name, self.ev.materialise(value), node)
        return made
