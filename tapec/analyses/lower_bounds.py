"""Floats that are never below a bound: squares, absolute values, exponentials, and sums of those.

Each operation rounds monotonically, so that a bound of its operands is one of its result, rounded as that is.  What is
not a number is above every bound here: it is not zero either.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.syntax.core import Assign, Const, Expr, Function, Name, Op, Stmt, Store, reads, walk, writes
from tapec.syntax.types import Array, Scalar

_AT_LEAST = {"exp": 0.0, "exp2": 0.0, "cosh": 1.0, "abs": 0.0, "absolute": 0.0, "fabs": 0.0, "hypot": 0.0}
_DEPTH = 24
_SINGLE = Scalar("float32")


class LowerBounds:
    """The bounds of a function's floats."""

    def __init__(self, function: Function) -> None:
        self.types = function.types
        self.values: dict[str, list[Expr]] = {}
        other = set(function.params)
        for stmt in walk(function.body):
            if isinstance(stmt, Assign):
                self.values.setdefault(stmt.target, []).append(stmt.value)
            else:
                other.update(writes(stmt))
        # names that are never negative: all, but for those that something else shows to be
        self.positive = {name for name in self.values if name not in other and function.types[name].is_float}
        self._known: dict[str, float | None] = {}
        before = -1
        while len(self.positive) != before:
            before = len(self.positive)
            self.positive = {name for name in self.positive if all(map(self._is_positive, self.values[name]))}

    def is_zero_never(self, value: Expr) -> bool:
        """Whether a float is never zero."""
        bound = self.of(value)
        return bound is not None and bound > 0.0

    def of(self, value: Expr, depth: int = 0) -> float | None:
        """A bound of a float; None if none is known."""
        if isinstance(value, Const):
            return float(value.value) if isinstance(value.value, int | float) else None
        if isinstance(value, Name):
            if value.id not in self._known:
                alone = self.values.get(value.id, [])
                least = 0.0 if value.id in self.positive else None
                once = least is not None and len(alone) == 1 and depth < _DEPTH
                found = self.of(alone[0], depth + 1) if once else None
                if found is not None and self.types[value.id] == _SINGLE:
                    # where small numbers are zero
                    found = float(np.float32(found))
                self._known[value.id] = least if found is None else found
            return self._known[value.id]
        return _bound(value, lambda arg: self.of(arg, depth + 1))

    def _is_positive(self, value: Expr) -> bool:
        def of(arg: Expr) -> float | None:
            if isinstance(arg, Name):
                return 0.0 if arg.id in self.positive else None
            return _bound(arg, of) if isinstance(arg, Op) else self.of(arg)

        bound = of(value)
        return bound is not None and bound >= 0.0


def sums_of_squares(function: Function) -> frozenset[str]:
    """The floats that are sums of squares: zero only where all of those are, and flat there.

        d = (p[i] - p[j]) ** 2
        s = s + d * d               s is one, if it begins as 0.0

    All values of a name are such sums, those of others included.
    """
    values: dict[str, list[Expr]] = {}
    other = set(function.params)

    def arrays(stmt: Stmt) -> set[str]:
        return {name for name in reads(stmt) if isinstance(function.types.get(name), Array)}

    for stmt in walk(function.body):
        match stmt:
            case Assign(target=target, value=Op(fn="empty" | "zeros")):
                values.setdefault(target, [])
            case Assign(target=target, value=value):
                values.setdefault(target, []).append(value)
                if not isinstance(value, Op) or value.fn not in ("load", "dim"):
                    other |= arrays(stmt)
            case Store(array=array, value=value):
                # an element is such a sum if all are that are written
                values.setdefault(array, []).append(value)
            case _:
                other.update(writes(stmt), arrays(stmt))
    found = {name for name in values if name not in other and function.types[name].is_float}
    before = -1
    while len(found) != before:
        before = len(found)
        found = {name for name in found if all(_is_sum_of_squares(value, found) for value in values[name])}
    return frozenset(found)


def _is_sum_of_squares(value: Expr, known: set[str]) -> bool:
    def within(arg: Expr) -> bool:
        return arg.id in known if isinstance(arg, Name) else _is_sum_of_squares(arg, known)

    match value:
        case Name(id=name) | Op(fn="load", args=(Name(id=name), *_)):
            return name in known
        case Const(value=float() | int() as number):
            return number == 0
        case Op(fn="cast.float64" | "cast.float32", args=(first,)):
            return within(first)
        case Op(fn="*", args=(Name() as first, second)) if first == second:
            return True
        case Op(fn="**", args=(Name(), Const(value=2 | 2.0))) | Op(fn="np.square"):
            return True
        case Op(fn="+" | "known", args=(first, second)):
            return within(first) and within(second)
        case Op(fn="*", args=(Const(value=float() | int() as number), second)) if number > 0:
            return within(second)
        case Op(fn="*" | "/", args=(first, Const(value=float() | int() as number))) if number > 0:
            return within(first)
    return False


def _bound(value: Op, of: Callable[[Expr], float | None]) -> float | None:
    """A bound of an operation, by those of its operands."""
    fn, args = value.fn, value.args
    match fn, args:
        case "*", (first, second) if first == second:
            return 0.0
        case "**", (_, Const(int() as exponent)) if exponent >= 0 and exponent % 2 == 0:
            return 0.0
    name = fn.removeprefix("np.").removeprefix("math.")
    if name in _AT_LEAST:
        return _AT_LEAST[name]
    bounds = [of(arg) for arg in (args[1:] if fn == "ifelse" else args)]
    if name in ("max", "maximum", "fmax"):
        return max((bound for bound in bounds if bound is not None), default=None)
    if any(bound is None for bound in bounds):
        return None
    known: list[Any] = bounds
    if fn == "ifelse" or name in ("min", "minimum", "fmin"):
        return min(known)
    if fn in ("pos", "cast.float64", "stop_gradient", "known"):
        return float(known[0])
    if fn == "cast.float32":
        return float(np.float32(known[0]))
    if any(bound < 0.0 for bound in known):
        return None
    match fn:
        case "+":
            return float(known[0] + known[1])
        case "*":
            return float(known[0] * known[1])
        case "/":
            return 0.0
        case "math.sqrt" | "np.sqrt":
            return math.sqrt(known[0])
    return None
