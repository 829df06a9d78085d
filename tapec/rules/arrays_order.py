"""Sorting, quantiles, sets and histograms.

The order of the elements is found by sorting indices, which has no derivative; the values are then
read in that order.  Among equal elements the derivative belongs to the one that the sort puts there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import AXES, flat, within


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


def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    """A sorted copy, along the last axis unless told otherwise; None sorts the flattened array."""
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    a = np.asarray(a)
    if axis is None:
        return _sorted_rows(np.ravel(a))
    place = within(axis, a.ndim)
    if place == a.ndim - 1:
        return _sorted_rows(a)
    return np.swapaxes(_sorted_rows(np.swapaxes(a, place, a.ndim - 1)), place, a.ndim - 1)


def sort_in_place(a, axis=-1, kind=None, order=None, *, stable=None):
    """Sort in place along an axis."""
    a[...] = sort(a, axis, kind, order)


def partition(a, kth, axis=-1):
    """A copy with element `kth` where sorting would put it, smaller ones before it."""
    a = np.asarray(a)
    if axis is None:
        return partition(np.ravel(a), kth)
    place = within(axis, a.ndim)
    if place != a.ndim - 1:
        return np.swapaxes(partition(np.swapaxes(a, place, a.ndim - 1), kth), place, a.ndim - 1)
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


def unique(ar, return_index=False, return_inverse=False, return_counts=False):
    """The distinct elements, sorted; the derivative belongs to one of equal elements."""
    line = flat(ar)
    size = line.size
    order = np.argsort(line, kind="mergesort")
    values = np.empty(size, line.dtype)
    new = np.full(size, True)
    for k in range(size):
        values[k] = line[order[k]]
        # what is no number counts as one value, as in NumPy
        new[k] = k == 0 or (values[k] != values[k - 1] and (values[k] == values[k] or values[k - 1] == values[k - 1]))
    first = np.flatnonzero(new)
    results = [values[first]]
    if return_index:
        results.append(order[first])
    if return_inverse:
        inverse = np.empty(size, np.int64)
        group = -1
        for k in range(size):
            group += 1 if new[k] else 0
            inverse[order[k]] = group
        results.append(np.reshape(inverse, np.shape(ar)))
    if return_counts:
        counts = np.empty(first.size, np.int64)
        for k in range(first.size):
            counts[k] = (first[k + 1] if k + 1 < first.size else size) - first[k]
        results.append(counts)
    if len(results) == 1:
        return results[0]
    return tuple(results)


def unique_values(x, /):
    """The distinct elements, sorted."""
    return unique(x)


def lexsort(keys, axis=-1):
    """The order by several 1-D keys, of which the last one counts most."""
    order = np.argsort(np.asarray(keys[0]), kind="mergesort")
    for k in AXES[1 : len(keys)]:
        order = order[np.argsort(np.asarray(keys[k])[order], kind="mergesort")]
    return order


def sort_complex(a):
    """A sorted copy, as complex numbers: of a real array."""
    return sort(a) + 0j


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
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
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


def _uniform_counts(values, edges, low, high, counts, weights):
    bins = edges.size - 1
    for k in range(values.size):
        x = values[k]
        if x >= low and x <= high:
            place = min(int((x - low) / (high - low) * bins), bins - 1)
            # rounding may have crossed an edge
            if x < edges[place]:
                place -= 1
            elif place < bins - 1 and x >= edges[place + 1]:
                place += 1
            counts[place] += 1 if weights is None else weights[k]
    return counts


def _places(count):
    return range(count)


def _edges(values, bins, range):
    """The edges of bins, and the interval that bins of equal width are counted in."""
    if np.ndim(bins) > 0:
        edges = np.asarray(bins)
        return edges, edges[0], edges[edges.size - 1]
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
    return np.linspace(low, high, bins + 1), low, high


def histogram(a, bins=10, range=None, density=None, weights=None):
    """Counts per bin, which have no derivative, or sums of weights; and the edges of the bins, which have one."""
    values = flat(a)
    edges, low, high = _edges(values, bins, range)
    if weights is None:
        line = None
        counts = np.zeros(edges.size - 1, np.int64)
    else:
        line = flat(weights)
        if line.size != values.size:
            raise ValueError("weights should have the same shape as a.")
        counts = np.zeros(edges.size - 1, line.dtype)
    if np.ndim(bins) > 0:
        for k in _places(values.size):
            x = values[k]
            if x >= low and x <= high:
                place = np.searchsorted(edges, x, side="right") - 1
                counts[min(place, edges.size - 2)] += 1 if line is None else line[k]
    else:
        counts = _uniform_counts(values, edges, low, high, counts, line)
    if density:
        return counts / np.diff(edges) / np.sum(counts), edges
    return counts, edges


def histogram_bin_edges(a, bins=10, range=None):
    """The edges of the bins of a histogram."""
    edges, _, _ = _edges(flat(a), bins, range)
    return edges


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
    "unique": unique,
    "unique_values": unique_values,
    "lexsort": lexsort,
    "sort_complex": sort_complex,
    "union1d": union1d,
    "intersect1d": intersect1d,
    "setdiff1d": setdiff1d,
    "setxor1d": setxor1d,
    "bincount": bincount,
    "histogram": histogram,
    "histogram_bin_edges": histogram_bin_edges,
    "trim_zeros": trim_zeros,
}

METHODS: dict[str, Callable[..., Any]] = {"sort": sort_in_place}
