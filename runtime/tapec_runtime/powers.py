"""Powers of floats.

x**y = exp(y * log(x)), with the logarithm and the product in two parts, so that the error of the
exponent, which the exponential magnifies, stays below 2**-60 (Muller, Elementary Functions, chapters
3 and 13).  The error of the result is below 1.5 units in the last place, measured.
"""

from __future__ import annotations

import numpy as np

from tapec_runtime.elementwise import elementwise
from tapec_runtime.exp_log import LN2, LN2_REST, exp_within, log_parts
from tapec_runtime.lanes import Lane, fma, polynomial, where

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


def log_in_two_parts(e: Lane, f: Lane) -> tuple[Lane, Lane]:
    """`e * log(2) + log(1 + f)`."""
    divisor = 2.0 + f
    s = f / divisor
    # 1 / (2 + f) is (1 - s) / 2
    s_low = fma(-s, divisor, f) - s * (f - (divisor - 2.0))
    s_low = s_low * (0.5 - 0.5 * s)
    z = s * s
    z_low = fma(s, s, -z) + 2.0 * s * s_low
    cube = s * z
    cube_low = fma(s, z, -cube) + (s * z_low + s_low * z)
    rest = z * polynomial(z, LOG_REST)
    factor = _TWO_THIRDS + rest
    factor_low = ((_TWO_THIRDS - factor) + rest) + (_TWO_THIRDS_REST)
    term = cube * factor
    term_low = fma(cube, factor, -term) + (cube * factor_low + cube_low * factor)
    double = s + s
    near = double + term
    near_low = ((double - near) + term) + (term_low + 2.0 * s_low)
    far = e * LN2
    total = far + near
    low = ((far - total) + near) + (near_low + fma(e, LN2, -far) + e * LN2_REST)
    return total, low


@elementwise("pow", np.power)
def power(x: Lane, y: Lane) -> tuple[Lane, Lane]:
    """x**y as in C: nan for a negative x and a y that is no integer, 1 for y = 0 and for x = 1."""
    e, _, f = log_parts(x.bits())
    high, low = log_in_two_parts(e, f)
    exponent = y * high
    result = exp_within(exponent, fma(y, high, -exponent) + y * low)
    zero = x.bits().equals(0) & (y > 0.0) & (y < np.inf)
    # rare: negative bases with -0, subnormal ones, results near the ends of the range, infinities, nan
    usual = (x >= 2.0**-1022) & (x < np.inf) & (exponent.size() < 700.0)
    return where(zero, 0.0, result), zero | usual
