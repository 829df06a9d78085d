"""Which integers are never below zero where loops count in steps that only the run knows.

    for i in range(0, n, step)                                    values from 0 on, or none
    for i in range((max(0, -(-n // step)) - 1) * step, -step, -step)      the same values, backwards

The second form is what reverses the first.  With n at least 0 neither has a value below zero, whatever the sign
of the step.
"""

from __future__ import annotations

from tapec.analyses.trips import Trips
from tapec.syntax.core import Atom, Const, Expr, For, Name, Op

_DEPTH = 8


def never_negative(trips: Trips, number: Atom, depth: int = _DEPTH) -> bool:
    """Whether an integer is an extent, a number or a loop's variable that is not below zero, or a sum of such."""
    if trips.never_negative(number):
        return True
    if not isinstance(number, Name) or depth == 0:
        return False
    loop = trips.dependence.loops.get(number.id)
    if loop is not None:
        return _counts_up(trips, loop, depth) or _counts_down(trips, loop, depth)
    made = trips.definition(number)
    if not isinstance(made, Op) or made.fn != "+":
        return False
    return all(isinstance(arg, Name | Const) and never_negative(trips, arg, depth - 1) for arg in made.args)


def _counts_up(trips: Trips, loop: For, depth: int) -> bool:
    return loop.start == Const(0) and never_negative(trips, loop.stop, depth - 1)


def _counts_down(trips: Trips, loop: For, depth: int) -> bool:
    """Whether a loop is the reversal of one that begins at 0."""
    if loop.stop != loop.step and _defined(trips, loop.stop) != _defined(trips, loop.step):
        return False
    match _defined(trips, loop.stop), _defined(trips, loop.start):
        case Op(fn="neg", args=(step,)), Op(fn="*", args=(last, factor)) if factor == step:
            return _is_last_trip(trips, last, step, depth)
    return False


def _is_last_trip(trips: Trips, last: Expr, step: Expr, depth: int) -> bool:
    """Whether an expression is `max(0, -(-n // step)) - 1` with an `n` that is not below zero."""
    match _defined(trips, last):
        case Op(fn="-", args=(count, Const(value=1))):
            match _defined(trips, count):
                case Op(fn="max", args=(Const(value=0), rounded)):
                    return _is_quotient(trips, rounded, step, depth)
    return False


def _is_quotient(trips: Trips, rounded: Expr, step: Expr, depth: int) -> bool:
    match _defined(trips, rounded):
        case Op(fn="neg", args=(quotient,)):
            match _defined(trips, quotient):
                case Op(fn="//", args=(negative, divisor)) if divisor == step:
                    match _defined(trips, negative):
                        case Op(fn="neg", args=(Name() | Const() as n,)):
                            return never_negative(trips, n, depth - 1)
    return False


def _defined(trips: Trips, expr: Expr) -> Expr | None:
    """What computes an atom that is set once."""
    return trips.definition(expr) if isinstance(expr, Name | Const) else None
