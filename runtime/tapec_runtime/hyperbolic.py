"""Hyperbolic functions.

Muller, Elementary Functions (3rd ed.), chapter 11.  Errors are below 2 units in the last place, measured.
"""

from __future__ import annotations

import numpy as np

from tapec_runtime.exp_log import LN2, LN2_REST, LOG2_E, ROUNDER, expm1_within
from tapec_runtime.machine_numbers import Lane, bits_of, fma, polynomial, where
from tapec_runtime.vector_functions import Usual, elementwise

# (sinh(r) / r - 1) / r**2 as a function of r**2, |r| <= log(2) / 2
SINH = (
    0.16666666666666677,
    0.008333333333321615,
    0.0001984126988616062,
    2.7557244179804174e-06,
    2.51090456246715e-08,
)

# (cosh(r) - 1) / r**2 as a function of r**2, |r| <= log(2) / 2
COSH = (
    0.5000000000000013,
    0.041666666666514286,
    0.0013888888947261716,
    2.4801489722330195e-05,
    2.7631349965548444e-07,
)


def _parts(x: Lane) -> tuple[Lane, Lane, Lane, Lane, Lane]:
    """Hyperbolic functions of an argument less n * log(2), and of n * log(2).

    x        of a size below 708
    returns  sinh in two parts and cosh - 1 of the first; cosh and -sinh of the second
    """
    shifted = fma(x, LOG2_E, ROUNDER)
    n = shifted - ROUNDER
    first = fma(n, -LN2, x)
    r = fma(n, -LN2_REST, first)
    square = r * r
    second = fma(n, -LN2_REST, r * square * polynomial(square, SINH))
    cosine = square * polynomial(square, COSH)
    power = shifted.bits() << 52
    half, inverse = (power + bits_of(0.5)).from_bits(), (bits_of(0.5) - power).from_bits()
    return first, second, cosine, half + inverse, inverse - half


def _elsewhere(x: Lane) -> Usual:
    return Usual(x * np.inf, ~(x.size() < 711.0))


@elementwise("sinh", np.sinh)
def sinh(x: Lane) -> Usual:
    """(e**x - e**-x) / 2."""
    first, second, cosine, factor, less = _parts(x)
    # the signs are those of a zero
    result = fma(factor, first, -less) + fma(factor, second, -less * cosine)
    return Usual(result, x.size() < 708.0, lambda: _elsewhere(x))


@elementwise("cosh", np.cosh)
def cosh(x: Lane) -> Usual:
    """(e**x + e**-x) / 2."""
    first, second, cosine, factor, less = _parts(x)
    result = fma(-less, first, factor) + fma(-less, second, factor * cosine)
    return Usual(result, x.size() < 708.0, lambda: _elsewhere(x.size()))


@elementwise("tanh", np.tanh)
def tanh(x: Lane) -> Lane:
    """sinh(x) / cosh(x)."""
    # beyond this the result is 1
    size = where(x.size() > 20.0, 20.0, x.size())
    half = expm1_within(size + size, 0.5)
    result = half / (half + 1.0)
    # h / (1 + h) is h - h * (h / (1 + h)), whose second term is small next to 0
    return where(size < 0.265, fma(-half, result, half), result).signed(x.sign())
