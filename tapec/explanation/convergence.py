"""Loops that seem to run until nothing changes any more: `tapec.converged` keeps none of their iterations.

Such a loop is left where a number falls below a bound, and that number is an absolute value or a norm of what the
iteration has computed.  A loop over time steps, `while t < end`, has a bound, but no such number.
"""

from __future__ import annotations

from collections.abc import Iterator

from tapec.errors import Span
from tapec.syntax.core import Assign, Atom, Block, Break, Expr, For, Function, If, Loop, Name, Op, Store, walk

_BOUNDS = frozenset({"<", "<=", ">", ">="})
# by the last part of the name
_SIZES = frozenset({"abs", "absolute", "fabs", "sqrt"})


def convergence_loops(function: Function) -> Iterator[Span]:
    """The places of such loops.

    >>> from tapec.frontend.lower import lower
    >>> from tapec.syntax.types import Scalar
    >>> def root(a):
    ...     x = a
    ...     while abs(x * x - a) > 1e-10:
    ...         x = 0.5 * (x + a / x)
    ...     return x
    >>> [span.text.strip() for span in convergence_loops(lower(root, (Scalar("float64"),)).function)]
    ['while abs(x * x - a) > 1e-10:']
    """
    for loop in walk(function.body):
        if not isinstance(loop, For | Loop) or not isinstance(loop.span, Span):
            continue
        if any(_measures(test, loop.body) for test in _tests(loop.body)):
            yield loop.span


def _tests(block: Block) -> Iterator[Atom]:
    """The tests of the ways out of a loop that has this body."""
    for stmt in block:
        if isinstance(stmt, If):
            if any(isinstance(last, Break) for side in (stmt.body, stmt.orelse) for last in side):
                yield stmt.test
            yield from _tests(stmt.body)
            yield from _tests(stmt.orelse)


def _measures(test: Atom, body: Block) -> bool:
    """Whether a test compares with a bound what is an absolute value or a norm of the iteration."""
    made: dict[str, list[Expr]] = {}
    for stmt in walk(body):
        match stmt:
            case Assign(target=target, value=value):
                made.setdefault(target, []).append(value)
            case Store(array=array, value=value):
                made.setdefault(array, []).append(value)
    pending: list[Expr] = [test]
    seen, found = set[str](), set[str]()
    while pending:
        expr = pending.pop()
        if isinstance(expr, Name) and expr.id not in seen:
            seen.add(expr.id)
            pending += made.get(expr.id, [])
        elif isinstance(expr, Op):
            found.add(expr.fn.rpartition(".")[2])
            pending += expr.args
    return not found.isdisjoint(_BOUNDS) and not found.isdisjoint(_SIZES)
