"""Weighted means, variances and standard deviations, covariances and correlations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import AXES, axes_of, by_lane, float_type, known, stop_gradient
from tapec.rules.arrays_nan import mean_of_numbers
from tapec.rules.arrays_norms import _in_range, scale_of, scaled_squares, unit_of
from tapec.rules.arrays_product import outer
from tapec.rules.arrays_reduce import _chosen, _chosen_count, _count, _total, mean, sum_
from tapec.rules.arrays_shape import atleast_2d, concatenate

# a parameter of this name is what the caller knows already
_mean = mean


def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    """Weighted mean; along axes, the weights may have those axes alone."""
    a = np.asarray(a)
    if weights is None:
        found = mean(a, axis, keepdims=keepdims)
        if returned:
            return found, found * 0 + _count(a, axis)
        return found
    wide = np.asarray(weights)
    places = axes_of(axis, a.ndim)
    if wide.ndim != a.ndim:
        if axis is None:
            raise TypeError("axis must be specified when shapes of a and weights differ")
        shape: tuple[Any, ...] = ()
        used = 0
        for k in AXES[: a.ndim]:
            shape = shape + ((wide.shape[used],) if k in places else (1,))
            used = used + 1 if k in places else used
        wide = np.reshape(wide, shape)
    for k in AXES[: a.ndim]:
        if (k in places or wide.ndim == np.ndim(weights)) and a.shape[k] != wide.shape[k]:
            raise ValueError("a and weights must have the same shape")
    unit = unit_of(wide) if wide.dtype.kind == "f" else 1
    total = sum_(a * (wide / unit), axis, keepdims=keepdims)
    scale = sum_(wide / unit, axis, keepdims=keepdims)
    if wide.ndim != np.ndim(weights):
        scale = scale + 0 * total
    if np.any(scale == 0):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    if returned:
        return total / scale, scale * unit
    return total / scale


def _gaps(a, axis, where, mean):
    """The deviations from the mean, or from what the caller knows to be that, of the elements that are chosen."""
    centre = mean
    if mean is None:
        centre = _mean(a, None, where=where) if axis is None else _mean(a, axis, keepdims=True, where=where)
    return a - centre if where is None else _chosen(a - centre, where, 0)


def _freedom(a, axis, ddof, where, correction, keepdims):
    """What a sum of squares is divided by: how many there are less `ddof`, which is also called `correction`."""
    if correction is not None:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    count = _count(a, axis) if where is None else _chosen_count(a, axis, where, keepdims)
    return count if isinstance(ddof, int) and ddof == 0 else np.maximum(count - ddof, 0)


def var(a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=None, mean=None, correction=None):
    """Variance: the mean square of the deviations from the mean; `correction` is another name of `ddof`."""
    if isinstance(a, (tuple, list)):
        a = np.asarray(a)
    if dtype is not None:
        a = a.astype(dtype)
    freedom = _freedom(a, axis, ddof, where, correction, keepdims)
    return _total(np.square(_gaps(a, axis, where, mean)), axis, float_type(a.dtype), keepdims) / freedom


def _root_out_of_range(square, gaps, before, inner, after, freedom):
    """The root of the mean square of a lane's deviations, where that square is out of range."""
    scale = scale_of(gaps, before, inner, after)
    kind = gaps.dtype.type
    length = stop_gradient(np.sqrt(scaled_squares(gaps, scale, before, inner, after) / kind(freedom)) / scale)
    # second derivatives need the square of the length: what has none is added, so that they are no finite numbers
    return known(length, kind(0.5) * square / length + known(length - length, square) ** kind(1.5))


def std(a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=None, mean=None, correction=None):
    """Standard deviation.

    The derivative is not finite where the deviation is 0.  Second derivatives are finite for deviations of 1e-100 to
    1e100 (1e-12 to 1e12 in single precision).
    """
    if isinstance(a, (tuple, list)):
        a = np.asarray(a)
    if dtype is not None:
        a = a.astype(dtype)
    freedom = _freedom(a, axis, ddof, where, correction, False)
    kind = float_type(a.dtype)
    gaps = _gaps(a, axis, where, mean)
    square = _total(np.square(gaps), axis, kind, False) / freedom

    def of_lane(gaps, before, inner, after):
        one = square if np.ndim(square) == 0 else square[before + after]
        count = freedom if np.ndim(freedom) == 0 else freedom[before + after]
        return np.sqrt(one) if _in_range(one) else _root_out_of_range(one, gaps, before, inner, after, count)

    return by_lane(of_lane, gaps, axis, keepdims, kind)


def _squares_of_numbers(a, before, inner, after, ddof):
    """The variance of the elements of a lane that are not nan, their mean, and what their squares are divided by."""
    kind = float_type(a.dtype)
    centre = mean_of_numbers(a, before, inner, after)
    total = kind(0)
    count = 0
    for k in np.ndindex(inner):
        x = a[before + k + after]
        if x == x:
            total += (x - centre) * (x - centre)
            count += 1
    if count <= ddof:
        total = kind(np.nan)
        count = ddof + 1
    return total / (count - ddof), centre, count - ddof


