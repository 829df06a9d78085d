"""The logarithm of the gamma function, and its derivative.

Below 8.5 the recurrence leads to the neighbourhood of 2, where a polynomial stands for the quotient
log(gamma(2 + t)) / t; beyond, Stirling's formula (DLMF 5.5.1, 5.11.1).  Logarithms and the first term at 2 are
in two parts, as they are magnified or nearly cancelled.  The error is below 2 units in the last place, measured.

digamma goes the same ways (DLMF 5.5.2, 5.11.2), to a polynomial around its positive zero.
"""

from __future__ import annotations

import math

import numpy as np

from tapec_runtime.exp_log import ROUNDER, log_of_parts, log_parts
from tapec_runtime.machine_numbers import Lane, fma, polynomial, two_sum, where
from tapec_runtime.powers import log_in_two_parts
from tapec_runtime.special import polygamma
from tapec_runtime.vector_functions import Usual, elementwise

# (log(gamma(2 + t)) / t - SLOPE_AT_TWO) / t for |t| <= 1/2
AT_TWO = (
    0.3224670334241132,
    -0.06735230105319698,
    0.020580808427780414,
    -0.007385551028840736,
    0.0028905103310674246,
    -0.0011927539037187383,
    0.000509669514008985,
    -0.00022315493792885956,
    9.945769762557275e-05,
    -4.4924045421551197e-05,
    2.050537830800491e-05,
    -9.454855114266505e-06,
    4.385721713399452e-06,
    -1.9777061475132263e-06,
    9.175399625115367e-07,
    -5.778390917352191e-07,
    2.8125091720979174e-07,
)

# 1 - Euler's constant, and what the nearest float64 lacks
SLOPE_AT_TWO = 0.42278433509846713
SLOPE_AT_TWO_REST = 4.942915152430645e-18

# what Stirling's formula lacks, times x, as a function of 1 / x**2, x >= 8.5
STIRLING = (
    0.08333333333333331,
    -0.0027777777776840326,
    0.0007936507137821309,
    -0.000595213134478339,
    0.0008381993851423723,
    -0.0016801695495196978,
)

# (digamma(3/2 + t) / (t - ZERO) - SLOPE) / t for |t| <= 1/2
AROUND_ZERO = (
    -0.4236274212814606,
    0.2405424842407817,
    -0.14840492305388311,
    0.09498872445410285,
    -0.061922133275824284,
    0.04076083385085494,
    -0.02697579663266464,
    0.017907251518477586,
    -0.011908220913682608,
    0.007926957552064837,
    -0.005279924519976542,
    0.0035188949483228827,
    -0.002345613239173035,
    0.0015572327394660333,
    -0.001035785669010976,
    0.0007213552037238003,
    -0.0004882426151555594,
    0.00023083186669723563,
    -0.00014049884500704025,
    0.0002568815253621696,
    -0.00018165241066769403,
)

# that quotient for t = 0, and what the nearest float64 lacks
SLOPE = 0.9510558760318328
SLOPE_REST = 4.330743078649653e-17
# digamma's derivative at its zero
SLOPE_AT_ZERO = 0.9676722454476212

# log(x) - 1 / (2 x) - digamma(x), times x**2, as a function of 1 / x**2, x >= 8.5
BEYOND = (
    0.0833333333333331,
    -0.008333333332149922,
    0.0039682529584310995,
    -0.00416635043338379,
    0.007530623058062254,
    -0.01805824096710606,
)

# the positive zero of digamma, less 3/2, and what the nearest float64 lacks
ZERO = -0.03836785503163766
ZERO_REST = -1.6445603550442201e-18

# the formula's ranges are [k - 1/2, k + 1/2) up to this one
_LAST = 8.5
_HALF_LOG_TWO_PI = 0.9189385332046728
# below this the product x * (1 + x) may be subnormal
_SMALLEST = 2.0**-1000


def _library(x: float) -> float:
    """`math.lgamma`, infinite at the poles as in C."""
    return math.inf if x <= 0.0 and x == np.floor(x) else math.lgamma(x)


