"""F-strings: known text, or text that the run makes of numbers (`runtime_text.py`)."""

from __future__ import annotations

from typing import Any

import gast

from tapec.errors import TapecError
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import (
    Static,
    Sym,
    Template,
    Value,
    known_text,
)
from tapec.frontend.operations import runtime_text


def joined_string(ev: Evaluator, node: Any) -> Value:
    """The text, if all of it is known; else a template, with what the run would fill in as it was written."""
    parts: list[str] = []
    for part in node.values:
        if isinstance(part, gast.Constant):
            parts.append(str(part.value))
            continue
        shown = _formatted(ev, part)
        if shown is not None:
            parts.append(shown)
            continue
        span = ev.where(part.value)
        inside = getattr(part.value, "id", None) or (span.text[span.column : span.end_column] if span else "...")
        parts.append(_of_run(ev, part, "{" + inside + "}"))
    return Static(runtime_text.joined(parts))


def _of_run(ev: Evaluator, part: Any, shown: str) -> str:
    """The text of a part of an f-string; `shown` stands for what only the run knows."""
    spec = "" if part.format_spec is None else known_text(joined_string(ev, part.format_spec))
    if spec is None:
        return Template(shown)
    if ev.live is not None:
        return runtime_text.of_value(ev, ev.expr(part.value), shown, spec, part.conversion)
    state, count = ev.snapshot(), len(ev.block)
    try:
        return runtime_text.of_value(ev, ev.expr(part.value), shown, spec, part.conversion)
    except TapecError:
        # it may be no more than a message
        ev.restore(state)
        del ev.block[count:]
        return Template(shown)


def _formatted(ev: Evaluator, part: Any) -> str | None:
    """The text of a part of an f-string, if it is known."""
    if ev.live is not None:
        value: Value | None = ev.expr(part.value)
    else:
        ident = getattr(part.value, "id", "")
        value = ev.frame.env.get(ident) or ev.frame.names(ident)
    obj = value.obj if isinstance(value, Static) else None
    if ev.live is not None and isinstance(value, Sym):
        obj = value.constant
    if not isinstance(obj, str | int) or isinstance(obj, Template):
        return None
    if part.conversion == -1 and not part.format_spec:
        return str(obj)
    spec = "" if part.format_spec is None else joined_string(ev, part.format_spec)
    text = spec.obj if isinstance(spec, Static) else spec
    if ev.live is None or not isinstance(text, str) or isinstance(text, Template):
        return None
    return format(runtime_text.with_conversion(obj, part.conversion), text)


FORMATTED: dict[type, Any] = {gast.JoinedStr: joined_string}
