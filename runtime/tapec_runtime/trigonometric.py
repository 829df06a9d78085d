"""Sine, cosine, tangent, and the arc tangent.

Arguments below 2**30 are reduced with pi in three parts (Cody & Waite 1980, chapters 8 and 9; Muller,
Elementary Functions, chapter 11): the first product is exact before it is subtracted, so that the relative error is
small next to the zeros, too.  Sine and cosine take multiples of pi, which need one polynomial, a longer one, where
those of pi/2 need two and a choice for every number.  The tangent takes those and keeps a second part of the reduced
argument.  Larger arguments, infinite ones and nan go to the C library.
Errors are below 1.5 units in the last place, measured.
"""

from __future__ import annotations

import numpy as np

from tapec_runtime.exp_log import ROUNDER
from tapec_runtime.machine_numbers import Lane, fma, polynomial, two_sum, where
from tapec_runtime.vector_functions import Usual, elementwise

# pi in three parts, all positive, which keeps the sign of a zero
PI = 3.141592653589793
PI_SECOND = 1.224646799147353e-16
PI_THIRD = 2.165713347843828e-32

# pi / 2 in three parts, each the float64 nearest to what is left
HALF_PI = 1.5707963267948966
HALF_PI_SECOND = 6.123233995736766e-17
HALF_PI_THIRD = -1.4973849048591698e-33

# what arguments of arctan beyond FAR are compared with, and its arc tangent in two parts
MIDDLE = 1.6
MIDDLE_ANGLE = 1.0121970114513341
MIDDLE_ANGLE_REST = 9.163680252000775e-17
FAR = 0.62

# ((sin(r) / r - 1) / r**2 - MINUS_SIXTH) / r**2 as a function of r**2, |r| <= pi / 2
MINUS_SIXTH = -0.16666666666666666
SIN_OF_HALF = (
    0.008333333333333207,
    -0.00019841269841212864,
    2.7557319211651564e-06,
    -2.5052106913009166e-08,
    1.6058941475626249e-10,
    -7.643032564386326e-13,
    2.721566100954185e-15,
)

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

# (arctan(t) / t - 1) / t**2 as a function of t**2, |t| <= 1 / MIDDLE
ARCTAN = (
    -0.3333333333333305,
    0.19999999999932402,
    -0.14285714280118125,
    0.11111110876340266,
    -0.0909090323124609,
    0.07692212595110322,
    -0.06665607155704689,
    0.05873966684123096,
    -0.05214993596605557,
    0.045588431672673575,
    -0.037164818668395216,
    0.02551947912805306,
    -0.012485658666714588,
    0.003120022876262905,
)


def _usual(x: Lane) -> Lane:
    """Whether the reduction is good for an argument."""
    return x.size() < 2.0**30


def _sine(r: Lane, shifted: Lane) -> Lane:
    """The sine of `r + n * pi` for |r| <= pi / 2 and an n in the low bits of a sum with ROUNDER."""
    square = r * r
    # what rounding took from the square counts near pi / 2
    rest = fma(fma(r, r, -square), MINUS_SIXTH, square * square * polynomial(square, SIN_OF_HALF))
    result = fma(r, fma(square, MINUS_SIXTH, rest), r)
    return result.signed(shifted.bits() << 63)


@elementwise("sin", np.sin)
def sin(x: Lane) -> Usual:
    """The sine of an angle in radians."""
    shifted = fma(x, 1.0 / PI, ROUNDER)
    n = shifted - ROUNDER
    r = fma(n, -PI_THIRD, fma(n, -PI_SECOND, fma(n, -PI, x)))
    return Usual(_sine(r, shifted), _usual(x))


@elementwise("cos", np.cos)
def cos(x: Lane) -> Usual:
    """The cosine of an angle in radians: the sine of (n + 1/2) * pi - x, but for the sign."""
    shifted = fma(x, 1.0 / PI, -0.5) + ROUNDER
    n = (shifted - ROUNDER) + 0.5
    r = fma(n, PI_THIRD, fma(n, PI_SECOND, fma(n, PI, -x)))
    return Usual(_sine(r, shifted), _usual(x))


@elementwise("tan", np.tan)
def tan(x: Lane) -> Usual:
    """The tangent of an angle in radians."""
    r, low, odd = _reduced(x)
    square = r * r
    sine, sine_rest = r, fma(r * square, polynomial(square, SIN), low)
    half = 0.5 * square
    cosine = 1.0 - half
    cosine_rest = fma(square * square, polynomial(square, COS), ((1.0 - cosine) - half) - r * low)
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
    return Usual(where(x.size() < 2.0**-27, x, fma(missing, inverse, quotient)), _usual(x))


def _reduced(x: Lane) -> tuple[Lane, Lane, Lane]:
    """An argument less the nearest multiple of pi/2, in two parts; and whether the multiple is odd."""
    shifted = fma(x, 2.0 / PI, ROUNDER)
    n = shifted - ROUNDER
    exact = fma(n, -HALF_PI, x)
    second = n * HALF_PI_SECOND
    r, lost = two_sum(exact, -second)
    low = fma(n, -HALF_PI_THIRD, lost - fma(n, HALF_PI_SECOND, -second))
    return r, low, (shifted.bits() << 63) < 0


@elementwise("atan", np.arctan)
def arctan(x: Lane) -> Lane:
    """The angle whose tangent is x."""
    # beyond this the result is pi / 2
    size = x.size()
    size = where(size > 2.0**60, 2.0**60, size)
    # arctan(x) = arctan(c) + arctan((x - c) / (1 + c * x))
    # next to FAR, where its error would count most, x - c is exact
    far = size > FAR
    t = where(far, size - MIDDLE, size) / where(far, fma(size, MIDDLE, 1.0), 1.0)
    square = t * t
    angle, angle_rest = where(far, MIDDLE_ANGLE, 0.0), where(far, MIDDLE_ANGLE_REST, 0.0)
    rest = fma(t * square, polynomial(square, ARCTAN), angle_rest)
    return (angle + (t + rest)).signed(x.sign())
