"""Numbers that may be None when the program runs, gradients of what only some ways connect; and what it alone knows."""

from __future__ import annotations

from typing import Any

from tapec.errors import TypeMismatch
from tapec.frontend.evaluator import Evaluator
from tapec.frontend.open_blocks import OpenIf
from tapec.frontend.values import MaybeNone, Sym, Unseen, Value
from tapec.syntax.types import BOOL


def present(ev: Evaluator, value: Value) -> Value:
    """`value` where a number or array is needed: what may be None raises, as arithmetic with None does."""
    if isinstance(value, Unseen):
        ev.fail(TypeMismatch, f"`{value.name}` cannot be used here", reason=value.reason)
    if not isinstance(value, MaybeNone):
        return value
    missing = ev.op("not", Sym(value.present, BOOL))
    side: list[Any] = []
    outer, ev.block = ev.block, side
    ev.raise_("TypeError", "a gradient that is None here is used as a number")
    ev.block = outer
    ev.emit(OpenIf(missing.atom, side, [], ev.span))
    return value.value


def all_present(ev: Evaluator, values: list[Value]) -> list[Value]:
    """Arguments of a function that takes numbers and arrays."""
    return [present(ev, value) for value in values]
