"""Operators and other special methods that classes of the user's define."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from tapec.errors import UsageError
from tapec.frontend.evaluator.class_methods import OPERATORS
from tapec.frontend.evaluator.values import Instance, Static, Value
from tapec.tape.objects.class_lookup import class_of, custom
from tapec.tape.objects.dataclass_objects import equal
from tapec.tape.objects.variable_versions import VariablePair, VariableSym

if TYPE_CHECKING:
    from tapec.tape.objects.user_objects import Objects

def operator(objects: Objects, name: str, args: list[Value], node: Any) -> Value | None:
    """What an operator, or a method such as `__len__`, gives; None if no class defines it.

    name  the operator's sign, or the method's name; `+=` for an assignment in place
    """
    in_place = name.endswith("=") and name not in OPERATORS
    if in_place and isinstance(args[0], VariableSym | VariablePair):
        message, hint = "a variable is changed in place", "use assign, assign_add or assign_sub"
        objects.ev.fails(TypeError, message, node, hint, UsageError)
    if not any(isinstance(arg, Static | Instance) for arg in args):
        return None
    if in_place:
        return _method(objects, f"__i{OPERATORS[name[:-1]][0][2:]}", args, node)
    for method, one in zip(OPERATORS.get(name, (name,)), (args, args[::-1]), strict=False):
        found = _method(objects, method, one, node)
        if found is not None:
            return found
    if name == "!=" and (same := operator(objects, "==", args, node)) is not None:
        return objects.ev.op("not", objects.ev.truth(same, node))
    return None


def _method(objects: Objects, name: str, args: list[Value], node: Any) -> Value | None:
    owner = args[0]
    if not isinstance(owner, Static | Instance):
        return None
    cls = class_of(owner)
    function = custom(cls, name)
    if function is None:
        return None
    objects.ev.wrap(function, node, ("attribute", cls, name))
    generated = isinstance(function, types.FunctionType) and function.__code__.co_filename == "<string>"
    if name == "__eq__" and generated:
        return equal(objects, owner, args[1], node)
    result: Value = objects.ev.call_object(function, args, {}, node)
    return None if isinstance(result, Static) and result.obj is NotImplemented else result
