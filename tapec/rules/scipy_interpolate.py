"""Interpolators of `scipy.interpolate` that are polynomials between break points."""

from __future__ import annotations

import numpy as np


def piecewise(c, x, at, nu, extrapolate):
    """A polynomial for each gap, or its derivative of order `nu`, at places.

    c            (k, m), coefficients for the gaps, highest power first
    x            (m + 1,), the break points, sorted
    extrapolate  whether the first and the last one hold beyond the ends, where the value is nan otherwise
    """
    if np.ndim(at) == 0:
        return _value(c, x, at * 1.0, nu, extrapolate)
    places = np.asarray(at) * 1.0
    out = np.empty(places.shape, c.dtype)
    for index in np.ndindex(places.shape):
        out[index] = _value(c, x, places[index], nu, extrapolate)
    return out


def _value(c, x, place, nu, extrapolate):
    last = x.shape[0] - 1
    k = min(max(np.searchsorted(x, place, side="right") - 1, 0), last - 1)
    s = place - x[k]
    total = 0.0 * s
    for j in range(c.shape[0] - nu):
        factor = 1.0
        for i in range(nu):
            factor *= c.shape[0] - 1 - j - i
        total = total * s + factor * c[j, k]
    if not extrapolate and (place < x[0] or place > x[last]):
        return np.nan * s
    return total
