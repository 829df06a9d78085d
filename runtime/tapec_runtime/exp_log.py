"""Exponentials and logarithms.

Reductions and error analysis as in Muller, Elementary Functions (3rd ed.), chapters 11 and 12, and
Cody & Waite, Software Manual for the Elementary Functions (1980).  The polynomials are minimax
approximations made by tools/coefficients.py.  Errors are below 1.9 units in the last place, measured.
"""

from __future__ import annotations

import numpy as np

from tapec_runtime.machine_numbers import Lane, bits_of, fma, polynomial, where
from tapec_runtime.vector_functions import Usual, elementwise

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

_MANTISSA = 52
_BIAS = 1023
_LOW = (1 << _MANTISSA) - 1
# adding this to a number's bits raises the exponent where the mantissa is above sqrt(2), and then by two:
# so the largest numbers become negative integers
_TO_HALVES = bits_of(4.0) - bits_of(0.7071067811865476)
_RAISED = _BIAS + 2

# 2**_SPARE makes the least subnormal number a normal one
_SPARE = 54


def _reduced(high: Lane, low: Lane | None = None, places: int = 0) -> tuple[Lane, Lane]:
    """`exp(high + low) * 2**places` as a number near 1, and a power of two in the low bits of a sum with ROUNDER."""
    shifted = fma(high, LOG2_E, ROUNDER + places)
    n = shifted - (ROUNDER + places)
    r = fma(n, -LN2_REST, fma(n, -LN2, high))
    if low is not None:
        r = r + low
    return 1.0 + fma(r * r, polynomial(r, EXP), r), shifted


def _scaled(near: Lane, shifted: Lane) -> Lane:
    """A number near 1, times 2**n, for an n in the low bits of a sum with ROUNDER; normal."""
    # ROUNDER has no low bits of its own
    return (near.bits() + (shifted.bits() << _MANTISSA)).from_bits()


def exp_within(high: Lane, low: Lane | None = None) -> Lane:
    """`exp(high + low)` for |high| <= 708 and a small `low`."""
    return _scaled(*_reduced(high, low))


@elementwise("exp", np.exp)
def exp(x: Lane) -> Usual:
    """e**x."""
    # subnormal results are made too large, and then rounded once
    large = where(x < -745.14, 0.0, _scaled(*_reduced(x, places=_SPARE)))

    def rest() -> Lane:
        # where that was too large, as much too small; elsewhere infinite or nan
        small = (large.bits() - ((2 * _SPARE) << _MANTISSA)).from_bits()
        return where(x < 710.0, small * 2.0**_SPARE, x * np.inf)

    return Usual(large * 2.0**-_SPARE, x < 670.0, rest)


def expm1_within(x: Lane, factor: float = 1.0) -> Lane:
    """`factor * expm1(x)` for -60 <= x <= 708 and a power of two, with the sign of a zero."""
    shifted = fma(x, LOG2_E, ROUNDER)
    n = shifted - ROUNDER
    exact = fma(n, -LN2, x)
    r = fma(n, -LN2_REST, exact)
    # less what `exact` is without the rest of log(2), which `r` is rounded to
    less = fma(n, LN2_REST, -(r * r * polynomial(r, EXP)))
    scale = ((shifted.bits() << _MANTISSA) + bits_of(factor)).from_bits()
    return fma(-scale, less, fma(scale, exact, -(factor - scale)))


@elementwise("expm1", np.expm1)
def expm1(x: Lane) -> Usual:
    """e**x - 1."""
    result = expm1_within(where(x < -60.0, -60.0, x))

    def rest() -> Usual:
        return Usual(x * np.inf, ~(x < 710.0))

    return Usual(result, x < 708.0, rest)


def _raised(bits: Lane) -> Lane:
    return bits + _TO_HALVES


def in_range_of_log(bits: Lane) -> Lane:
    """Whether bits are those of a positive normal number, none of the largest ones."""
    return _raised(bits) >= bits_of(2.0**-1022) + _TO_HALVES


def _less_exponent(raised: Lane) -> Lane:
    """The raised exponent, which it holds in its highest bits, as a number: -e."""
    # an integer below 2**52 becomes a number by setting the bits of 2**52
    return (2.0**52 + _RAISED) - ((raised >> _MANTISSA) | bits_of(2.0**52)).from_bits()


def log_parts(bits: Lane) -> tuple[Lane, Lane]:
    """A positive normal number, given by its bits, as 2**e * (1 + f): -e, and f around 0."""
    raised = _raised(bits)
    mantissa = ((raised & _LOW) + bits_of(0.7071067811865476)).from_bits()
    return _less_exponent(raised), mantissa - 1.0


def log_of_parts(less: Lane, f: Lane) -> Lane:
    """`log(1 + f) - less * log(2)`; of a zero f and a positive zero, f."""
    s = f / (2.0 + f)
    z = s * s
    # 2 * s is f - f * s
    near = fma(-s, fma(-z, polynomial(z, LOG), f), f)
    return fma(less, -LN2, fma(less, -LN2_REST, near))


def _log_elsewhere(x: Lane) -> Usual:
    """The logarithm where its argument is no positive number or infinite; not of subnormal and the largest numbers."""
    result = where(x.equals(0.0), -np.inf, where(x < 0.0, np.nan, x))
    return Usual(result, ~((x.bits() > 0) & (x.bits() < bits_of(np.inf))))


@elementwise("log", np.log)
def log(x: Lane) -> Usual:
    """The natural logarithm; -inf at 0, nan below."""
    bits = x.bits()
    return Usual(log_of_parts(*log_parts(bits)), in_range_of_log(bits), lambda: _log_elsewhere(x))


@elementwise("log1p", np.log1p)
def log1p(x: Lane) -> Usual:
    """The natural logarithm of 1 + x; -inf at -1, nan below."""
    total = 1.0 + x
    raised = _raised(total.bits())
    # 2**-e, so that f = (1 + x) * 2**-e - 1 is rounded once; the bits of 1 and _RAISED wrap to those of -0
    inverse = (bits_of(-0.0) - (raised & ~_LOW)).from_bits()
    f = fma(x, inverse, -(1.0 - inverse))
    result = log_of_parts(_less_exponent(raised), f)
    return Usual(result, in_range_of_log(total.bits()), lambda: _log_elsewhere(total))
