"""Sine, cosine, tangent, and the arc tangent.

Arguments below 2**30 are reduced by multiples of pi/2 with pi/2 in three parts (Cody & Waite 1980,
chapters 8 and 9; Muller, Elementary Functions, chapter 11); the result keeps a second part, so that
it is good next to the zeros.  Larger arguments, infinite ones and nan go to the C library.
Errors are below 2 units in the last place, measured.
"""

from __future__ import annotations

import numpy as np

from tapec_runtime.elementwise import elementwise
from tapec_runtime.exp_log import ROUNDER
from tapec_runtime.lanes import Lane, fma, polynomial, two_sum, where

# pi / 2 in three parts, each the float64 nearest to what is left
HALF_PI = 1.5707963267948966
HALF_PI_SECOND = 6.123233995736766e-17
HALF_PI_THIRD = -1.4973849048591698e-33
TWO_BY_PI = 0.6366197723675814

QUARTER_PI = 0.7853981633974483
QUARTER_PI_REST = 3.061616997868383e-17

# tan(pi / 8), and its reciprocal
EIGHTH = 0.41421356237309503
THREE_EIGHTHS = 2.414213562373095

# (sin(r) / r - 1) / r**2 as a function of r**2, |r| <= pi / 4
SIN = (
    -0.16666666666666632,
    0.008333333333322413,
    -0.00019841269829807707,
    2.755731369188179e-06,
    -2.505075810963648e-08,
    1.589679533585567e-10,
)

# (cos(r) - 1 + r**2 / 2) / r**4 as a function of r**2, |r| <= pi / 4
COS = (
    0.041666666666666595,
    -0.001388888888887304,
    2.4801587288841438e-05,
    -2.7557314176249703e-07,
    2.0875700417220827e-09,
    -1.1358514001583145e-11,
)

# (arctan(t) / t - 1) / t**2 as a function of t**2, |t| <= tan(pi / 8)
ARCTAN = (
    -0.333333333333332,
    0.19999999999954,
    -0.1428571428023962,
    0.11111110785673019,
    -0.09090897822562255,
    0.07692061381729452,
    -0.06663117393844474,
    0.05847986574725858,
    -0.05039742389606922,
    0.03807564251798713,
    -0.017919285840192888,
)

_SIGN_PLACE = 62


def _usual(x: Lane) -> Lane:
    """Whether the reduction is good for an argument."""
    return x.size() < 2.0**30


def _reduced(x: Lane) -> tuple[Lane, Lane, Lane]:
    """An argument less the nearest multiple of pi/2, in two parts; and the multiple in the low bits of an integer."""
    shifted = fma(x, TWO_BY_PI, ROUNDER)
    n = shifted - ROUNDER
    exact = fma(n, -HALF_PI, x)
    second = n * HALF_PI_SECOND
    r, lost = two_sum(exact, -second)
    return r, fma(n, -HALF_PI_THIRD, lost - fma(n, HALF_PI_SECOND, -second)), shifted.bits()


def _sine(r: Lane, low: Lane, square: Lane) -> tuple[Lane, Lane]:
    """The sine of a reduced argument as its first term and the rest."""
    return r, fma(r * square, polynomial(square, SIN), low)


def _cosine(r: Lane, low: Lane, square: Lane) -> tuple[Lane, Lane]:
    half = 0.5 * square
    first = 1.0 - half
    return first, fma(square * square, polynomial(square, COS), ((1.0 - first) - half) - r * low)


@elementwise("sin", np.sin)
def sin(x: Lane) -> tuple[Lane, Lane]:
    """The sine of an angle in radians."""
    r, low, quadrant = _reduced(x)
    result = _sine_or_cosine(r, low, quadrant)
    return where(x.size() < 2.0**-27, x, result), _usual(x)


@elementwise("cos", np.cos)
def cos(x: Lane) -> tuple[Lane, Lane]:
    """The cosine of an angle in radians."""
    r, low, quadrant = _reduced(x)
    return _sine_or_cosine(r, low, quadrant + 1), _usual(x)


def _sine_or_cosine(r: Lane, low: Lane, quadrant: Lane) -> Lane:
    """The sine of a reduced argument and a number of right angles."""
    square = r * r
    odd = (quadrant & 1) > 0
    sine, sine_rest = _sine(r, low, square)
    cosine, cosine_rest = _cosine(r, low, square)
    result = where(odd, cosine, sine) + where(odd, cosine_rest, sine_rest)
    return result.signed((quadrant & 2) << _SIGN_PLACE)


@elementwise("tan", np.tan)
def tan(x: Lane) -> tuple[Lane, Lane]:
    """The tangent of an angle in radians."""
    r, low, quadrant = _reduced(x)
    square = r * r
    odd = (quadrant & 1) > 0
    sine, sine_rest = _sine(r, low, square)
    cosine, cosine_rest = _cosine(r, low, square)
    above, above_rest = where(odd, -cosine, sine), where(odd, -cosine_rest, sine_rest)
    below, below_rest = where(odd, sine, cosine), where(odd, sine_rest, cosine_rest)
    # one division, and one step that puts back what rounding and the second parts took
    divisor = below + below_rest
    inverse = 1.0 / divisor
    dividend = above + above_rest
    quotient = dividend * inverse
    missing = fma(-quotient, divisor, dividend)
    missing = missing + ((above - dividend) + above_rest)
    missing = fma(-quotient, (below - divisor) + below_rest, missing)
    return where(x.size() < 2.0**-27, x, fma(missing, inverse, quotient)), _usual(x)


@elementwise("atan", np.arctan)
def arctan(x: Lane) -> Lane:
    """The angle whose tangent is x."""
    size = x.size()
    middle, far = size > EIGHTH, size > THREE_EIGHTHS
    # arctan(x) = pi/4 + arctan((x - 1) / (x + 1)) = pi/2 - arctan(1 / x)
    above = where(far, -1.0, where(middle, size - 1.0, size))
    below = where(far, size, where(middle, size + 1.0, 1.0))
    t = above / below
    square = t * t
    rest = t * square * polynomial(square, ARCTAN)
    angle = where(far, 2.0 * QUARTER_PI, where(middle, QUARTER_PI, 0.0))
    angle_rest = where(far, 2.0 * QUARTER_PI_REST, where(middle, QUARTER_PI_REST, 0.0))
    return where(size < 2.0**-30, x, (angle + (t + (rest + angle_rest))).signed(x.sign()))
