"""Power series that are more than a formula: of whole arrays, and powers whose exponent is known only at run time.

Plain Python that is lowered where a Taylor coefficient needs it.

A series of ARRAY_SERIES gives coefficient k, None for zero.  It takes the coefficients of the result below k, or those
of each of several results, and of each argument those up to k.  Griewank & Walther, Evaluating Derivatives, 2nd ed.,
section 13.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tapec_runtime
from tapec.rules.linalg import cholesky_tangent, symmetric
from tapec.rules.svd_and_qr import over_gaps, thin_qr_change, thin_svd_change

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


def _sum_of_products(first, second):
    """Of two series without their zeroth coefficients, the products of one's first and the other's last, and so on."""
    total = None
    for x, z in zip(first, second[::-1], strict=True):
        if x is not None and z is not None:
            total = np.dot(x, z) if total is None else total + np.dot(x, z)
    return total


def _turned(series):
    return [None if one is None else one.T for one in series]


def det_series(y, a, inverse):
    # of y' = y tr(inverse a')
    total = None
    for j, x in enumerate(a[1:], 1):
        weights = None
        for factor, z in zip(y[: len(a) - j], inverse[: len(a) - j][::-1], strict=True):
            if factor is not None and z is not None:
                weights = factor * z if weights is None else weights + factor * z
        if x is not None and weights is not None:
            term = j * np.sum(weights * x.T)
            total = term if total is None else total + term
    return None if total is None else total / (len(a) - 1)


def slogdet_series(y, a, inverse):
    # of y' = tr(inverse a')
    total = None
    for j, (x, z) in enumerate(zip(a[1:], inverse[::-1], strict=True), 1):
        if x is not None and z is not None:
            term = j * np.sum(z * x.T)
            total = term if total is None else total + term
    return 0.0, None if total is None else total / (len(a) - 1)


def eigh_series(y, a):
    # of a v = v diag(w), and v' v = eye
    w, v = y
    rest = None if a[-1] is None else np.dot(symmetric(a[-1]), v[0])
    for x, z in zip(a[1:-1], v[:0:-1], strict=True):
        if x is not None and z is not None:
            rest = np.dot(symmetric(x), z) if rest is None else rest + np.dot(symmetric(x), z)
    for x, z in zip(v[1:], w[:0:-1], strict=True):
        if x is not None and z is not None:
            rest = -(x * z) if rest is None else rest - x * z
    if rest is None:
        return None, None
    inner = np.dot(v[0].T, rest)
    turn = over_gaps(w[0], inner)
    pairs = _sum_of_products(_turned(v[1:]), v[1:])
    found = np.empty(w[0].shape, w[0].dtype)
    for k in range(found.shape[0]):
        found[k] = inner[k, k]
        if pairs is not None:
            turn[k, k] = -0.5 * pairs[k, k]
    return found, np.dot(v[0], turn)


def thin_svd_series(y, a):
    # of u diag(s) vt = a, u' u = eye, and vt vt' = eye
    u, s, vt = y
    rest, last = a[-1], len(a) - 1
    for i, x in enumerate(u):
        for j, z in enumerate(s[: last - i + 1]):
            if i + j > 0 and x is not None and z is not None and vt[last - i - j] is not None:
                term = np.dot(x * z, vt[last - i - j])
                rest = -term if rest is None else rest - term
    if rest is None:
        return None, None, None
    left = _sum_of_products(_turned(u[1:]), u[1:])
    right = _sum_of_products(vt[1:], _turned(vt[1:]))
    if left is None or right is None:
        return thin_svd_change((u[0], s[0], vt[0]), rest, None, None)
    return thin_svd_change((u[0], s[0], vt[0]), rest, left, right)


def thin_qr_series(y, a):
    # of q r = a, q' q = eye, and r is zero below its diagonal
    q, r = y
    rest = a[-1]
    products = _sum_of_products(q[1:], r[1:])
    if products is not None:
        rest = -products if rest is None else rest - products
    if rest is None:
        return None, None
    return thin_qr_change((q[0], r[0]), rest, _sum_of_products(_turned(q[1:]), q[1:]))


# those that take, in addition, the series of the inverse
WITH_INVERSE = frozenset({"np.linalg.det", "np.linalg.slogdet"})

ARRAY_SERIES: dict[str, Callable[..., Any]] = {
    "np.dot": dot_series,
    "np.linalg.solve": solve_series,
    "tapec_runtime.solved": solved_series,
    "tapec_runtime.solved_transposed": solved_transposed_series,
    "np.linalg.inv": inv_series,
    "np.linalg.cholesky": cholesky_series,
    "np.linalg.det": det_series,
    "np.linalg.slogdet": slogdet_series,
    "np.linalg.eigh": eigh_series,
    "tapec_runtime.thin_svd": thin_svd_series,
    "tapec_runtime.thin_qr": thin_qr_series,
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
