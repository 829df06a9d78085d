"""Result types of the commonest operations on numbers and arrays of them, as Numba gives them.

Numba's own typing needs all its implementations imported, a fifth of a second or more, which a
program that is only printed, or run by the interpreter, never needs.  What is not in this table
is left to Numba.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numba.core import types as nt

_ARITHMETIC = frozenset({operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod})
_COMPARISONS = frozenset({operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne})
_SIGNS = frozenset({operator.neg, operator.pos, abs, np.absolute})
_NAMES = (
    "exp expm1 log log2 log10 log1p sqrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh",
    "exp expm1 log log2 log10 log1p sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh",
)
ELEMENTARY = frozenset(
    getattr(module, name) for module, names in zip((np, math), _NAMES, strict=True) for name in names.split()
)
# they take no arrays
_OF_NUMBERS = frozenset({abs, max, min, *(getattr(math, name) for name in _NAMES[1].split())})
# by the number of operands
FUNCTIONS: dict[int, frozenset[Any]] = {
    1: _SIGNS | ELEMENTARY,
    2: _ARITHMETIC | _COMPARISONS | {operator.truediv, operator.pow, max, min},
}
# of the same rank; broadcasts are left to Numba
_RANKS = tuple({rank} for rank in range(1, 5))
_KINDS = frozenset({nt.float64, nt.int64})


def known_type(function: Any, args: tuple[nt.Type, ...]) -> nt.Type | None:
    """The Numba type that a function returns; None for what only Numba knows."""
    if function not in FUNCTIONS.get(len(args), ()):
        return None
    arrays = [arg for arg in args if isinstance(arg, nt.Array)]
    if not arrays:
        return _of_numbers(function, args)
    # elementwise, on floats in rows
    plain = all(one.dtype == nt.float64 and one.layout == "C" and one.aligned for one in arrays)
    if not plain or {one.ndim for one in arrays} not in _RANKS or function in _OF_NUMBERS:
        return None
    element = _of_numbers(function, tuple(nt.float64 if isinstance(arg, nt.Array) else arg for arg in args))
    return None if element is None else nt.Array(element, arrays[0].ndim, "C")


def _of_numbers(function: Any, args: tuple[nt.Type, ...]) -> nt.Type | None:
    if not _KINDS.issuperset(args):
        return None
    if function in _COMPARISONS:
        return nt.boolean
    if function in (max, min) and len(set(args)) > 1:
        return None
    if nt.float64 in args or function is operator.truediv or function in ELEMENTARY:
        return nt.float64
    # Numba's power of two integers depends on more than their types
    return None if function is operator.pow else nt.int64


def common_type(first: str, second: str) -> str | None:
    """The dtype of a variable that holds one of two numbers; None for what only Numba knows."""
    return "float64" if {first, second} == {"float64", "int64"} else None
