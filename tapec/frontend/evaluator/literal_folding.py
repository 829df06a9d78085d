"""Operations on numbers that need no statement, since what they give is known while lowering."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tapec.frontend.evaluator import numba_types
from tapec.frontend.evaluator.values import Sym, number
from tapec.syntax.core import Const
from tapec.syntax.types import FLOATS, Scalar, Type

_FOLD: dict[str, Callable[..., Any]] = {
    **{sign: function for sign, function in numba_types.OPERATORS.items() if sign not in ("<<", ">>")},
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "min": min,
    "max": max,
    "abs": abs,
}
_GROWING: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "**": operator.pow,
    "<<": operator.lshift,
    "neg": operator.neg,
    "abs": abs,
}


def folded(fn: str, syms: list[Sym], type_: Type) -> Sym | None:
    """The literal that an operation on literals gives, where Python and Numba agree on it."""
    if fn not in _FOLD or not all(isinstance(sym.atom, Const) for sym in syms) or is_too_large(fn, syms):
        return None
    try:
        result = _FOLD[fn](*(sym.constant for sym in syms))
    except (ArithmeticError, TypeError, ValueError):
        return None
    if isinstance(result, bool):
        expected = "bool"
    elif isinstance(result, int):
        expected = "int64"
    else:
        expected = "float64"
    if not isinstance(type_, Scalar) or type_.dtype != expected:
        return None
    if expected == "int64" and abs(result) >= 2**63:
        return None
    if expected in FLOATS and not isinstance(result, float):
        return None
    return number(result)


def is_too_large(fn: str, syms: list[Sym]) -> bool:
    """Whether an operation on integer literals gives an integer beyond 64 bits, where Python and machines differ."""
    values = [sym.constant for sym in syms]
    if fn not in _GROWING or not all(type(value) is int for value in values):
        return False
    if fn in ("**", "<<") and not 0 <= values[1] < 64:
        return values[1] > 0 and values[0] not in ((-1, 0, 1) if fn == "**" else (0,))
    return not -(2**63) <= _GROWING[fn](*values) < 2**63


def unchanged(fn: str, syms: list[Sym], type_: Type) -> Sym | None:
    """Index arithmetic that changes nothing: `i + 0`, `n - 0`, `k * 1`."""
    if fn not in ("+", "-", "*") or len(syms) != 2 or type_ != Scalar("int64"):
        return None
    first, second = syms
    neutral = 1 if fn == "*" else 0
    if second.constant == neutral and first.type == type_:
        return first
    if first.constant == neutral and second.type == type_ and fn != "-":
        return second
    return None
