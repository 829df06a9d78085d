"""Objects of classes with source that a differentiated function makes: their attributes, methods and operators.

An object is a cell of the evaluator's state for each attribute, so that branches and loops carry what it holds as they
carry lists.  In a tape's block the running program has a say in this (`tape/objects/user_objects.py`); elsewhere the
class is all that counts.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import inspect
import types
from typing import Any

from tapec.errors import UndefinedName, UnsupportedFunction, UnsupportedSyntax
from tapec.frontend.evaluator.class_methods import OPERATORS
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import (
    NONE,
    Dct,
    Instance,
    Items,
    Lst,
    Static,
    Tup,
    Value,
    describe,
    known_text,
    number,
)
from tapec.frontend.structures import jitclasses, numba_conversions
from tapec.frontend.structures.argument_objects import of_class
from tapec.frontend.structures.constant_containers import refuse_change
from tapec.frontend.structures.dicts import cell_value

_ABSENT = object()
# classes whose objects hold nothing but what their methods set
_METACLASSES = (type, abc.ABCMeta)
# what Python runs for each attribute that is read, set or deleted
_HOOKS = ("__getattribute__", "__getattr__")
_HEAP_TYPE = 1 << 9
_SIGN_OF = {left: sign for sign, (left, _) in OPERATORS.items()}


def construct(ev: Evaluator, cls: Any, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    """`cls(...)` of a class with source; None for other classes."""
    if jitclasses.is_class(cls):
        cls = jitclasses.plain_class(cls)
    elif type(cls) not in _METACLASSES or not cls.__flags__ & _HEAP_TYPE or issubclass(cls, BaseException):
        return None
    initialise, new = (inspect.getattr_static(cls, name) for name in ("__init__", "__new__"))
    if new is not object.__dict__["__new__"] or (cls.__base__ is not object and not _is_plain(cls)):
        return None
    for name in _HOOKS:
        if isinstance(inspect.getattr_static(cls, name, None), types.FunctionType):
            message = f"cannot make an object of `{cls.__qualname__}`, whose class defines `{name}`"
            ev.fail(UnsupportedFunction, message, node, hint=ev.or_by_a_tape())
    made = Instance(cls, {}, ev.block)
    ev.heap[made.keys] = Items(())
    if dataclasses.is_dataclass(cls) and _is_generated(initialise):
        for name, value in dataclass_values(ev, cls, args, kwargs, node).items():
            _put(ev, made, name, value, node)
        if hasattr(cls, "__post_init__"):
            ev.apply(attribute(ev, made, "__post_init__", node), [], {}, node)
    elif isinstance(initialise, types.FunctionType):
        ev.reads[cls, "__init__"] = initialise
        ev.call_object(initialise, [made, *args], kwargs, node)
    elif initialise is not object.__init__ or args or kwargs:
        return None
    return made


def _is_plain(cls: type) -> bool:
    """Whether an object of a class is nothing but its attributes: no list, number or exception."""
    return all(base is object or base.__flags__ & _HEAP_TYPE for base in cls.__mro__)


def _is_generated(function: Any) -> bool:
    return isinstance(function, types.FunctionType) and function.__code__.co_filename == "<string>"


def dataclass_values(ev: Evaluator, cls: Any, args: Args, kwargs: Kwargs, node: Any) -> dict[str, Value]:
    """What the generated `__init__` of a dataclass sets."""
    fields = [field for field in dataclasses.fields(cls) if field.init]
    given = dict(zip([field.name for field in fields if not field.kw_only], args, strict=False)) | kwargs
    if len(given) != len(args) + len(kwargs) or not given.keys() <= {field.name for field in fields}:
        ev.fail(UnsupportedFunction, f"wrong arguments for `{cls.__name__}`", node)
    found: dict[str, Value] = {}
    for field in dataclasses.fields(cls):
        if field.name in given:
            value = given[field.name]
        elif field.default_factory is not dataclasses.MISSING:
            value = ev.call_object(field.default_factory, [], {}, node)
        elif field.default is not dataclasses.MISSING:
            value = ev.wrap(field.default, node, ("attribute", cls, field.name))
        elif not field.init:
            continue
        else:
            ev.fail(UnsupportedFunction, f"`{cls.__name__}` needs a value for `{field.name}`", node)
        found[field.name] = ev.materialise(value)
    return found


def attribute(ev: Evaluator, owner: Instance, name: str, node: Any) -> Value:
    """`owner.name`: a property of its class, what the object holds, or a method, as Python looks them up."""
    cls = owner.cls
    if name == "__class__":
        return Static(cls)
    if name == "__dict__":
        return held(ev, owner, node)
    found = inspect.getattr_static(cls, name, _ABSENT)
    described = hasattr(type(found), "__set__") and not isinstance(found, types.MemberDescriptorType)
    cell = owner.cells.get(name)
    if cell is not None and cell in ev.heap and not described:
        return cell_value(ev, cell, name, node)
    if found is _ABSENT or isinstance(found, types.MemberDescriptorType):
        ev.lacks(f"an object of {cls.__qualname__}", name, node)
    made = of_class(ev, owner, cls, found, name, node)
    if isinstance(found, functools.cached_property):
        made = ev.materialise(made)
        _put(ev, owner, name, made, node)
    return made


def store(ev: Evaluator, owner: Value, name: str, value: Value, node: Any, plainly: bool = False) -> None:
    """`owner.name = value`; `plainly` as `object.__setattr__` does it."""
    if not isinstance(owner, Instance):
        reason = f"{describe(owner)} was not made in the function that is differentiated"
        hint = ev.or_by_a_tape("keep it in a variable")
        ev.fail(UnsupportedSyntax, "cannot assign to an attribute", node, reason=reason, hint=hint)
    found = inspect.getattr_static(owner.cls, name, None)
    if isinstance(found, property) and found.fset is not None:
        ev.reads[owner.cls, name] = getattr(owner.cls, name)
        ev.call_object(found.fset, [owner, value], {}, node)
        return
    own = isinstance(inspect.getattr_static(owner.cls, "__setattr__"), types.FunctionType) and not plainly
    if own or (hasattr(type(found), "__set__") and not isinstance(found, types.MemberDescriptorType)):
        code = f"`{owner.cls.__qualname__}.__setattr__`" if own else f"the class attribute `{name}`"
        message = f"setting `{name}` runs code of {code}"
        ev.fail(UnsupportedSyntax, message, node, hint="set plain attributes, or properties with a setter")
    _put(ev, owner, name, value, node)


def _put(ev: Evaluator, owner: Instance, name: str, value: Value, node: Any) -> None:
    fields = jitclasses.fields_of(owner.cls)
    if fields is not None:
        value = _as_declared(ev, owner, fields, name, value, node)
    refuse_change(ev, owner.keys, node)
    cell = owner.cells.get(name)
    if cell is None or cell not in ev.heap:
        if ev.block is not owner.home:
            hint = "give it a value before, where the object is made"
            ev.fail(UnsupportedSyntax, f"the attribute `{name}` is set inside a branch or loop only", node, hint=hint)
        cell = owner.cells[name] = Lst(name)
        keys = ev.heap[owner.keys]
        assert isinstance(keys, Items)
        ev.heap[owner.keys] = Items((*keys.values, Static(name)))
    ev.heap[cell] = Items((ev.materialise(value),))


def _as_declared(ev: Evaluator, owner: Instance, fields: Any, name: str, value: Value, node: Any) -> Value:
    """What a field of a jitclass holds, which has the type that the class says."""
    title = owner.cls.__qualname__
    if name not in fields:
        ev.fail(UndefinedName, f"an object of the jitclass {title} has no attribute `{name}`", node)
    try:
        return numba_conversions.converted(ev, ev.materialise(value), fields[name], node)
    except numba_conversions.Unconvertible:
        message = f"the attribute `{name}` of the jitclass {title} is {fields[name]}, and cannot be {describe(value)}"
        ev.fail(UnsupportedFunction, message, node, hint="of fields, numbers, arrays and tuples of those are supported")


def held(ev: Evaluator, owner: Value, node: Any) -> Value:
    """`vars(owner)`: the dict of what an object holds; what is set in it is set in the object."""
    if not isinstance(owner, Instance) or not owner.cls.__dictoffset__ or jitclasses.fields_of(owner.cls) is not None:
        hint = "name its attributes, as in `{'a': self.a}`"
        ev.fail(UnsupportedFunction, f"the `__dict__` of {describe(owner)} is not known", node, hint=hint)
    return Dct(owner.keys, owner.cells, owner.home)


def operator(ev: Evaluator, name: str, args: list[Value], node: Any) -> Value | None:
    """What an operator, or a method such as `__len__`, gives; None if no class of the user's defines it.

    name  the operator's sign, or the method's name; `+=` for an assignment in place
    """
    if ev.live is not None:
        return ev.live.operator(name, args, node)
    if not any(isinstance(arg, Instance) for arg in args):
        return None
    if name.endswith("=") and name not in OPERATORS:
        return _method(ev, f"__i{OPERATORS[name[:-1]][0][2:]}", args, node)
    for method, one in zip(OPERATORS.get(name, (name,)), (args, args[::-1]), strict=False):
        if (found := _method(ev, method, one, node)) is not None:
            return found
    if name == "!=" and (same := operator(ev, "==", args, node)) is not None:
        return ev.op("not", ev.truth(same, node))
    if name in ("==", "!="):
        # without an `__eq__` an object equals itself alone
        return number((args[0] is args[1]) == (name == "=="))
    return None


def _method(ev: Evaluator, name: str, args: list[Value], node: Any) -> Value | None:
    owner = args[0]
    if not isinstance(owner, Instance):
        return None
    function = inspect.getattr_static(owner.cls, name, None)
    if not isinstance(function, types.FunctionType):
        return None
    ev.reads[owner.cls, name] = function
    if _is_generated(function):
        return _of_fields(ev, owner, name, args[1], node)
    result: Value = ev.call_object(function, args, {}, node)
    return None if isinstance(result, Static) and result.obj is NotImplemented else result


def _of_fields(ev: Evaluator, owner: Instance, name: str, other: Value, node: Any) -> Value:
    """A comparison that a dataclass has been given."""
    if not isinstance(other, Instance) or other.cls is not owner.cls:
        message = f"cannot compare an object of the dataclass {owner.cls.__qualname__} with {describe(other)}"
        ev.fail(UnsupportedFunction, message, node, hint="compare the fields")
    names = [field.name for field in dataclasses.fields(owner.cls) if field.compare]
    first, second = (Tup(tuple(attribute(ev, side, one, node) for one in names)) for side in (owner, other))
    return ev.compare(_SIGN_OF[name], first, second, node)


def _vars(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    if len(args) != 1:
        ev.fail(UnsupportedFunction, "`vars()` without an object", node, hint="name what is needed")
    return held(ev, args[0], node)


def _set(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return _set_attribute(ev, args, node, plainly=False)


def _set_plainly(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return _set_attribute(ev, args, node, plainly=True)


def _set_attribute(ev: Evaluator, args: Args, node: Any, plainly: bool) -> Value:
    owner, name, value = args
    attr = known_text(name)
    if attr is None:
        ev.fail(UnsupportedSyntax, f"the name of an attribute is {describe(name)}, which only the run knows", node)
    store(ev, owner, attr, value, node, plainly)
    return NONE


SPECIAL: dict[Any, Any] = {vars: _vars, setattr: _set, object.__setattr__: _set_plainly}
