"""Remark which innermost loops can run on vectors, and what keeps the others from it.

LLVM vectorises a loop if its iterations can run in any order and nothing ends it early.  Whether it does also
depends on what it costs on the processor; this is what the program allows.
"""

from __future__ import annotations

from collections.abc import Iterator

from tapec.analyses.iterations import Iterations
from tapec.errors import Span
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Block,
    Break,
    Call,
    For,
    Function,
    Loop,
    Note,
    Op,
    Print,
    Push,
    Raise,
    Stmt,
    blocks,
    walk,
)

# a sentence, and what it is about
Obstacle = tuple[str, *tuple[Span | Named | None, ...]]


def remark_vectors(function: Function) -> None:
    """Tell of each innermost loop of a generated function; see the module."""
    iterations = Iterations(function)
    for loop, sweep in innermost(function.body):
        why = obstacle(loop, iterations)
        if why is None:
            remark(loop.span, "vector_report", f"{sweep}can run on vectors")
        else:
            remark(loop.span, "vector_report", f"{sweep}may not run on vectors", *why)


def innermost(block: Block, sweep: str = "") -> Iterator[tuple[For | Loop, str]]:
    """The loops without loops inside, and the sweep that they stand in."""
    for stmt in block:
        if isinstance(stmt, Note):
            sweep = f"{stmt.text}: "
        if isinstance(stmt, For | Loop) and not any(isinstance(s, For | Loop) for s in walk(stmt.body)):
            yield stmt, sweep
        else:
            for inner in blocks(stmt):
                yield from innermost(inner, sweep)


def obstacle(loop: For | Loop, iterations: Iterations) -> Obstacle | None:
    """What keeps a loop from running on vectors, and what that is about; None if nothing does."""
    if isinstance(loop, Loop):
        return ("how many iterations it makes is not known before they have run",)
    for stmt in walk(loop.body):
        if isinstance(stmt, Break | Raise):
            return "{0} may end it", stmt.span
        if isinstance(stmt, Push | Print | Call) or _pops(stmt):
            return "{0} keeps an order: a list, a call or a print", stmt.span or loop.span
        if isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn.startswith("np.random"):
            return "{0} draws random numbers, one after another", stmt.span
    carried = iterations.carried_variable(loop)
    if carried is not None:
        return "each iteration needs `{0}` of the one before", Named(carried, iterations.scopes.line_of(carried))
    meeting = iterations.conflict(loop)
    if meeting is not None:
        why = "it is not proved that {0} touches no element of `{1}` that another iteration touches"
        return why, meeting.stmt.span, Named(meeting.array, iterations.scopes.line_of(meeting.array))
    return None


def _pops(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "pop"
