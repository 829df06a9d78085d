"""Exceptions of Python's: those that the program raises when it runs, and arithmetic of numbers inside `try`.

What raises inside `try` raises while the program is lowered.  Operators raise for Python's own numbers; those of NumPy
give infinity or nan.  Functions of `math` raise for any.  Programs that are compiled raise for none, but for what may
be caught: there Python would go on with a handler, which the program does not have, so it raises for all.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import Raised
from tapec.frontend.evaluator.unfinished_blocks import OpenIf
from tapec.frontend.evaluator.values import Complex, Sym, Value, number
from tapec.frontend.operations.allocation import dim
from tapec.syntax.types import Scalar

# what an error says for which the user's program has a handler
CAUGHT = "raises inside `try`, and the derivative does not follow what handlers do then"

# the operators that raise for some numbers
OPERATORS: dict[str, Callable[..., Any]] = {
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


def check_operator(ev: Evaluator, fn: str, operands: Sequence[Value]) -> None:
    """Raise where an operator does for Python's numbers, if the run knows them and the program may catch it."""
    if fn in OPERATORS and _must_not_be_missed(ev):
        _test_operator(ev, fn, operands)
    elif fn in OPERATORS and _may_be_caught(ev):
        numbers = _numbers(ev, operands)
        if all(type(one) in (bool, int, float) for one in numbers):
            _raise(ev, OPERATORS[fn], operands, numbers)


def check_call(ev: Evaluator, function: Callable[..., Any], operands: Sequence[Value]) -> None:
    """Raise where a function of `math` does, if the run knows its arguments and the program may catch it."""
    if _may_be_caught(ev):
        _raise(ev, function, operands, _numbers(ev, operands))


def check_result(ev: Evaluator, what: str, result: Value) -> None:
    """Raise when the program runs, where a function gives nan or infinity and what it raises may be caught."""
    if not (_must_not_be_missed(ev) and isinstance(result, Sym) and isinstance(result.type, Scalar)):
        return
    if not result.type.is_float:
        return
    finite = ev.op("==", ev.op("-", result, result), number(0.0))
    raise_if(ev, ev.op("not", finite), "ArithmeticError", f"`{what}` {CAUGHT}")


def check_places(ev: Evaluator, owner: Any, places: Sequence[Sym]) -> None:
    """Raise when the program runs, where a subscript that may be caught there is out of range."""
    if not _must_not_be_missed(ev):
        return
    for axis, place in enumerate(places):
        extent = dim(ev, owner, axis)
        wrong = ev.op("or", ev.op(">=", place, extent), ev.op("<", place, ev.op("neg", extent)))
        raise_if(ev, wrong, "IndexError", f"a subscript {CAUGHT}")


def check_finite(ev: Evaluator, operand: Value) -> None:
    """Raise when the program runs, where a number that becomes an integer is nan or infinite, if it may be caught."""
    check_result(ev, "int", operand)


def _test_operator(ev: Evaluator, fn: str, operands: Sequence[Value]) -> None:
    """Raise when the program runs, where the divisor of numbers is zero; a power is told by its result."""
    divisor = operands[1]
    parts = (divisor.re, divisor.im) if isinstance(divisor, Complex) and not divisor.is_array else (divisor,)
    numbers = [one for one in parts if isinstance(one, Sym) and isinstance(one.type, Scalar)]
    if fn != "**" and len(numbers) == len(parts):
        wrong = functools.reduce(lambda a, b: ev.op("and", a, b), [ev.op("==", one, number(0)) for one in numbers])
        raise_if(ev, wrong, "ZeroDivisionError", f"`{fn}` {CAUGHT}")


def _must_not_be_missed(ev: Evaluator) -> bool:
    """Whether a program that decides at run time would have to go on with a handler of Python code."""
    return bool(ev.trying and not ev.deciding and ev.frame.jitted is None and not ev.frame.library)


def _may_be_caught(ev: Evaluator) -> bool:
    return bool(ev.trying and ev.deciding)


def _numbers(ev: Evaluator, operands: Sequence[Value]) -> list[Any]:
    assert ev.decider is not None
    return [ev.decider.number(one) if isinstance(one, Sym) else None for one in operands]


def _raise(ev: Evaluator, function: Callable[..., Any], operands: Sequence[Value], numbers: Sequence[Any]) -> None:
    if any(one is None for one in numbers):
        return
    try:
        function(*numbers)
    except (ArithmeticError, ValueError) as error:
        for one in operands:
            ev.decided(ev.sym(one))
        raise Raised(type(error), str(error)) from None


def raise_if(ev: Evaluator, wrong: Sym, exception: str, message: str) -> None:
    """Raise an exception when the program runs, if `wrong` holds then."""
    if wrong.constant is False:
        return
    side: list[Any] = []
    outer, ev.block = ev.block, side
    ev.raise_(exception, message)
    ev.block = outer
    ev.emit(OpenIf(wrong.atom, side, [], ev.span))
