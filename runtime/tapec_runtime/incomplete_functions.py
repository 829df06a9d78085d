"""How the incomplete gamma and beta functions depend on their parameters.

The derivatives are sums of the same series and continued fractions as the functions are: Moore, Algorithm AS 187,
Applied Statistics 31 (1982) 330-335; Boik and Robison-Cox, Journal of Statistical Software 3 (1998).  The names begin
with an underscore, as those of SciPy's functions without a public name do.
"""

from __future__ import annotations

import math

from numba import njit

from tapec_runtime.special import polygamma

# beyond which no term changes a sum
_SMALL = 1e-17
# more terms than any numbers need whose function is not 0 or 1 to rounding
_MOST = 100000


@njit(cache=True, error_model="numpy")
def _gammainc_slope(a: float, x: float) -> float:
    """The derivative of `scipy.special.gammainc(a, x)` by `a`.

    >>> round(_gammainc_slope(2.0, 1.5), 12)
    -0.313488637825
    """
    if not (a > 0.0 and x >= 0.0):
        return math.nan
    if x == 0.0 or math.isinf(x):
        return 0.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x <= a + 1.0:
        term, total, inverses, weighted = 1.0, 1.0, 0.0, 0.0
        for n in range(1, _MOST):
            term *= x / (a + n)
            inverses += 1.0 / (a + n)
            total += term
            weighted += term * inverses
            if term * inverses <= _SMALL * weighted:
                break
        return scale / a * ((math.log(x) - polygamma(0, a + 1.0)) * total - weighted)
    # the fraction DLMF 8.9.2, with its derivative by `a`
    b, b_dot = x + 1.0 - a, -1.0
    c, c_dot = 1e300, 0.0
    d, d_dot = 1.0 / b, 1.0 / (b * b)
    h, h_dot = d, d_dot
    for n in range(1, _MOST):
        over, over_dot = -n * (n - a), float(n)
        b += 2.0
        d_dot = over_dot * d + over * d_dot + b_dot
        d = 1.0 / (over * d + b)
        d_dot *= -d * d
        c_dot = b_dot + (over_dot - over * c_dot / c) / c
        c = b + over / c
        grown, grown_dot = c * d, c_dot * d + c * d_dot
        h_dot = h_dot * grown + h * grown_dot
        h *= grown
        if abs(grown - 1.0) <= 1e-16 and abs(grown_dot * h) <= 1e-16 * abs(h_dot):
            break
    return -scale * (h * (math.log(x) - polygamma(0, a)) + h_dot)


@njit(cache=True, error_model="numpy")
def _step(over: float, over_dot: float, d: float, d_dot: float) -> tuple[float, float]:
    """`1 / (1 + over * d)`, and its derivative."""
    made = 1.0 / (1.0 + over * d)
    return made, -made * made * (over_dot * d + over * d_dot)


@njit(cache=True, error_model="numpy")
def _fraction(a: float, b: float, x: float, by_a: float) -> tuple[float, float]:
    """The fraction DLMF 8.17.22, and its derivative by `a` where `by_a` is 1, by `b` where it is 0."""
    by_b = 1.0 - by_a
    c, c_dot = 1.0, 0.0
    d, d_dot = _step(-(a + b) * x / (a + 1.0), x * (by_a * (b - 1.0) / (a + 1.0) - by_b) / (a + 1.0), 1.0, 0.0)
    h, h_dot = d, d_dot
    for m in range(1, _MOST):
        for odd in range(2):
            if odd == 0:
                below = (a + 2 * m - 1.0) * (a + 2 * m)
                over = m * (b - m) * x / below
                over_dot = by_b * m * x / below - by_a * over * (2 * a + 4 * m - 1.0) / below
            else:
                below = (a + 2 * m) * (a + 2 * m + 1.0)
                over = -(a + m) * (a + b + m) * x / below
                over_dot = -x / below * (by_a * (2 * a + b + 2 * m) + by_b * (a + m))
                over_dot -= by_a * over * (2 * a + 4 * m + 1.0) / below
            d, d_dot = _step(over, over_dot, d, d_dot)
            c_dot = (over_dot - over * c_dot / c) / c
            c = 1.0 + over / c
            grown, grown_dot = c * d, c_dot * d + c * d_dot
            h_dot = h_dot * grown + h * grown_dot
            h *= grown
        if abs(grown - 1.0) <= 1e-16 and abs(grown_dot * h) <= 1e-16 * abs(h_dot):
            break
    return h, h_dot


@njit(cache=True, error_model="numpy")
def _betainc_slope(a: float, b: float, x: float, first: bool) -> float:
    """The derivative of `scipy.special.betainc(a, b, x)` by `a`, or by `b`."""
    if not (a > 0.0 and b > 0.0 and 0.0 <= x <= 1.0):
        return math.nan
    if x == 0.0 or x == 1.0:
        return 0.0
    mirrored = x > (a + 1.0) / (a + b + 2.0)
    low, high = math.log(x), math.log1p(-x)
    scale = math.exp(a * low + b * high + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b))
    # for large numbers `betainc(a, b, x)` is `1 - betainc(b, a, 1 - x)`
    if mirrored:
        h, h_dot = _fraction(b, a, 1.0 - x, 0.0 if first else 1.0)
    else:
        h, h_dot = _fraction(a, b, x, 1.0 if first else 0.0)
    rate = (low - polygamma(0, a)) if first else (high - polygamma(0, b))
    rate += polygamma(0, a + b)
    bottom = b if mirrored else a
    if mirrored != first:
        rate -= 1.0 / bottom
    made = scale / bottom * (h * rate + h_dot)
    return -made if mirrored else made


@njit(cache=True, error_model="numpy")
def _betainc_slope_a(a: float, b: float, x: float) -> float:
    """The derivative of `scipy.special.betainc(a, b, x)` by `a`.

    >>> round(_betainc_slope_a(2.0, 3.0, 0.4), 12)
    -0.240869376088
    """
    return _betainc_slope(a, b, x, True)


@njit(cache=True, error_model="numpy")
def _betainc_slope_b(a: float, b: float, x: float) -> float:
    """The derivative of `scipy.special.betainc(a, b, x)` by `b`.

    >>> round(_betainc_slope_b(2.0, 3.0, 0.4), 12)
    0.156344336414
    """
    return _betainc_slope(a, b, x, False)
