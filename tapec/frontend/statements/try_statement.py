"""`try`, in a program whose decisions are known: which exceptions are raised is known then.

In other programs a `try` has been written as branches (`source/caught_exceptions.py`).  What else its body may raise
is raised by the derivative, and caught by nobody.
"""

from __future__ import annotations

from typing import Any

import gast

from tapec.errors import UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import Raised
from tapec.frontend.evaluator.values import Caught, Items, Lst, Static, Tup


def try_(ev: Evaluator, node: gast.Try) -> None:
    """`try`: which exceptions are raised is known; others end the block."""
    if not ev.deciding:
        if ev.live is not None:
            # a tape tries again, and decides
            ev.refuse(node)
        _body(ev, node)
        return
    frame, depth = ev.frame, len(ev.frames)
    pending: Raised | None = None
    try:
        ev.trying += 1
        try:
            ev.statements(node.body)
        finally:
            ev.trying -= 1
        if not ev.dead:
            ev.statements(node.orelse)
    except Raised as error:
        pending = error
    if pending is not None:
        del ev.frames[depth:]
        ev.frame = frame
        handler = _handler(ev, node, pending)
        if handler is not None:
            caught, pending = pending, None
            if handler.name is not None:
                name = getattr(handler.name, "id", handler.name)
                ev.frame.env[name] = Caught(f"it is the {caught.cls.__name__} that was raised", name, caught.cls)
            outer, ev.frame.caught = ev.frame.caught, caught
            try:
                ev.statements(handler.body)
                ev.frame.caught = outer
            except Raised as error:
                pending = error
                del ev.frames[depth:]
                ev.frame, frame.caught = frame, outer
    dead, broke, ev.dead, ev.broke = ev.dead, ev.broke, False, False
    ev.statements(node.finalbody)
    ev.dead, ev.broke = ev.dead or dead, ev.broke or broke
    if pending is not None:
        raise pending


def _body(ev: Evaluator, node: gast.Try) -> None:
    """The body of a `try` whose handlers have become branches."""
    if node.handlers or node.finalbody:
        reason = getattr(node, "stays", "")
        ev.fail(UnsupportedSyntax, "cannot differentiate this `try`", node, reason=reason, hint=ev.or_by_a_tape())
    ev.trying += 1
    try:
        ev.statements(node.body)
    finally:
        ev.trying -= 1


def _handler(ev: Evaluator, node: gast.Try, error: Raised) -> Any:
    for handler in node.handlers:
        if handler.type is None:
            return handler
        value = ev.expr(handler.type)
        if isinstance(value, Lst) and isinstance(contents := ev.heap[value], Items):
            value = Tup(contents.values)
        for one in value.items if isinstance(value, Tup) else (value,):
            if isinstance(one, Static) and isinstance(one.obj, type) and issubclass(error.cls, one.obj):
                return handler
    return None


TRY: dict[type, Any] = {gast.Try: try_}
