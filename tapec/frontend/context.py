"""`with` statements: over tapes, which say themselves how they are lowered, and over objects of a running program."""

from __future__ import annotations

from typing import Any

import gast

from tapec.errors import UnsupportedSyntax
from tapec.frontend.evaluator import Evaluator, Raised
from tapec.frontend.values import NONE, Static, Sym, Value, describe


def with_(ev: Evaluator, node: gast.With) -> None:
    entered: list[tuple[Value, Any]] = []
    for item in node.items:
        value: Value = ev.expr(item.context_expr)
        result = _enter(ev, value, item.context_expr)
        entered.append((value, item.context_expr))
        if item.optional_vars is not None:
            ev.bind_target(item.optional_vars, result, node)
    try:
        ev.statements(node.body)
    except Raised as error:
        swallowed = False
        for value, _ in reversed(entered):
            swallowed = _exit(ev, value, None if swallowed else error, node) or swallowed
        if not swallowed:
            raise
        return
    dead, broke, ev.dead, ev.broke = ev.dead, ev.broke, ev.dead and not ev.deciding, False
    for value, _ in reversed(entered):
        _exit(ev, value, None, node)
    ev.dead, ev.broke = ev.dead or dead, ev.broke or broke


def _enter(ev: Evaluator, value: Value, node: Any) -> Value:
    """Enter a context; what `as` binds."""
    manager: Any = value.obj if isinstance(value, Static) else None
    if hasattr(manager, "__tapec_enter__"):
        manager.__tapec_enter__(ev, node)
        return value
    # an object may keep exceptions to itself: which ones are raised must be known
    result = None if ev.live is None or not ev.deciding else ev.live.operator("__enter__", [value], node)
    if result is None:
        ev.fail(
            UnsupportedSyntax,
            f"cannot differentiate a `with` over {describe(value)}",
            node,
            hint="tapes are the contexts that can be differentiated",
        )
    return result


def _exit(ev: Evaluator, value: Value, error: Raised | None, node: Any) -> bool:
    """Leave a context; whether it keeps an exception to itself."""
    manager: Any = value.obj if isinstance(value, Static) else None
    if hasattr(manager, "__tapec_exit__"):
        manager.__tapec_exit__(ev, node)
        return False
    assert ev.live is not None
    kind: Value = NONE if error is None else Static(error.cls)
    result = ev.live.operator("__exit__", [value, kind, NONE, NONE], node)
    if error is None or result is None:
        return False
    kept = ev.known(ev.truth(result, node), node)
    return isinstance(kept, Sym) and kept.constant is True
