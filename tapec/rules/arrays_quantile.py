"""Medians and quantiles, of all elements or along axes.

The elements of a lane are read in their order, which has no derivative.  Methods as in R. J. Hyndman and Y. Fan,
"Sample quantiles in statistical packages", The American Statistician 50 (1996) 361-365.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import axes_of, flat, float_type, remaining, together


def _middle(values):
    """The median of a 1-D array."""
    kind = float_type(values.dtype)
    n = values.size
    result = kind(np.nan)
    if n > 0:
        order = np.argsort(values)
        last = values[order[n - 1]]
        half = n // 2
        if last != last:
            result = kind(last)
        elif n % 2 == 1:
            result = kind(values[order[half]])
        else:
            result = kind(0.5) * (kind(values[order[half - 1]]) + kind(values[order[half]]))
    return result


def _numbers(values):
    """The elements of a 1-D array that are not nan."""
    if values.dtype.kind != "f":
        return values
    return values[values == values]


def _whole(line, keep):
    return keep(line) if keep is not None else line


def _each(a, axis, keepdims, keep):
    """The median of all elements or of each lane, of those that `keep` leaves."""
    a = np.asarray(a)
    places = axes_of(axis, a.ndim)
    lanes = flat(a) if axis is None else together(a, places)
    if lanes.ndim == 1:
        found = _middle(_whole(lanes, keep))
        return np.full((1,) * a.ndim, found) if keepdims else found
    out = np.empty(lanes.shape[:-1], float_type(a.dtype))
    for i in np.ndindex(lanes.shape[:-1]):
        out[i] = _middle(_whole(lanes[i], keep))
    return np.reshape(out, remaining(a.shape, places, (1,))) if keepdims else out


def median(a, axis=None, *, keepdims=False):
    """Median; of an even number of elements the mean of the middle two."""
    return _each(a, axis, keepdims, None)


def nanmedian(a, axis=None, *, keepdims=False):
    """Median of the elements that are not nan."""
    return _each(a, axis, keepdims, _numbers)


def _place(fraction, n, method):
    """Where among `n` sorted elements a quantile is, as a number from 0 to n - 1."""
    if method == "linear":
        return fraction * (n - 1)
    if method == "lower":
        return np.floor(fraction * (n - 1))
    if method == "higher":
        return np.ceil(fraction * (n - 1))
    if method == "nearest":
        return np.rint(fraction * (n - 1))
    if method == "midpoint":
        return 0.5 * (np.floor(fraction * (n - 1)) + np.ceil(fraction * (n - 1)))
    if method == "inverted_cdf":
        return np.ceil(n * fraction) - 1.0
    if method == "averaged_inverted_cdf":
        place = n * fraction - 1.0
        return place + 0.5 if place == np.floor(place) else np.ceil(place)
    if method == "closest_observation":
        return np.rint(n * fraction) - 1.0
    if method == "interpolated_inverted_cdf":
        return n * fraction - 1.0
    if method == "hazen":
        return n * fraction - 0.5
    if method == "weibull":
        return (n + 1) * fraction - 1.0
    if method == "median_unbiased":
        return (n + 1.0 / 3.0) * fraction - 2.0 / 3.0
    if method == "normal_unbiased":
        return (n + 0.25) * fraction - 0.625
    raise ValueError("this is none of NumPy's methods of quantiles")


def _between(values, order, fraction, method):
    """The value at a fraction of the way through the sorted values."""
    n = values.size
    if n == 0:
        return float_type(values.dtype)(np.nan)
    place = _place(fraction, n, method)
    if place < 0 or place > n - 1:
        place = 0.0 * fraction if place < 0 else 0.0 * fraction + (n - 1)
    low = min(int(place), n - 1)
    high = min(low + 1, n - 1)
    below = values[order[low]]
    last = values[order[n - 1]]
    if last != last:
        below = last
    return below + (values[order[high]] - below) * (place - low)


def _quantile_of(values, q, scale, method, out, i):
    """The quantiles of a lane, stored where they belong; the number itself if there is one of them."""
    order = np.argsort(values)
    if np.ndim(q) == 0:
        return _between(values, order, q / scale, method)
    for k in np.ndindex(q.shape):
        out[k + i] = _between(values, order, q[k] / scale, method)
    return 0.0


def _check(q, scale):
    for k in np.ndindex(q.shape):
        if not (q[k] >= 0 and q[k] <= scale):
            raise ValueError("quantiles must be in the range from 0 to 1, percentiles from 0 to 100")


def _quantile(a, q, axis, method, keepdims, scale, keep):
    a = np.asarray(a)
    places = axes_of(axis, a.ndim)
    lanes = flat(a) if axis is None else together(a, places)
    kind = float_type(a.dtype)
    if np.ndim(q) == 0:
        if not (q >= 0 and q <= scale):
            raise ValueError("quantiles must be in the range from 0 to 1, percentiles from 0 to 100")
        if lanes.ndim == 1:
            found = _quantile_of(_whole(lanes, keep), q, scale, method, None, ())
            return np.full((1,) * a.ndim, found) if keepdims else found
        out = np.empty(lanes.shape[:-1], kind)
        for i in np.ndindex(lanes.shape[:-1]):
            out[i] = _quantile_of(_whole(lanes[i], keep), q, scale, method, None, ())
        return np.reshape(out, remaining(a.shape, places, (1,))) if keepdims else out
    q = np.asarray(q)
    _check(q, scale)
    out = np.empty(q.shape + lanes.shape[:-1], np.float64)
    if lanes.ndim == 1:
        _quantile_of(_whole(lanes, keep), q, scale, method, out, ())
    else:
        for i in np.ndindex(lanes.shape[:-1]):
            _quantile_of(_whole(lanes[i], keep), q, scale, method, out, i)
    return np.reshape(out, q.shape + remaining(a.shape, places, (1,))) if keepdims else out


def quantile(a, q, axis=None, *, method="linear", keepdims=False):
    """Quantiles of all elements, or along an axis or several, by any of NumPy's methods."""
    return _quantile(a, q, axis, method, keepdims, 1.0, None)


def percentile(a, q, axis=None, *, method="linear", keepdims=False):
    """Percentiles of all elements, or along an axis or several, by any of NumPy's methods."""
    return _quantile(a, q, axis, method, keepdims, 100.0, None)


def nanquantile(a, q, axis=None, *, method="linear", keepdims=False):
    """Quantiles of the elements that are not nan."""
    return _quantile(a, q, axis, method, keepdims, 1.0, _numbers)


def nanpercentile(a, q, axis=None, *, method="linear", keepdims=False):
    """Percentiles of the elements that are not nan."""
    return _quantile(a, q, axis, method, keepdims, 100.0, _numbers)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "median": median,
    "nanmedian": nanmedian,
    "quantile": quantile,
    "percentile": percentile,
    "nanquantile": nanquantile,
    "nanpercentile": nanpercentile,
}
