"""`tapec.checkpointed(range(n), slots=k)`: a loop whose reverse sweep keeps few snapshots."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.unfinished_blocks import OpenIf
from tapec.frontend.evaluator.values import Iteration, Value, describe, number
from tapec.syntax.core import Const, Raise
from tapec_runtime.checkpoint_schedule import TOO_FEW

_HINT = "write `for k in tapec.checkpointed(range(n), slots=20):`"


def checkpointed(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """The range itself, with the number of snapshots beside it."""
    given = dict(zip(("iterations", "slots"), args, strict=False)) | kwargs
    iterations = given["iterations"]
    if not isinstance(iterations, Iteration) or iterations.kind != "range":
        ev.fail(UnsupportedSyntax, f"cannot checkpoint {describe(iterations)}: a range is needed", node, hint=_HINT)
    slots = ev.scalar(given["slots"], node)
    if slots.type.is_float:
        ev.fail(TypeMismatch, "the number of slots must be an integer", node)
    too_few = ev.decided(ev.op("<", slots, number(1)))
    if too_few.constant is True:
        ev.fail(UnsupportedSyntax, TOO_FEW, node, hint=_HINT)
    if too_few.constant is None:
        ev.emit(OpenIf(too_few.atom, [Raise("ValueError", (Const(TOO_FEW),), ev.span)], [], ev.span))
    return replace(iterations, slots=slots.atom)
