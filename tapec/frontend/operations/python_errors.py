"""Exceptions of Python's: those that the program raises when it runs, and arithmetic of numbers inside `try`.

What raises inside `try` raises while the program is lowered.  Operators raise for Python's own numbers; those of NumPy
give infinity or nan.  Functions of `math` raise for any.  Programs that are compiled raise for none.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import Raised
from tapec.frontend.evaluator.unfinished_blocks import OpenIf
from tapec.frontend.evaluator.values import Sym, Value

# the operators that raise for some numbers
OPERATORS: dict[str, Callable[..., Any]] = {
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


def check_operator(ev: Evaluator, fn: str, operands: Sequence[Value]) -> None:
    """Raise where an operator does for Python's numbers, if the run knows them and the program may catch it."""
    if fn in OPERATORS and _may_be_caught(ev):
        numbers = _numbers(ev, operands)
        if all(type(one) in (bool, int, float) for one in numbers):
            _raise(ev, OPERATORS[fn], operands, numbers)


def check_call(ev: Evaluator, function: Callable[..., Any], operands: Sequence[Value]) -> None:
    """Raise where a function of `math` does, if the run knows its arguments and the program may catch it."""
    if _may_be_caught(ev):
        _raise(ev, function, operands, _numbers(ev, operands))


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