@elementwise("lgamma", _library)
def lgamma(x: Lane) -> Usual:
    """The logarithm of the absolute value of gamma(x); infinite at 0 and at the negative integers."""
    near = x < _LAST
    nearest = (x + ROUNDER) - ROUNDER
    # gamma(x) = gamma(2 + t) * (x - 1) * ... * (x - k), or gamma(2 + t) / x, or gamma(2 + t) / (x * (1 + x))
    tiny, low = x < 0.5, x < 1.5
    t = where(tiny, x, where(low, x - 1.0, x - nearest))
    product = where(x < 2.5, 1.0, x - 1.0)
    for k in range(2, 7):
        product = where(x < k + 1.5, product, product * (x - float(k)))
    square = x * x
    both, lost = two_sum(x, square)
    inverse = 1.0 / x
    # divided by the product: 1 / (1 + x) to a thirtieth is enough
    lost = where(tiny, (lost + fma(x, x, -square)) * inverse * (0.98 - 0.64 * x), 0.0)
    argument = where(near, where(tiny, both, where(low, x, product)), x)
    high, rest = log_in_two_parts(*log_parts(argument.bits()))
    sign = where(low, -1.0, 1.0)
    first = t * SLOPE_AT_TWO
    total, lost_of_total = two_sum(first, sign * high)
    others = fma(t, SLOPE_AT_TWO, -first) + fma(t, SLOPE_AT_TWO_REST, lost_of_total + sign * rest)
    around_two = total + fma(t * t, polynomial(t, AT_TWO), others)
    # (x - 1/2) * (log(x) - 1) + (log(2 pi) - 1) / 2 + ...
    factor, less = x - 0.5, high - 1.0
    main = factor * less
    correction = fma(inverse, polynomial(inverse * inverse, STIRLING), _HALF_LOG_TWO_PI - 0.5)
    beyond = where(main < np.inf, main + (fma(factor, less, -main) + fma(factor, rest, correction)), main)
    return Usual(where(near, around_two, beyond), (x >= _SMALLEST) & (x < np.inf))


def _digamma(x: float) -> float:
    return polygamma(0, x)


@elementwise("tapec.digamma", _digamma, _digamma)
def digamma(x: Lane) -> Usual:
    """The derivative of `lgamma`: `polygamma(0, x)`."""
    near, low = x < _LAST, x < 1.0
    nearest = ((x - 1.5) + ROUNDER) - ROUNDER
    t = where(low, x - 0.5, (x - 1.5) - nearest)
    # the sum of 1 / (x - 1), ..., 1 / (x - nearest) as one quotient; or -1 / x
    above, below = where(low, -1.0, x.number(0.0)), where(low, x, 1.0)
    above_rest, below_rest = x.number(0.0), x.number(0.0)
    for k in range(1, 8):
        taken = nearest >= float(k)
        factor, added = where(taken, x - float(k), 1.0), where(taken, below, 0.0)
        scaled = above * factor
        lost = fma(above, factor, -scaled)
        above, lost_of_sum = two_sum(scaled, added)
        above_rest = fma(above_rest, factor, lost + lost_of_sum) + where(taken, below_rest, 0.0)
        product = below * factor
        below_rest = fma(below_rest, factor, fma(below, factor, -product))
        below = product
    inverse = 1.0 / where(near, below, x)
    quotient = above * inverse
    quotient_rest = (fma(-quotient, below, above) + fma(-quotient, below_rest, above_rest)) * inverse
    distance, distance_rest = two_sum(t, t.number(-ZERO))
    first = distance * SLOPE
    first_rest = fma(distance, SLOPE, -first) + fma(distance_rest - ZERO_REST, SLOPE_AT_ZERO, distance * SLOPE_REST)
    total, lost = two_sum(first, quotient)
    others = lost + (first_rest + quotient_rest)
    around_zero = total + fma(distance * t, polynomial(t, AROUND_ZERO), others)
    less = inverse * fma(inverse, polynomial(inverse * inverse, BEYOND), 0.5)
    beyond = log_of_parts(*log_parts(x.bits())) - less
    return Usual(where(near, around_zero, beyond), (x >= _SMALLEST) & (x < np.inf))
