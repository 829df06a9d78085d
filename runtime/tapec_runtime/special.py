"""Special functions that derivatives need and that Numba lacks.

Plain loops over scalars, compiled by Numba, or run as they are under NUMBA_DISABLE_JIT=1.
Accuracy is relative, about 1e-13, except next to a zero of the result.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# B(2k) / (2k)!, Bernoulli numbers: DLMF 24.2
_BERNOULLI = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
    -174611 / 802857662698291200000,
)

# the positive zero of digamma in two parts, and its Taylor coefficients there
_ZERO = 1.4616321449683622
_ZERO_REST = 9.549995429965697e-17
_AT_ZERO = (
    0.9676722454476212,
    -0.4427631689835921,
    0.258499760955651,
    -0.16394270544240652,
    0.10782405069126237,
    -0.07219956125645471,
    0.04880428816414311,
    -0.03316112647484736,
    0.022597648232218104,
    -0.01542476490494896,
    0.010538791616612175,
    -0.007204534386356869,
)


@njit(cache=True, error_model="numpy")
def polygamma(n: int, x: float) -> float:
    """The n-th derivative of digamma, the derivative of log(gamma(x)).

    n        0 for digamma, 1 for trigamma, ...; a negative one gives nan
    x        any real number; at 0 the result is the limit from the right, at other poles nan
    returns  a float

    Recurrence, reflection and asymptotic series: DLMF 5.5, 5.11, 5.15.
    """
    z = float(x)
    if n < 0 or z != z:
        return math.nan
    if z > 0.0:
        return _digamma(z) if n == 0 else _polygamma(n, z)
    if z == 0.0:
        return math.inf if n % 2 == 1 else -math.inf
    if z == np.floor(z):
        return math.nan
    mirrored = _digamma(1.0 - z) if n == 0 else _polygamma(n, 1.0 - z)
    if n % 2 == 1:
        mirrored = -mirrored
    return mirrored - _cotangent_derivative(n, z - np.rint(z))


@njit(cache=True, error_model="numpy")
def _digamma(x: float) -> float:
    """Digamma for x > 0."""
    offset = (x - _ZERO) - _ZERO_REST
    if abs(offset) < 0.05:
        total = 0.0
        for k in range(len(_AT_ZERO) - 1, -1, -1):
            total = (total + _AT_ZERO[k]) * offset
        return total
    shifts = 0.0
    while x < 10.0:
        shifts += 1.0 / x
        x += 1.0
    series = 0.0
    power = 1.0 / x
    factor = 1.0
    for k in range(len(_BERNOULLI)):
        power /= x
        series += _BERNOULLI[k] * factor * power
        power /= x
        factor *= (2 * k + 2) * (2 * k + 3)
    return math.log(x) - 0.5 / x - series - shifts


@njit(cache=True, error_model="numpy")
def _polygamma(n: int, x: float) -> float:
    """Polygamma for n > 0 and x > 0: n! times the Hurwitz zeta function, which has terms of one sign."""
    total = 0.0
    while x < 10.0 + 0.5 * n:
        term = 1.0 / x
        for k in range(1, n + 1):
            term *= k / x
        total += term
        x += 1.0
    # Euler and Maclaurin's sum of the terms that are left
    tail = 0.5
    factor = (n + 1) / x
    for k in range(len(_BERNOULLI)):
        tail += _BERNOULLI[k] * factor
        factor *= (n + 2 * k + 2) / x * ((n + 2 * k + 3) / x)
    scaled = 1.0 / n + tail / x
    for k in range(1, n + 1):
        scaled *= k / x
    total += scaled
    return total if n % 2 == 1 else -total


@njit(cache=True, error_model="numpy")
def _cotangent_derivative(n: int, x: float) -> float:
    """The n-th derivative of pi * cot(pi * x) for |x| <= 1/2: a polynomial in the cotangent."""
    if abs(x) < 0.25:
        cotangent = 1.0 / math.tan(math.pi * x)
    else:
        # the difference is exact, which keeps the zero at 1/2
        cotangent = math.copysign(math.tan(math.pi * (0.5 - abs(x))), x)
    polynomial = np.zeros(n + 2)
    polynomial[1] = math.pi
    for order in range(n):
        following = np.zeros(n + 2)
        for k in range(1, order + 2):
            slope = math.pi * k * polynomial[k]
            following[k - 1] -= slope
            following[k + 1] -= slope
        polynomial = following
    value = 0.0
    for k in range(n + 1, -1, -1):
        value = value * cotangent + polynomial[k]
    return value


@njit(cache=True, error_model="numpy")
def sinc_derivative(n: int, x: float) -> float:
    """The n-th derivative of sinc(x) = sin(pi * x) / (pi * x), n at least 0.

    For large x it comes from the derivatives of x * sinc(x), one after another; for small x,
    where that cancels, from the Taylor series.
    """
    u = math.pi * float(x)
    if abs(u) < max(n, 1):
        # sum over 2k >= n of (-1)**k u**(2k-n) / ((2k+1) (2k-n)!)
        first = (n + 1) // 2
        power = u if n % 2 == 1 else 1.0
        if first % 2 == 1:
            power = -power
        total = 0.0
        degree = 2 * first - n
        for k in range(first, first + n + 20):
            total += power / (2 * k + 1)
            power *= -u / (degree + 1) * (u / (degree + 2))
            degree += 2
        return total * math.pi**n
    sine, cosine = math.sin(u), math.cos(u)
    value = sine / u
    for order in range(1, n + 1):
        sine, cosine = cosine, -sine
        value = (sine - order * value) / u
    return value * math.pi**n


@njit(cache=True, error_model="numpy")
def exponent(x: float) -> int:
    """The power of two that `math.frexp` splits off."""
    return math.frexp(x)[1]
