"""Statements that draw random numbers: run again, they would draw others."""

from __future__ import annotations

from tapec.syntax.core import Assign, Call, Op, Stmt


def drawn(stmt: Stmt) -> str | None:
    """The function of `np.random` that a statement calls, if it calls one."""
    name = stmt.function if isinstance(stmt, Call) else ""
    if isinstance(stmt, Assign) and isinstance(stmt.value, Op):
        name = stmt.value.fn
    return name.partition(";")[0] if name.startswith("np.random.") else None
