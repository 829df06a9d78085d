"""Whether known objects are equal, by what their classes say in Python.

A method is lowered as any function is, so that what it reads is noted: a derivative that is asked for once that has
changed is another one.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from typing import Any

from tapec.frontend.evaluator.class_methods import special_method
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Static, Sym, Tup, Value, number
from tapec.frontend.operations.conditions import truth
from tapec.frontend.source.function_source import is_of_python, undecorated


def compares_itself(obj: Any) -> bool:
    """Whether the class of an object says in Python what it is equal to."""
    return isinstance(inspect.getattr_static(type(obj), "__eq__", None), types.FunctionType)


def objects_compared(ev: Evaluator, fn: str, left: Value, right: Value, node: Any) -> Value | None:
    """`left == right` or `left != right` by methods of their classes; None if those have none, or none that knows."""
    if ev.live is not None:
        # a tape has asked the classes by now
        return None
    pairs = [(left, right), (right, left)]
    if isinstance(left, Static) and isinstance(right, Static) and _is_derived(type(right.obj), type(left.obj)):
        # a derived class is asked first
        pairs.reverse()
    names = ("__eq__",) if fn == "==" else ("__ne__", "__eq__")
    asked = False
    for one, other in pairs:
        if not isinstance(one, Static):
            continue
        for name in names:
            method = special_method(ev, one.obj, name)
            if method is None:
                continue
            asked = True
            found = _answer(ev, method, one, other, node)
            if found is not None:
                return found if fn == "==" or name == "__ne__" else ev.op("not", truth(ev, found, node))
    # a number knows of no object that does not know of it
    return number(fn == "!=") if asked and any(isinstance(one, Sym) for one in (left, right)) else None


def _is_derived(cls: type, base: type) -> bool:
    return cls is not base and issubclass(cls, base)


def _answer(ev: Evaluator, method: Any, one: Static, other: Value, node: Any) -> Value | None:
    """What a method of the class of `one` answers; None if it does not know."""
    if (plain := undecorated(method)) is None:
        return None
    if plain.__code__.co_filename == "<string>" and dataclasses.is_dataclass(one.obj):
        if not isinstance(other, Static) or type(one.obj) is not type(other.obj):
            return None
        fields = [field.name for field in dataclasses.fields(one.obj) if field.compare]
        mine, theirs = (Tup(tuple(ev.get_attribute(side, field, node) for field in fields)) for side in (one, other))
        return ev.compare("==", mine, theirs, node)
    if is_of_python(plain.__code__.co_filename) and isinstance(other, Static):
        # such as that of paths, whose objects do not change
        answer = method(one.obj, other.obj)
        return None if answer is NotImplemented else number(bool(answer))
    result: Value = ev.call_object(method, [one, other], {}, node)
    return None if isinstance(result, Static) and result.obj is NotImplemented else result
