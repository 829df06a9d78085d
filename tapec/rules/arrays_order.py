"""Sorting, quantiles, sets and histograms.

The order of the elements is found by sorting indices, which has no derivative; the values are then
read in that order.  Among equal elements the derivative belongs to the one that the sort puts there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import flat, float_type, kept, last_axis, within


def _sorted_rows(a):
    out = np.empty(a.shape, a.dtype)
    if a.ndim == 1:
        order = np.argsort(a)
        for k in range(a.size):
            out[k] = a[order[k]]
    else:
        for i in np.ndindex(a.shape[:-1]):
            row = a[i]
            order = np.argsort(row)
            for k in range(a.shape[-1]):
                out[i + (k,)] = row[order[k]]
    return out


def sort(a, axis=-1):
    """A sorted copy, along the last axis unless told otherwise; None sorts the flattened array."""
    a = np.asarray(a)
    if axis is None:
        return _sorted_rows(np.ravel(a))
    place = within(axis, a.ndim)
    if place == a.ndim - 1:
        return _sorted_rows(a)
    return np.swapaxes(_sorted_rows(np.swapaxes(a, place, a.ndim - 1)), place, a.ndim - 1)


def sort_in_place(a, axis=-1):
    """Sort in place along an axis."""
    a[...] = sort(a, axis)


def partition(a, kth):
    """A copy with element `kth` where sorting would put it, smaller ones before it."""
    a = np.asarray(a)
    out = np.empty(a.shape, a.dtype)
    if a.ndim == 1:
        order = np.argpartition(a, kth)
        for k in range(a.size):
            out[k] = a[order[k]]
    else:
        for i in np.ndindex(a.shape[:-1]):
            row = a[i]
            order = np.argpartition(row, kth)
            for k in range(a.shape[-1]):
                out[i + (k,)] = row[order[k]]
    return out


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


def median(a, axis=None, *, keepdims=False):
    """Median; of an even number of elements the mean of the middle two."""
    a = np.asarray(a)
    if axis is None:
        return kept(_middle(np.ravel(a)), a.ndim, keepdims)
    rows = last_axis(a, axis)
    if rows.ndim == 1:
        return kept(_middle(rows), 1, keepdims)
    out = np.empty(rows.shape[:-1], float_type(a.dtype))
    for i in np.ndindex(rows.shape[:-1]):
        out[i] = _middle(rows[i])
    if keepdims:
        return np.expand_dims(out, within(axis, a.ndim))
    return out


def _numbers(a):
    """The elements that are not nan, flattened."""
    values = flat(a)
    if values.dtype.kind != "f":
        return values
    return values[values == values]


def nanmedian(a):
    """Median of the elements that are not nan."""
    return _middle(_numbers(a))


def _between(values, order, fraction):
    """The value at a fraction of the way through the sorted values, interpolated linearly."""
    n = values.size
    if n == 0:
        return np.nan
    place = fraction * (n - 1)
    low = min(int(place), n - 1)
    high = min(low + 1, n - 1)
    below = values[order[low]]
    last = values[order[n - 1]]
    if last != last:
        below = last
    return below + (values[order[high]] - below) * (place - low)


def _quantile(values, q, scale):
    order = np.argsort(values)
    if np.ndim(q) == 0:
        if not (q >= 0 and q <= scale):
            raise ValueError("quantiles must be in the range from 0 to 1, percentiles from 0 to 100")
        return _between(values, order, q / scale)
    q = np.asarray(q)
    out = np.empty(q.shape, np.float64)
    for k in np.ndindex(q.shape):
        if not (q[k] >= 0 and q[k] <= scale):
            raise ValueError("quantiles must be in the range from 0 to 1, percentiles from 0 to 100")
        out[k] = _between(values, order, q[k] / scale)
    return out


def quantile(a, q):
    """Quantiles of all elements, interpolated linearly."""
    return _quantile(flat(a), q, 1.0)


def percentile(a, q):
    """Percentiles of all elements, interpolated linearly."""
    return _quantile(flat(a), q, 100.0)


def nanquantile(a, q):
    """Quantiles of the elements that are not nan."""
    return _quantile(_numbers(a), q, 1.0)


def nanpercentile(a, q):
    """Percentiles of the elements that are not nan."""
    return _quantile(_numbers(a), q, 100.0)


def unique(ar):
    """The distinct elements, sorted; the derivative belongs to one of equal elements."""
    values = _sorted_rows(flat(ar))
    count = 0
    for k in range(values.size):
        if k == 0 or values[k] != values[k - 1]:
            count += 1
    out = np.empty(count, values.dtype)
    place = 0
    for k in range(values.size):
        if k == 0 or values[k] != values[k - 1]:
            out[place] = values[k]
            place += 1
    return out


def _joined(first, second):
    return np.concatenate((flat(first), flat(second)))


def union1d(ar1, ar2):
    """The distinct elements of both arrays, sorted."""
    return unique(_joined(ar1, ar2))


def _distinct(ar, assume_unique):
    if assume_unique:
        return flat(ar)
    return unique(ar)


def _found(values, among):
    """Whether each value is among others."""
    others = _sorted_rows(flat(among))
    out = np.full(values.size, False)
    for k in range(values.size):
        place = np.searchsorted(others, values[k])
        if place < others.size and others[place] == values[k]:
            out[k] = True
    return out


def intersect1d(ar1, ar2, assume_unique=False):
    """The distinct elements of the first array that are in the second too, sorted."""
    values = _sorted_rows(_distinct(ar1, assume_unique))
    return values[_found(values, ar2)]


def setdiff1d(ar1, ar2, assume_unique=False):
    """The distinct elements of the first array that are not in the second."""
    values = _distinct(ar1, assume_unique)
    return values[np.logical_not(_found(values, ar2))]


def setxor1d(ar1, ar2, assume_unique=False):
    """The distinct elements that are in one of the arrays only, sorted."""
    first = setdiff1d(ar1, ar2, assume_unique)
    return _sorted_rows(np.concatenate((first, setdiff1d(ar2, ar1, assume_unique))))


def bincount(x, weights=None, minlength=0):
    """How often each integer occurs, or the sum of its weights."""
    x = np.asarray(x)
    size = 0
    for k in range(x.size):
        if x[k] < 0:
            raise ValueError("the elements of the first argument must not be negative")
        size = max(size, int(x[k]) + 1)
    size = max(size, minlength)
    if weights is None:
        counts = np.zeros(size, np.int64)
        for k in range(x.size):
            counts[x[k]] += 1
        return counts
    weights = np.asarray(weights)
    if weights.size != x.size:
        raise ValueError("the weights and the list don't have the same length")
    sums = np.zeros(size, np.float64)
    for k in range(x.size):
        sums[x[k]] += weights[k]
    return sums


def _uniform_counts(values, edges, low, high):
    bins = edges.size - 1
    counts = np.zeros(bins, np.int64)
    for k in range(values.size):
        x = values[k]
        if x >= low and x <= high:
            place = min(int((x - low) / (high - low) * bins), bins - 1)
            # rounding may have crossed an edge
            if x < edges[place]:
                place -= 1
            elif place < bins - 1 and x >= edges[place + 1]:
                place += 1
            counts[place] += 1
    return counts


def histogram(a, bins=10, range=None):
    """Counts per bin, which have no derivative, and the edges of the bins, which have one."""
    values = flat(a)
    if np.ndim(bins) > 0:
        edges = np.asarray(bins)
        counts = np.zeros(edges.size - 1, np.int64)
        for x in values:
            if x >= edges[0] and x <= edges[edges.size - 1]:
                place = np.searchsorted(edges, x, side="right") - 1
                counts[min(place, edges.size - 2)] += 1
        return counts, edges
    if range is not None:
        low = float(range[0])
        high = float(range[1])
    elif values.size == 0:
        low = 0.0
        high = 1.0
    else:
        low = float(np.min(values))
        high = float(np.max(values))
    if low == high:
        low -= 0.5
        high += 0.5
    edges = np.linspace(low, high, bins + 1)
    return _uniform_counts(values, edges, low, high), edges


def trim_zeros(filt, trim="fb"):
    """A view without leading (`f`) and trailing (`b`) zeros."""
    first = 0
    last = filt.size
    if "f" in trim or "F" in trim:
        while first < last and filt[first] == 0:
            first += 1
    if "b" in trim or "B" in trim:
        while last > first and filt[last - 1] == 0:
            last -= 1
    return filt[first:last]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sort": sort,
    "partition": partition,
    "median": median,
    "nanmedian": nanmedian,
    "quantile": quantile,
    "percentile": percentile,
    "nanquantile": nanquantile,
    "nanpercentile": nanpercentile,
    "unique": unique,
    "union1d": union1d,
    "intersect1d": intersect1d,
    "setdiff1d": setdiff1d,
    "setxor1d": setxor1d,
    "bincount": bincount,
    "histogram": histogram,
    "trim_zeros": trim_zeros,
}

METHODS: dict[str, Callable[..., Any]] = {"sort": sort_in_place}
