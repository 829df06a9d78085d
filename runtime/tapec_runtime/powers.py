"""Powers of floats.

x**y = exp(y * log(x)), with the logarithm and the product in two parts, so that the error of the
exponent, which the exponential magnifies, stays below 2**-60 (Muller, Elementary Functions, chapters
3 and 13).  The error of the result is below 1.5 units in the last place, measured.
"""

from __future__ import annotations

import numpy as np

from tapec_runtime.exp_log import LN2, LN2_REST, exp_within, in_range_of_log, log_parts
from tapec_runtime.machine_numbers import Lane, fma, polynomial
from tapec_runtime.vector_functions import Usual, elementwise

# (log((1 + s) / (1 - s)) / s - 2 - 2/3 s**2) / s**4 as a function of s**2, |s| <= 3 - sqrt(8)
LOG_REST = (
    0.3999999999999998,
    0.2857142857144511,
    0.22222222217536522,
    0.18181818870308114,
    0.15384556871387883,
    0.1333631740640537,
    0.11674818714781503,
    0.11989011822759446,
)

# 2/3 to twice the precision
_TWO_THIRDS = 0.6666666666666666
_TWO_THIRDS_REST = 3.700743415417188e-17


def log_in_two_parts(less: Lane, f: Lane) -> tuple[Lane, Lane]:
    """`log(1 + f) - less * log(2)`."""
    divisor = 2.0 + f
    s = f / divisor
    # 1 / (2 + f) is (1 - s) / 2
    s_low = fma(-s, f - (divisor - 2.0), fma(-s, divisor, f)) * fma(s, -0.5, 0.5)
    double = s + s
    z = s * s
    z_low = fma(double, s_low, fma(s, s, -z))
    cube = s * z
    cube_low = fma(s, z_low, fma(s_low, z, fma(s, z, -cube)))
    rest = z * polynomial(z, LOG_REST)
    factor = _TWO_THIRDS + rest
    factor_low = ((_TWO_THIRDS - factor) + rest) + _TWO_THIRDS_REST
    term = cube * factor
    term_low = fma(cube, factor_low, fma(cube_low, factor, fma(cube, factor, -term)))
    near = double + term
    near_low = ((double - near) + term) + fma(s_low, 2.0, term_low)
    far = less * -LN2
    total = far + near
    low = ((far - total) + near) + fma(less, -LN2_REST, fma(less, -LN2, -far) + near_low)
    return total, low


@elementwise("pow", np.power)
def power(x: Lane, y: Lane) -> Usual:
    """x**y as in C: nan for a negative x and a y that is no integer, 1 for y = 0 and for x = 1."""
    high, low = log_in_two_parts(*log_parts(x.bits()))
    exponent = y * high
    result = exp_within(exponent, fma(y, high, -exponent) + y * low)

    def rest() -> Usual:
        return Usual(x.number(0.0), x.bits().equals(0) & (y > 0.0) & (y < np.inf))

    # rare: negative bases with -0, subnormal ones, results near the ends of the range, infinities, nan
    return Usual(result, in_range_of_log(x.bits()) & (exponent.size() < 700.0), rest)
