"""`nonlocal` and `global`: variables that a function shares with outer functions or its module."""

from __future__ import annotations

from functools import cache
from typing import Any

import gast

from tapec.errors import UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import Frame
from tapec.frontend.evaluator.values import Value
from tapec.frontend.iteration.generators import own_nodes


@cache
def outer_names(definition: Any) -> frozenset[str]:
    """The names that a function declares `nonlocal` or `global`."""
    declared = [node for node in own_nodes(definition) if isinstance(node, gast.Global | gast.Nonlocal)]
    return frozenset(name for node in declared for name in node.names)


def store_outer(ev: Evaluator, frame: Frame, ident: str, value: Value) -> None:
    """Assign a variable that `frame` shares with an outer function or the module."""
    outer = frame.parent
    while outer is not None:
        if ident in outer.env or ident in outer.local_names:
            outer.env[ident] = value
            return
        frame, outer = outer, outer.parent
    if ev.live is None or frame.function is None:
        ev.fail(UnsupportedSyntax, f"cannot assign to `{ident}` of an outer function here")
    ev.live.store_outer(frame.function, ident, value)


def declaration(ev: Evaluator, node: Any) -> None:
    """`nonlocal` and `global` were read when the function was called, and refused where it sets such a variable."""


DECLARATIONS: dict[type, Any] = {gast.Global: declaration, gast.Nonlocal: declaration}
