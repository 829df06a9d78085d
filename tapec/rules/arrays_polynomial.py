"""Polynomials as arrays of coefficients, as in np.polynomial.polynomial: lowest power first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import common_dtype, flat, float_type
from tapec.rules.arrays_product import convolve
from tapec.rules.least_squares import lstsq


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


def _divided(u, v):
    """Quotient and remainder by long division, of coefficients highest power first."""
    kind = float_type(common_dtype(u.dtype, v.dtype))
    rest = u.astype(kind)
    m = u.size - 1
    n = v.size - 1
    quotient = np.zeros(max(m - n + 1, 1), kind)
    for k in range(max(m - n + 1, 0)):
        factor = rest[k] / v[0]
        quotient[k] = factor
        for j in range(n + 1):
            rest[k + j] -= factor * v[j]
    first = 0
    # leading numbers that rounding has left
    while first < rest.size - 1 and abs(rest[first]) <= 1e-8:
        first += 1
    return quotient, rest[first:]


def polydiv_falling(u, v):
    """Quotient and remainder of two polynomials whose coefficients come highest power first, as in np.polydiv."""
    return _divided(np.atleast_1d(np.asarray(u)), np.atleast_1d(np.asarray(v)))


def polyder(c, m=1):
    """Derivative of a polynomial, taken `m` times."""
    coefficients = np.asarray(c)
    if coefficients.ndim != 1:
        raise ValueError("several polynomials at once are not supported")
    if m >= coefficients.size:
        return coefficients[:1] * 0
    return polyder_falling(coefficients[::-1], m)[::-1]


def poly(seq_of_zeros):
    """The coefficients, highest power first, of the polynomial that has these zeros."""
    zeros = np.asarray(seq_of_zeros)
    if zeros.ndim != 1:
        raise ValueError("the polynomial of a matrix is not supported")
    out = np.zeros(zeros.size + 1, float_type(zeros.dtype))
    out[0] = 1
    for k in range(zeros.size):
        for iteration in range(k + 1):
            j = k + 1 - iteration
            out[j] -= zeros[k] * out[j - 1]
    return out


def _fitted(x, y, deg, w, rcond, falling):
    """Coefficients of the polynomial that fits points best, by least squares."""
    points = np.asarray(x)
    values = np.asarray(y)
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if points.ndim != 1 or points.size == 0:
        raise TypeError("expected 1D vector for x, with elements")
    if values.shape[0] != points.size:
        raise TypeError("expected x and y to have same length")
    rows = np.vander(points * 1.0, deg + 1, not falling)
    right = values * 1.0
    if w is not None:
        weights = np.asarray(w) * 1.0
        rows = rows * weights[:, None]
        right = right * weights if values.ndim == 1 else right * weights[:, None]
    # columns of one length, as NumPy has them
    scale = np.sqrt(np.sum(rows * rows, 0))
    found = lstsq(rows / scale, right, points.size * 2e-16 if rcond is None else rcond)[0]
    return found / scale if values.ndim == 1 else found / scale[:, None]


def polyfit_falling(x, y, deg, rcond=None, *, w=None):
    """Coefficients, highest power first, of the polynomial that fits points best, by least squares."""
    return _fitted(x, y, deg, w, rcond, True)


def polyfit(x, y, deg, rcond=None, *, w=None):
    """Coefficients, lowest power first, of the polynomial that fits points best, by least squares."""
    return _fitted(x, y, deg, w, rcond, False)


def _clenshaw(x, c, step):
    """A series of orthogonal polynomials: the sum of `c[k] * p[k](x)`, by Clenshaw's algorithm.

    step  the numbers `a`, `b`, `d` of the recurrence `p[k + 1](x) = (a * x + b) * p[k](x) - d * p[k - 1](x)`
    """
    one = x * 0.0
    two = x * 0.0
    for iteration in range(c.size):
        k = c.size - 1 - iteration
        a, b, _ = step(k)
        _, _, d = step(k + 1)
        one, two = c[k] + (a * x + b) * one - d * two, one
    return one


def _series(x, c, step):
    coefficients = np.asarray(c)
    if coefficients.ndim != 1:
        raise ValueError("several series at once are not supported")
    if np.ndim(x) == 0:
        return _clenshaw(float(x), coefficients, step)
    points = np.asarray(x)
    out = np.empty(points.shape, float_type(common_dtype(points.dtype, coefficients.dtype)))
    for k in np.ndindex(points.shape):
        out[k] = _clenshaw(points[k], coefficients, step)
    return out


def _chebyshev(k):
    return (1.0 if k == 0 else 2.0), 0.0, 1.0


def _legendre(k):
    return (2.0 * k + 1.0) / (k + 1.0), 0.0, k / (k + 1.0)


def _hermite(k):
    return 2.0, 0.0, 2.0 * k


def _hermite_e(k):
    return 1.0, 0.0, 1.0 * k


def _laguerre(k):
    return -1.0 / (k + 1.0), (2.0 * k + 1.0) / (k + 1.0), k / (k + 1.0)


def chebval(x, c, tensor=True):
    """The values of a series of Chebyshev polynomials."""
    return _series(x, c, _chebyshev)


def legval(x, c, tensor=True):
    """The values of a series of Legendre polynomials."""
    return _series(x, c, _legendre)


def hermval(x, c, tensor=True):
    """The values of a series of Hermite polynomials."""
    return _series(x, c, _hermite)


def hermeval(x, c, tensor=True):
    """The values of a series of the probabilists' Hermite polynomials."""
    return _series(x, c, _hermite_e)


def lagval(x, c, tensor=True):
    """The values of a series of Laguerre polynomials."""
    return _series(x, c, _laguerre)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "polyval": polyval_falling,
    "polyadd": polyadd_falling,
    "polysub": polysub_falling,
    "polymul": polymul_falling,
    "polyder": polyder_falling,
    "polyint": polyint_falling,
    "polydiv": polydiv_falling,
    "polyfit": polyfit_falling,
    "poly": poly,
    "polynomial.polynomial.polyval": polyval,
    "polynomial.polynomial.polyadd": polyadd,
    "polynomial.polynomial.polysub": polysub,
    "polynomial.polynomial.polymul": polymul,
    "polynomial.polynomial.polydiv": polydiv,
    "polynomial.polynomial.polyint": polyint,
    "polynomial.polynomial.polyder": polyder,
    "polynomial.polynomial.polyfit": polyfit,
    "polynomial.chebyshev.chebval": chebval,
    "polynomial.legendre.legval": legval,
    "polynomial.hermite.hermval": hermval,
    "polynomial.hermite_e.hermeval": hermeval,
    "polynomial.laguerre.lagval": lagval,
    "polynomial.polyutils.trimseq": trimseq,
}
