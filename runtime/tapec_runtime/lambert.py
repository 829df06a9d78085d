"""Lambert's W of real numbers."""

from __future__ import annotations

import math

from numba import njit


@njit(cache=True, error_model="numpy")
def lambert_w(branch: int, x: float) -> float:
    """The solution `w` of `w * exp(w) == x`, for x of at least -1/e.

    branch   0 for w of at least -1, -1 for the others, which negative x have
    returns  a float; nan where there is no real solution

    Halley's method: Corless and others, On the Lambert W function, Adv. Comput. Math. 5 (1996) 329-359, section 5.

    >>> lambert_w(0, 1.0)
    0.5671432904097838
    """
    z = float(x)
    # by how much x is above -1/e, whose rounding is made up for
    over = (z + 0.36787944117144233) - 1.2428753672788363e-17
    if -1e-16 < over < 0.0:
        # -1/e itself is no number of this type
        over = 0.0
    if z != z or over < 0.0 or (branch != 0 and z > 0.0):
        return math.nan
    if z == 0.0:
        return 0.0 if branch == 0 else -math.inf
    if math.isinf(z):
        return z
    root = math.sqrt(2.0 * math.e * over)
    near = root if branch == 0 else -root
    if root < 0.01:
        # the series around the branch point
        rest = 11.0 / 72.0 - near * (43.0 / 540.0 - near * 769.0 / 17280.0)
        return -1.0 + near * (1.0 - near * (1.0 / 3.0 - near * rest))
    if root < 1.0:
        w = -1.0 + near * (1.0 - near * (1.0 / 3.0 - near * 11.0 / 72.0))
    elif branch == 0:
        w = math.log1p(z) * (1.0 - math.log1p(math.log1p(z)) / (2.0 + math.log1p(z))) if z > -0.3 else near - 1.0
    else:
        low = math.log(-z)
        w = low - math.log(-low)
    for _ in range(60):
        grown = math.exp(w)
        rest = w * grown - z
        step = rest / (grown * (w + 1.0) - (w + 2.0) * rest / (2.0 * w + 2.0))
        w -= step
        if abs(step) <= 1e-16 * abs(w):
            break
    return w
