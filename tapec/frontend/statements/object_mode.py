"""`with objmode(y="f8"):`, in compiled code: the body is Python, and what it hands on is of the types that are said."""

from __future__ import annotations

from typing import Any

import numba
from numba.core import sigutils
from numba.core import types as nt

from tapec.errors import TypeMismatch, UndefinedName
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import Static, Value, describe, known_text
from tapec.frontend.source.numba_decorators import CompilerFlags
from tapec.frontend.structures import numba_conversions


class ObjectMode:
    """A context whose body is lowered as Python's; `handed_on` are the types of the variables that it sets."""

    def __init__(self, handed_on: dict[str, nt.Type]) -> None:
        self.handed_on = handed_on
        self.outer: list[CompilerFlags | None] = []

    def __tapec_enter__(self, ev: Evaluator, node: Any) -> None:
        self.outer.append(ev.frame.flags)
        ev.frame.flags = None

    def __tapec_exit__(self, ev: Evaluator, node: Any) -> None:
        ev.frame.flags = self.outer.pop()
        if ev.dead:
            return
        for name, kind in self.handed_on.items():
            value = ev.frame.env.get(name)
            if value is None:
                ev.fail(UndefinedName, f"`{name}` is not set, and objmode says that it is {kind}", node)
            try:
                ev.frame.env[name] = numba_conversions.converted(ev, ev.materialise(value), kind, node)
            except numba_conversions.Unconvertible:
                ev.fail(TypeMismatch, f"`{name}` is {describe(value)}, and objmode says that it is {kind}", node)


def object_mode(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`objmode(name=type, ...)`."""
    return Static(ObjectMode({name: _type(ev, name, value, node) for name, value in kwargs.items()}))


def _type(ev: Evaluator, name: str, value: Value, node: Any) -> nt.Type:
    text = known_text(value)
    if text is not None:
        try:
            (known, *_), _ = sigutils.normalize_signature(f"({text},)")
        except (TypeError, NameError, ValueError, SyntaxError, AttributeError):
            ev.fail(TypeMismatch, f"{text!r}, the type of `{name}`, is not one of Numba's", node, hint='write "f8[:]"')
        return known
    if not isinstance(value, Static) or not isinstance(value.obj, nt.Type):
        ev.fail(TypeMismatch, f"the type of `{name}` is {describe(value)}", node, hint='write "f8[:]"')
    return value.obj


SPECIAL: dict[Any, Any] = {numba.objmode: object_mode}
