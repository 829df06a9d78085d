"""Sums, products, means and extremes, over all elements or along axes.

Where several elements tie for a maximum or minimum, its derivative is shared evenly among them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import (
    accumulator,
    axes_of,
    by_lane,
    float_type,
    is_block,
    kept,
    known,
    lane_size,
    last_axis,
    remaining,
    runs_once,
    stop_gradient,
    within,
)


def _total(a, axis, kind, keepdims):
    """Sum with accumulators of type `kind`; reads each element once, in memory order."""
    shape = a.shape
    places = axes_of(axis, a.ndim)
    if len(places) == a.ndim:
        total = kind(0)
        for k in np.ndindex(shape):
            total += a[k]
        return kept(total, a.ndim, keepdims)
    out = np.zeros(remaining(shape, places, (1,) if keepdims else ()), kind)
    zero: tuple[Any, ...] = (0,) * len(places) if keepdims else ()
    first = places[0] if places else 0
    stop = first + len(places)
    if not is_block(places):
        for k in np.ndindex(shape):
            out[remaining(k, places, (0,) if keepdims else ())] += a[k]
    elif stop == a.ndim:
        for i in np.ndindex(shape[:first]):
            total = kind(0)
            for k in np.ndindex(shape[first:]):
                total += a[i + k]
            out[i + zero] = total
    else:
        for i in np.ndindex(shape[:first]):
            for j in np.ndindex(shape[first:stop]):
                for k in np.ndindex(shape[stop:]):
                    out[i + zero + k] += a[i + j + k]
    return out


def _count(a, axis):
    """How many elements one mean is taken over."""
    return a.size if axis is None else lane_size(tuple(a.shape[k] for k in axes_of(axis, a.ndim)))


def _chosen(a, where, other):
    """The elements where a condition holds, and `other` elsewhere."""
    return np.where(where, a, a.dtype.type(other))


def _chosen_count(a, axis, where, keepdims):
    """How many elements one mean is taken over, of those that a condition chooses."""
    return _total(np.broadcast_to(where, a.shape), axis, np.int64, keepdims)


def sum_(a, axis=None, dtype=None, *, keepdims=False, initial=None, where=None):
    """Sum of all elements, or along an axis or several; with `where`, of those that it chooses."""
    if isinstance(a, (tuple, list)):
        a = np.asarray(a)
    if where is not None:
        a = _chosen(a, where, 0)
    if dtype is None:
        total = _total(a, axis, accumulator(a.dtype), keepdims)
    else:
        total = _total(a.astype(dtype), axis, np.dtype(dtype).type, keepdims)
    return total if initial is None else total + initial


def mean(a, axis=None, dtype=None, *, keepdims=False, where=None):
    """Arithmetic mean of all elements, or along an axis or several; with `where`, of those that it chooses."""
    if isinstance(a, (tuple, list)):
        a = np.asarray(a)
    if dtype is not None:
        return mean(a.astype(dtype), axis, keepdims=keepdims, where=where)
    if where is None:
        return _total(a, axis, float_type(a.dtype), keepdims) / _count(a, axis)
    total = _total(_chosen(a, where, 0), axis, float_type(a.dtype), keepdims)
    return total / _chosen_count(a, axis, where, keepdims)


def _product(a, before, inner, after):
    total = accumulator(a.dtype)(1)
    for k in np.ndindex(inner):
        total *= a[before + k + after]
    return total


def prod(a, axis=None, dtype=None, *, keepdims=False, initial=None, where=None):
    """Product of all elements, or along an axis or several; with `where`, of those that it chooses."""
    if isinstance(a, (tuple, list)):
        a = np.asarray(a)
    if dtype is not None:
        a = a.astype(dtype)
    if where is not None:
        a = _chosen(a, where, 1)
    total = by_lane(_product, a, axis, keepdims, accumulator(a.dtype))
    return total if initial is None else total * initial


def _tied(a, before, inner, after, best):
    """`best`, as the mean of the elements that are equal to it."""
    if a.dtype.kind != "f":
        return best
    best = stop_gradient(best)
    # large arrays stand outside of loops: where one element is the largest, the reverse sweep need not look for it
    if len(inner) == 1 and runs_once():
        undefined = best != best
        count = 0
        place = 0
        for k in range(inner[0]):
            x = a[before + (k,) + after]
            tied = undefined or x == best
            count += 1 if tied else 0
            place = max(place, k if tied else 0)
        if count == 1:
            value = a[before + (place,) + after]
        else:
            value = _mean_of_ties(a, before, inner, after, best)
        return known(best, value)
    return known(best, _mean_of_ties(a, before, inner, after, best))


def _mean_of_ties(a, before, inner, after, best):
    """The mean of the elements that are equal to `best`."""
    # differences from a finite best are exact zeros; an infinite one must be summed itself
    base = best if np.isfinite(best) else a.dtype.type(0)
    undefined = best != best
    zero = a.dtype.type(0)
    shift = zero
    count = 0
    for k in np.ndindex(inner):
        x = a[before + k + after]
        tied = undefined or x == best
        # a choice of values, not of ways, so that the loop can run on vectors
        shift += x - base if tied else zero
        count += 1 if tied else 0
    return a.dtype.type(base + shift / count)


def _first(a, before, inner, after):
    if lane_size(inner) == 0:
        raise ValueError("zero-size array to a reduction operation which has no identity")
    return a[before + (0,) * len(inner) + after]


def extreme(a, before, inner, after, pick):
    best = _first(a, before, inner, after)
    for k in np.ndindex(inner):
        best = pick(best, a[before + k + after])
    return _tied(a, before, inner, after, best)


def _largest(a, before, inner, after):
    return extreme(a, before, inner, after, np.maximum)


def _smallest(a, before, inner, after):
    return extreme(a, before, inner, after, np.minimum)


def _extreme_of(a, axis, keepdims, initial, where, lane, pick):
    """An extreme, also of an initial value if there is one, and of the elements that a condition chooses."""
    if initial is None:
        if where is not None:
            raise ValueError("to use a where mask one has to specify 'initial'")
        return by_lane(lane, a, axis, keepdims, a.dtype)
    if where is not None:
        a = _chosen(a, where, initial)
    return pick(by_lane(lane, a, axis, keepdims, a.dtype), initial)


def max_(a, axis=None, *, keepdims=False, initial=None, where=None):
    """Largest element; elements that tie share the derivative evenly."""
    if isinstance(a, (tuple, list)):
        a = np.asarray(a)
    return _extreme_of(a, axis, keepdims, initial, where, _largest, np.maximum)


def min_(a, axis=None, *, keepdims=False, initial=None, where=None):
    """Smallest element; elements that tie share the derivative evenly."""
    if isinstance(a, (tuple, list)):
        a = np.asarray(a)
    return _extreme_of(a, axis, keepdims, initial, where, _smallest, np.minimum)


def ptp(a, axis=None, *, keepdims=False):
    """Largest less smallest element."""
    a = np.asarray(a)
    return max_(a, axis, keepdims=keepdims) - min_(a, axis, keepdims=keepdims)


def _running(a, axis, step, kind):
    """`out[k] = step(out[k - 1], a[k])` along an axis."""
    place = within(axis, a.ndim)
    shape = a.shape
    out = np.empty(shape, kind)
    for i in np.ndindex(shape[:place]):
        for k in np.ndindex(shape[place + 1 :]):
            if shape[place] > 0:
                total = kind(a[i + (0,) + k])
                out[i + (0,) + k] = total
                for j in range(1, shape[place]):
                    total = step(total, a[i + (j,) + k])
                    out[i + (j,) + k] = total
    return out


def _flattened(a, axis):
    a = np.asarray(a)
    if axis is None and a.ndim != 1:
        return np.ravel(a)
    return a


def _plus(total, x):
    return total + x


def _times(total, x):
    return total * x


def cumsum(a, axis=None, dtype=None):
    """Running sums, of the flattened array or along an axis."""
    values = _flattened(a, axis)
    if dtype is not None:
        return _running(values.astype(dtype), 0 if axis is None else axis, _plus, np.dtype(dtype).type)
    return _running(values, 0 if axis is None else axis, _plus, accumulator(values.dtype))


def cumprod(a, axis=None, dtype=None):
    """Running products, of the flattened array or along an axis."""
    values = _flattened(a, axis)
    if dtype is not None:
        values = values.astype(dtype)
    return _running(values, 0 if axis is None else axis, _times, accumulator(values.dtype))


def _begun(values, first, axis, include_initial):
    """Running sums or products, with what they begin with before them if that is asked for."""
    if not include_initial:
        return values
    place = within(axis, values.ndim)
    shape = values.shape[:place] + (1,) + values.shape[place + 1 :]
    return np.concatenate((np.full(shape, first, values.dtype), values), place)


def _only_axis(x, axis):
    if axis is None and x.ndim != 1:
        raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
    return 0 if axis is None else axis


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running sums along an axis, from 0 if `include_initial`."""
    x = np.asarray(x)
    place = _only_axis(x, axis)
    return _begun(cumsum(x, place, dtype), 0, place, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running products along an axis, from 1 if `include_initial`."""
    x = np.asarray(x)
    place = _only_axis(x, axis)
    return _begun(cumprod(x, place, dtype), 1, place, include_initial)


def _width(x, before, k):
    """The gap between samples `k` and `k + 1` on a line of sample points."""
    if x.ndim == 1:
        return x[k + 1] - x[k]
    return x[before + (k + 1,)] - x[before + (k,)]


def _area(y, x, dx, before):
    """Twice the area under one line of samples."""
    n = y.shape[-1]
    total = float_type(y.dtype)(0)
    if x is not None:
        for k in range(n - 1):
            total += (y[before + (k + 1,)] + y[before + (k,)]) * _width(x, before, k)
        return total
    if n < 2:
        return total
    for k in range(1, n - 1):
        total += y[before + (k,)]
    return (total + total + y[before + (0,)] + y[before + (n - 1,)]) * dx


def _rows(x, place):
    """Sample points with those of a line along the last axis."""
    return x if x.ndim == 1 else last_axis(x, place)


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """Area by the trapezoidal rule, along an axis."""
    y = np.asarray(y)
    place = within(axis, y.ndim)
    lines = last_axis(y, place)
    rows = None
    if x is not None:
        rows = _rows(np.asarray(x), place)
        if rows.shape[rows.ndim - 1] != lines.shape[lines.ndim - 1]:
            raise ValueError("x and y must have the same number of samples")
    if lines.ndim == 1:
        return 0.5 * _area(lines, rows, dx, ())
    out = np.empty(lines.shape[:-1], float_type(y.dtype))
    for before in np.ndindex(lines.shape[:-1]):
        out[before] = 0.5 * _area(lines, rows, dx, before)
    return out


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": sum_,
    "mean": mean,
    "prod": prod,
    "max": max_,
    "amax": max_,
    "min": min_,
    "amin": min_,
    "ptp": ptp,
    "cumsum": cumsum,
    "cumprod": cumprod,
    "cumulative_sum": cumulative_sum,
    "cumulative_prod": cumulative_prod,
    "trapezoid": trapezoid,
    "trapz": trapezoid,
}

METHODS: dict[str, Callable[..., Any]] = {
    "sum": sum_,
    "mean": mean,
    "prod": prod,
    "max": max_,
    "min": min_,
    "cumsum": cumsum,
    "cumprod": cumprod,
}
