"""`with` statements over objects that say themselves how they are lowered, such as tapes."""

from __future__ import annotations

from typing import Any

import gast

from tapec.errors import UnsupportedSyntax
from tapec.frontend.evaluator import Evaluator, Raised
from tapec.frontend.values import Static, Value, describe


def with_(ev: Evaluator, node: gast.With) -> None:
    entered: list[Any] = []
    for item in node.items:
        value: Value = ev.expr(item.context_expr)
        manager = value.obj if isinstance(value, Static) else None
        if not hasattr(manager, "__tapec_enter__"):
            ev.fail(
                UnsupportedSyntax,
                f"cannot differentiate a `with` over {describe(value)}",
                item.context_expr,
                hint="tapes are the contexts that can be differentiated",
            )
        manager.__tapec_enter__(ev, item.context_expr)  # type: ignore[union-attr]
        entered.append(manager)
        if item.optional_vars is not None:
            ev.bind_target(item.optional_vars, value, node)
    try:
        ev.statements(node.body)
    except Raised:
        for manager in reversed(entered):
            manager.__tapec_exit__(ev, node)
        raise
    for manager in reversed(entered):
        manager.__tapec_exit__(ev, node)
