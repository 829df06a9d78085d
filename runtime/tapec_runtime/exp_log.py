"""Exponentials and logarithms.

Reductions and error analysis as in Muller, Elementary Functions (3rd ed.), chapters 11 and 12, and
Cody & Waite, Software Manual for the Elementary Functions (1980).  The polynomials are minimax
approximations made by tools/coefficients.py.  Errors are below 1.5 units in the last place, measured.
"""

from __future__ import annotations

import numpy as np

from tapec_runtime.elementwise import elementwise
from tapec_runtime.lanes import Lane, bits_of, fma, polynomial, two_sum, where

# log(2), and what the nearest float64 lacks
LN2 = 0.6931471805599453
LN2_REST = 2.3190468138462996e-17
LOG2_E = 1.4426950408889634

# adding this rounds to an integer, whose low bits are then the low bits of the sum
ROUNDER = 1.5 * 2.0**52

# (exp(r) - 1 - r) / r**2 for |r| <= log(2) / 2
EXP = (
    0.5000000000000008,
    0.16666666666666693,
    0.041666666666546226,
    0.008333333333310327,
    0.0013888888939985876,
    0.00019841269911628106,
    2.4801496448259867e-05,
    2.755722079102506e-06,
    2.7629168430119276e-07,
    2.5116595840259393e-08,
)

# (log((1 + s) / (1 - s)) / s - 2) / s**2 as a function of s**2, |s| <= 3 - sqrt(8)
LOG = (
    0.6666666666666734,
    0.39999999999414315,
    0.28571428742477023,
    0.22222198563249881,
    0.18183564879089853,
    0.15314035520314653,
    0.14796108533960203,
)

_SMALLEST_NORMAL = 2.0**-1022
_MANTISSA = 52
_BIAS = 1023
# adding this to a number's bits raises the exponent where the mantissa is above sqrt(2)
_TO_HALVES = bits_of(1.0) - bits_of(0.7071067811865476)


def powers_of_two(n: Lane) -> tuple[Lane, Lane]:
    """Two factors whose product is 2**n, for integers |n| <= 2000 held in the low bits of a sum with ROUNDER."""
    k = n.bits() - bits_of(ROUNDER)
    # shifted with an offset, as there is no shift that keeps the sign on all processors
    half = ((k + 4096) >> 1) - 2048
    return ((half + _BIAS) << _MANTISSA).from_bits(), ((k - half + _BIAS) << _MANTISSA).from_bits()


def _reduced(high: Lane, low: Lane | None) -> tuple[Lane, Lane]:
    """`exp(high + low)` as a number near 1, and a power of two in the low bits of a sum with ROUNDER."""
    shifted = fma(high, LOG2_E, ROUNDER)
    n = shifted - ROUNDER
    r = fma(n, -LN2_REST, fma(n, -LN2, high))
    if low is not None:
        r = r + low
    return 1.0 + fma(r * r, polynomial(r, EXP), r), shifted


def exp_within(high: Lane, low: Lane | None = None) -> Lane:
    """`exp(high + low)` for |high| <= 708 and a small `low`."""
    near, shifted = _reduced(high, low)
    return near * ((shifted.bits() + (_BIAS - bits_of(ROUNDER))) << _MANTISSA).from_bits()


def exp_anywhere(x: Lane, halvings: int = 0) -> Lane:
    """`exp(x) / 2**halvings`, also where it is subnormal, 0, infinite or nan."""
    # beyond these the result is 0 or infinite
    near, shifted = _reduced(where(x > 720.0, 720.0, where(x < -750.0, -750.0, x)), None)
    first, second = powers_of_two(shifted - float(halvings))
    return near * first * second


@elementwise("exp", np.exp)
def exp(x: Lane) -> Lane:
    """e**x."""
    return exp_anywhere(x)


def expm1_parts(x: Lane) -> Lane:
    """`expm1(x) / 2` for x above -60; infinite where the result is above twice the largest number."""
    shifted = fma(x, LOG2_E, ROUNDER)
    n = shifted - ROUNDER
    exact = fma(n, -LN2, x)
    r = fma(n, -LN2_REST, exact)
    lost = fma(n, -LN2_REST, exact - r)
    rest = fma(r * r, polynomial(r, EXP), lost)
    scale = ((shifted.bits() - bits_of(ROUNDER) + (_BIAS - 1)) << _MANTISSA).from_bits()
    return fma(scale, rest, fma(scale, r, scale - 0.5))


@elementwise("expm1", np.expm1)
def expm1(x: Lane) -> Lane:
    """e**x - 1."""
    within = where(x > 709.9, 709.9, where(x < -60.0, -60.0, x))
    half = expm1_parts(within)
    return where(x.size() < 2.0**-54, x, half + half)


def log_parts(bits: Lane) -> tuple[Lane, Lane, Lane]:
    """A positive normal number, given by its bits, as (2**e, m): e with its bias, its shifted bits, and m - 1."""
    exponent = (bits + _TO_HALVES) >> _MANTISSA
    mantissa = (bits - ((exponent - _BIAS) << _MANTISSA)).from_bits()
    # an integer below 2**52 becomes a number by setting the bits of 2**52
    e = (exponent | bits_of(2.0**52)).from_bits() - (2.0**52 + _BIAS)
    return e, exponent, mantissa - 1.0


def log_of_parts(e: Lane, f: Lane, lost: Lane | None = None) -> Lane:
    """`e * log(2) + log(1 + f) + lost`."""
    s = f / (2.0 + f)
    z = s * s
    half_square = 0.5 * f * f
    rest = s * (half_square + z * polynomial(z, LOG))
    low = fma(e, LN2_REST, rest)
    if lost is not None:
        low = low + lost
    return fma(e, LN2, f - (half_square - low))


def _edges(x: Lane, result: Lane) -> Lane:
    """The logarithm where its argument is not a positive finite number."""
    at_most_zero = where(x.equals(0.0), -np.inf, np.nan)
    return where(x > 0.0, where(x < np.inf, result, x), where(x <= 0.0, at_most_zero, x))


@elementwise("log", np.log)
def log(x: Lane) -> Lane:
    """The natural logarithm; -inf at 0, nan below."""
    subnormal = x < _SMALLEST_NORMAL
    e, _, f = log_parts(where(subnormal, x * 2.0**54, x).bits())
    return _edges(x, log_of_parts(where(subnormal, e - 54.0, e), f))


@elementwise("log1p", np.log1p)
def log1p(x: Lane) -> Lane:
    """The natural logarithm of 1 + x; -inf at -1, nan below."""
    total, lost = two_sum(x.number(1.0), x)
    e, exponent, f = log_parts(total.bits())
    # near 0 the argument itself is exact; elsewhere what the sum lost is put back, divided by 1 + x
    near = (x > -0.29289321881345254) & (x < 0.41421356237309503)
    inverse = ((2 * _BIAS - exponent) << _MANTISSA).from_bits() * fma(f, f - 1.0, 1.0)
    correction = where(near | (x > 2.0**60), 0.0, lost * inverse)
    result = log_of_parts(where(near, 0.0, e), where(near, x, f), correction)
    return where(x.size() < 2.0**-54, x, _edges(total, where(total < np.inf, result, x)))
