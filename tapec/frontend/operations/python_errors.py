"""Exceptions of Python's: those that the program raises when it runs, and arithmetic inside `try`.

Arithmetic of Python's own numbers inside `try` raises while the program is lowered.  NumPy's numbers and arrays give
infinity or nan, so do programs that are compiled.
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


def check(ev: Evaluator, function: Callable[..., Any], operands: Sequence[Value]) -> None:
    """Raise where a function of Python's numbers does, if the run knows them and the program may catch it."""
    if not ev.trying or not ev.deciding:
        return
    assert ev.decider is not None
    numbers = [ev.decider.python_number(one) if isinstance(one, Sym) else None for one in operands]
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