def nanvar(a, axis=None, *, ddof=0, keepdims=False):
    """Variance of the elements that are not nan; nan if there are no more than `ddof`."""

    def spread(a, before, inner, after):
        return _squares_of_numbers(a, before, inner, after, ddof)[0]

    return by_lane(spread, a, axis, keepdims, float_type(a.dtype))


def nanstd(a, axis=None, *, ddof=0, keepdims=False):
    """Standard deviation of the elements that are not nan; derivatives are as those of `np.std`."""

    def spread(a, before, inner, after):
        square, centre, freedom = _squares_of_numbers(a, before, inner, after, ddof)
        if _in_range(square):
            return np.sqrt(square)
        lane = np.array([a[before + k + after] for k in np.ndindex(inner)])
        gaps = np.where(np.isnan(lane), lane.dtype.type(0), lane - centre)
        return _root_out_of_range(square, gaps, (), gaps.shape, (), freedom)

    return by_lane(spread, a, axis, keepdims, float_type(a.dtype))


def _variables(m, rowvar):
    a = atleast_2d(np.asarray(m))
    if not rowvar and np.ndim(m) > 1:
        return a.T
    return a


def _centred(rows):
    return rows - np.reshape(mean(rows, 1), (rows.shape[0], 1))


def _mean_products(centred, ddof):
    """The mean of the products of each row with each."""
    n = centred.shape[1]
    out = np.empty((centred.shape[0], centred.shape[0]), np.float64)
    for i in range(centred.shape[0]):
        for j in range(i + 1):
            total = 0.0
            for k in range(n):
                total += centred[i, k] * centred[j, k]
            out[i, j] = total / max(n - ddof, 0)
            out[j, i] = out[i, j]
    return out


def _weighted_covariance(rows, ddof, fweights, aweights):
    """The covariance of observations that count as often as the one weights say, and as much as the others do."""
    weights = np.ones(rows.shape[1])
    if fweights is not None:
        counts = np.asarray(fweights)
        if counts.size != rows.shape[1] or np.any(counts < 0):
            raise ValueError("fweights are one integer for each observation, none of them negative")
        weights = weights * counts
    if aweights is not None:
        sizes = np.asarray(aweights)
        if sizes.size != rows.shape[1] or np.any(sizes < 0):
            raise ValueError("aweights are one number for each observation, none of them negative")
        # what all are multiplied by does not matter
        aweights = sizes / unit_of(sizes) if sizes.dtype.kind == "f" else sizes
        weights = weights * aweights
    total = np.sum(weights)
    if aweights is None or ddof == 0:
        factor = total - ddof
    else:
        factor = total - ddof * np.sum(weights * aweights) / total
    centre = np.sum(rows * weights, 1) / total
    centred = rows - np.reshape(centre, (rows.shape[0], 1))
    return np.dot(centred * weights, centred.T) / (factor if factor > 0 else 0.0 * factor)


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """Covariance matrix of variables in rows; of one 1-D variable, its variance as a 0-d array."""
    rows = _variables(m, rowvar)
    if y is not None:
        rows = concatenate((rows, _variables(y, rowvar)))
    if dtype is not None:
        rows = rows.astype(dtype)
    if ddof is None:
        ddof = 0 if bias else 1
    if fweights is None and aweights is None:
        result = _mean_products(_centred(rows), ddof)
    else:
        result = _weighted_covariance(rows, ddof, fweights, aweights)
    if np.ndim(m) < 2 and y is None:
        return np.asarray(result[0, 0])
    return result


def corrcoef(x, y=None, rowvar=True):
    """Correlation coefficients of variables in rows."""
    rows = _variables(x, rowvar)
    if y is not None:
        rows = concatenate((rows, _variables(y, rowvar)))
    result = _mean_products(_in_units(_centred(rows)), 0)
    if np.ndim(x) < 2 and y is None:
        return result[0, 0] / result[0, 0]
    deviation = np.sqrt(np.diag(result))
    return result / outer(deviation, deviation)


def _in_units(centred):
    """Rows divided by their largest numbers, so that products are in the range of their type."""
    out = np.empty(centred.shape, centred.dtype)
    for i in range(centred.shape[0]):
        scale = scale_of(centred, (i,), (centred.shape[1],), ())
        for k in range(centred.shape[1]):
            out[i, k] = centred[i, k] * scale
    return out


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "average": average,
    "var": var,
    "std": std,
    "nanvar": nanvar,
    "nanstd": nanstd,
    "cov": cov,
    "corrcoef": corrcoef,
}

METHODS: dict[str, Callable[..., Any]] = {"var": var, "std": std}
