"""Divisions by zero in code that Numba compiles: they raise, or give a number, as the decorator's error model says.

In Python code a division of floats gives infinity or nan, as NumPy has it; integers are `integer_checks.py`.
"""

from __future__ import annotations

from typing import Any

from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Value, is_array, is_complex, is_integer, is_scalar, number, static_int
from tapec.frontend.operations import integer_checks
from tapec.frontend.source.numba_decorators import NUMPY


def check(ev: Evaluator, fn: str, left: Value, right: Value, node: Any) -> None:
    """Raise, when the program runs, where the code that is being lowered would for an operation of two numbers."""
    flags = None if ev.frame.library else ev.frame.flags
    divides = fn in ("/", "//", "%")
    whole = is_integer(left) and is_integer(right)
    if flags is None or (whole and (not divides or (fn != "/" and flags.error_model != NUMPY))):
        integer_checks.check(ev, fn, left, right, node)
    elif not all(_is_number(one) for one in (left, right)):
        return
    elif fn == "/" and (is_complex(left) or is_complex(right)):
        # whatever the error model
        divisor = ev.truth(right, node)
        integer_checks.refuse(ev, "not", divisor, ZeroDivisionError, "complex division by zero")
    elif divides and flags.error_model != NUMPY:
        if is_integer(right) and integer_checks.at_least(ev, ev.sym(right), 1):
            return
        message = "modulo by zero" if fn == "%" else "division by zero"
        integer_checks.refuse(ev, "==", ev.decided(ev.sym(right), node), ZeroDivisionError, message)
    elif fn == "**" and is_integer(right):
        _check_power(ev, left, right, node)


def _is_number(value: Value) -> bool:
    return is_scalar(value) or (is_complex(value) and not is_array(value) and not getattr(value, "is_array", False))


def _check_power(ev: Evaluator, base: Value, exponent: Value, node: Any) -> None:
    """Zero to a negative integer, which Numba computes as a division, whatever the error model."""
    known = static_int(exponent)
    if is_complex(base) or (known is not None and known >= 0):
        return
    zero = ev.op("==", ev.decided(ev.sym(base), node), number(0.0))
    if known is None:
        zero = ev.op("and", ev.op("<", ev.decided(ev.sym(exponent), node), number(0)), zero)
    integer_checks.refuse(ev, "", zero, ZeroDivisionError, "division by zero")
