"""Polynomials as arrays of coefficients, as in np.polynomial.polynomial: lowest power first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import common_dtype, flat, float_type
from tapec.rules.arrays_product import convolve


def trimseq(seq):
    """A view without trailing zeros; one coefficient stays."""
    size = seq.size
    while size > 1 and seq[size - 1] == 0:
        size -= 1
    return seq[:size]


def _added(c1, c2, sign):
    first = flat(c1)
    second = flat(c2)
    if first.size == 0 or second.size == 0:
        raise ValueError("Coefficient array is empty")
    out = np.zeros(max(first.size, second.size), common_dtype(first.dtype, second.dtype))
    for k in range(first.size):
        out[k] = first[k]
    for k in range(second.size):
        out[k] += sign * second[k]
    return trimseq(out)


def polyadd(c1, c2):
    """Sum of two polynomials."""
    return _added(c1, c2, 1)


def polysub(c1, c2):
    """Difference of two polynomials."""
    return _added(c1, c2, -1)


def polymul(c1, c2):
    """Product of two polynomials."""
    return trimseq(convolve(trimseq(flat(c1)), trimseq(flat(c2))))


def polydiv(c1, c2):
    """Quotient and remainder of two polynomials, by long division."""
    first = trimseq(flat(c1))
    divisor = trimseq(flat(c2))
    kind = float_type(common_dtype(first.dtype, divisor.dtype))
    rest = first.astype(kind)
    top = divisor.size - 1
    if divisor[top] == 0:
        raise ZeroDivisionError("division of a polynomial by 0")
    steps = max(rest.size - top, 0)
    quotient = np.zeros(max(steps, 1), kind)
    for iteration in range(steps):
        k = steps - 1 - iteration
        factor = rest[k + top] / divisor[top]
        quotient[k] = factor
        for j in range(top):
            rest[k + j] -= factor * divisor[j]
    if steps == 0:
        return quotient, rest
    if top == 0:
        return quotient, np.zeros(1, kind)
    return quotient, trimseq(rest[:top])


def polyint(c, m=1):
    """Integral of a polynomial, taken `m` times, with constants 0."""
    coefficients = flat(c)
    size = coefficients.size
    out = np.zeros(size + m, float_type(coefficients.dtype))
    for k in range(size):
        scale = 1.0
        for j in range(m):
            scale *= k + j + 1
        out[k + m] = coefficients[k] / scale
    return out


def _horner(x, c):
    total = c[c.size - 1]
    for iteration in range(c.size - 1):
        total = total * x + c[c.size - 2 - iteration]
    return total


def polyval(x, c, tensor=True):
    """The values of a polynomial, by Horner's rule."""
    coefficients = np.asarray(c)
    if coefficients.ndim != 1:
        raise ValueError("several polynomials at once are not supported")
    if np.ndim(x) == 0:
        return _horner(x, coefficients)
    points = np.asarray(x)
    out = np.empty(points.shape, float_type(common_dtype(points.dtype, coefficients.dtype)))
    for k in np.ndindex(points.shape):
        out[k] = _horner(points[k], coefficients)
    return out


def polyval_falling(p, x):
    """The values of a polynomial whose coefficients come highest power first, as in np.polyval."""
    return polyval(x, np.asarray(p)[::-1])


def _falling_sum(a1, a2, sign):
    first = np.atleast_1d(np.asarray(a1))
    second = np.atleast_1d(np.asarray(a2))
    size = max(first.size, second.size)
    out = np.zeros(size, common_dtype(first.dtype, second.dtype))
    for k in range(first.size):
        out[size - first.size + k] = first[k]
    for k in range(second.size):
        out[size - second.size + k] += sign * second[k]
    return out


def polyadd_falling(a1, a2):
    """Sum of two polynomials whose coefficients come highest power first, as in np.polyadd."""
    return _falling_sum(a1, a2, 1)


def polysub_falling(a1, a2):
    """Difference of two polynomials whose coefficients come highest power first, as in np.polysub."""
    return _falling_sum(a1, a2, -1)


def polymul_falling(a1, a2):
    """Product of two polynomials whose coefficients come highest power first, as in np.polymul."""
    return convolve(np.atleast_1d(np.asarray(a1)), np.atleast_1d(np.asarray(a2)))


def polyder_falling(p, m=1):
    """Derivative of a polynomial, taken `m` times, as in np.polyder."""
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    coefficients = np.asarray(p)
    size = coefficients.size
    out = np.empty(max(size - m, 0), coefficients.dtype)
    for k in range(out.size):
        scale = 1
        for j in range(m):
            scale *= size - 1 - k - j
        out[k] = coefficients[k] * scale
    return out


def polyint_falling(p, m=1):
    """Integral of a polynomial, taken `m` times, with constants 0, as in np.polyint."""
    return polyint(np.asarray(p)[::-1], m)[::-1]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "polyval": polyval_falling,
    "polyadd": polyadd_falling,
    "polysub": polysub_falling,
    "polymul": polymul_falling,
    "polyder": polyder_falling,
    "polyint": polyint_falling,
    "polynomial.polynomial.polyval": polyval,
    "polynomial.polynomial.polyadd": polyadd,
    "polynomial.polynomial.polysub": polysub,
    "polynomial.polynomial.polymul": polymul,
    "polynomial.polynomial.polydiv": polydiv,
    "polynomial.polynomial.polyint": polyint,
    "polynomial.polyutils.trimseq": trimseq,
}
