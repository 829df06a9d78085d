"""Power series that are more than a formula: of whole arrays, and powers whose exponent is known only at run time.

Plain Python that is lowered where a Taylor coefficient needs it.

A series of ARRAY_SERIES gives coefficient k, None for zero.  It takes the coefficients of the result below k, and of
each argument those up to k.  Griewank & Walther, Evaluating Derivatives, 2nd ed., section 13.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tapec_runtime
from tapec.rules.linalg import cholesky_tangent

# of these primitives the tangent for coefficient k of the arguments is that of the result
LINEAR = frozenset(
    f"tapec_runtime.{name}" for name in ("dft", "real_dft", "real_inverse", "factorised", "factorised_lower")
)


def dot_series(y, a, b):
    total = None
    for x, z in zip(a, b[::-1], strict=True):
        if x is not None and z is not None:
            total = np.dot(x, z) if total is None else total + np.dot(x, z)
    return total


def solve_series(y, a, b):
    # of a y = b
    rest = b[-1]
    for x, z in zip(a[1:], y[::-1], strict=True):
        if x is not None and z is not None:
            rest = -np.dot(x, z) if rest is None else rest - np.dot(x, z)
    return None if rest is None else np.linalg.solve(a[0], rest)


def solved_series(y, factors, b):
    # what factors have for their coefficients are those of the matrix, in all but the last row
    rest = b[-1]
    for x, z in zip(factors[1:], y[::-1], strict=True):
        if x is not None and z is not None:
            rest = -np.dot(x[:-1], z) if rest is None else rest - np.dot(x[:-1], z)
    return None if rest is None else tapec_runtime.solved(factors[0], rest)


def solved_transposed_series(y, factors, b):
    rest = b[-1]
    for x, z in zip(factors[1:], y[::-1], strict=True):
        if x is not None and z is not None:
            rest = -np.dot(x[:-1].T, z) if rest is None else rest - np.dot(x[:-1].T, z)
    return None if rest is None else tapec_runtime.solved_transposed(factors[0], rest)


def inv_series(y, a):
    rest = None
    for x, z in zip(a[1:], y[::-1], strict=True):
        if x is not None and z is not None:
            rest = np.dot(x, z) if rest is None else rest + np.dot(x, z)
    return None if rest is None else -np.dot(y[0], rest)


def cholesky_series(y, a):
    # of y y' = a
    rest = a[-1]
    for x, z in zip(y[1:], y[:0:-1], strict=True):
        if x is not None and z is not None:
            rest = -np.dot(x, z.T) if rest is None else rest - np.dot(x, z.T)
    return None if rest is None else cholesky_tangent(y[0], a[0], rest)


ARRAY_SERIES: dict[str, Callable[..., Any]] = {
    "np.dot": dot_series,
    "np.linalg.solve": solve_series,
    "tapec_runtime.solved": solved_series,
    "tapec_runtime.solved_transposed": solved_transposed_series,
    "np.linalg.inv": inv_series,
    "np.linalg.cholesky": cholesky_series,
}


def _multiply(y, x):
    """`y *= x`, from the last coefficient to the first, since each takes those below it."""
    for step in range(y.shape[0]):
        k = y.shape[0] - 1 - step
        total = y[k] * x[0]
        for j in range(k):
            total += y[j] * x[k - j]
        y[k] = total


def whole_power(x, n):
    """The coefficients of the power with an integer as exponent, by squarings and products."""
    y = np.zeros(x.shape[0], x.dtype)
    y[0] = 1
    square = x.copy()
    left = abs(n)
    while left > 0:
        if left % 2 == 1:
            _multiply(y, square)
        left = left // 2
        if left > 0:
            _square(square)
    if n < 0:
        _invert(y)
    return y


def _square(x):
    """`x *= x`."""
    for step in range(x.shape[0]):
        k = x.shape[0] - 1 - step
        total = x[k] * x[0]
        for j in range(k):
            total += x[j] * x[k - j]
        x[k] = total


def _invert(y):
    """`y = 1 / y`."""
    x = y.copy()
    y[0] = 1 / x[0]
    for k in range(1, y.shape[0]):
        total = x[k] * y[0]
        for j in range(1, k):
            total += x[k - j] * y[j]
        y[k] = -total / x[0]


def power_at_zero(x, z):
    """The same for a float as exponent, where the base is zero: above an exponent that is not whole, infinite."""
    y = np.zeros(x.shape[0], x.dtype)
    if x[0] == 0:
        if z >= 0 and z == np.floor(z):
            if z < x.shape[0]:
                y[:] = whole_power(x, int(z))
        else:
            for k in range(x.shape[0]):
                if k > z:
                    y[k] = np.inf
    return y
