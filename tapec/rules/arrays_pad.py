"""Padding, by the modes of np.pad.

Modes whose new elements are those of the array are done for all axes at once, others axis by axis as in NumPy: the
corners then come from what the axes before have added.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.rules.arrays_common import AXES, last_axis
from tapec.rules.arrays_quantile import median


def padded(array, before, after, value):
    """An array with `before` and `after` elements of a value around it, for each axis."""
    shape: tuple[Any, ...] = ()
    for k in AXES[: array.ndim]:
        shape = shape + (before[k] + array.shape[k] + after[k],)
    out = np.full(shape, value, array.dtype)
    for i in np.ndindex(array.shape):
        place: tuple[Any, ...] = ()
        for k in AXES[: array.ndim]:
            place = place + (i[k] + before[k],)
        out[place] = array[i]
    return out


def extended(array, before, after):
    """An array with its outermost elements repeated around it."""
    shape: tuple[Any, ...] = ()
    for k in AXES[: array.ndim]:
        shape = shape + (before[k] + array.shape[k] + after[k],)
    out = np.empty(shape, array.dtype)
    for i in np.ndindex(shape):
        place: tuple[Any, ...] = ()
        for k in AXES[: array.ndim]:
            place = place + (min(max(i[k] - before[k], 0), array.shape[k] - 1),)
        out[i] = array[place]
    return out


def mirrored(array, before, after, mode):
    """An array with its own elements around it: turned at the edges, with them or without, or from the other end."""
    shape: tuple[Any, ...] = ()
    for k in AXES[: array.ndim]:
        if array.shape[k] == 0 and before[k] + after[k] > 0:
            raise ValueError("can't extend an empty axis in this mode")
        shape = shape + (before[k] + array.shape[k] + after[k],)
    out = np.empty(shape, array.dtype)
    for i in np.ndindex(shape):
        place: tuple[Any, ...] = ()
        for k in AXES[: array.ndim]:
            n = array.shape[k]
            j = i[k] - before[k]
            if mode == "wrap":
                j = j % n
            elif mode == "symmetric":
                j = j % (2 * n)
                j = min(j, 2 * n - 1 - j)
            else:
                j = j % max(2 * n - 2, 1)
                j = min(j, 2 * n - 2 - j)
            place = place + (j,)
        out[i] = array[place]
    return out


def unset(array, before, after):
    """An array with elements around it that are not set."""
    shape: tuple[Any, ...] = ()
    for k in AXES[: array.ndim]:
        shape = shape + (before[k] + array.shape[k] + after[k],)
    out = np.empty(shape, array.dtype)
    for i in np.ndindex(array.shape):
        inside: tuple[Any, ...] = ()
        for k in AXES[: array.ndim]:
            inside = inside + (i[k] + before[k],)
        out[inside] = array[i]
    return out


def _along(array, axis, before, after, low, high):
    """An array with elements around it along one axis, which are `low` and `high` or broadcast from them."""
    n = array.shape[axis]
    lanes = last_axis(array, axis)
    out = np.empty(lanes.shape[:-1] + (before + n + after,), array.dtype)
    out[..., :before] = low
    out[..., before : before + n] = lanes
    out[..., before + n :] = high
    return np.moveaxis(out, -1, axis)


def constants(array, before, after, values):
    """Other constants before and behind each axis."""
    for k in AXES[: array.ndim]:
        array = _along(array, k, before[k], after[k], values[k][0], values[k][1])
    return array


def _ramp(end, edge, count, dtype):
    """From an end value to an edge, which is the element behind the last one."""
    line = np.arange(count) / max(count, 1)
    return (end + (edge - end) * line).astype(dtype)


def ramps(array, before, after, ends):
    """Straight lines from the edges to end values."""
    for k in AXES[: array.ndim]:
        lanes = last_axis(array, k)
        n = array.shape[k]
        if n == 0 and before[k] + after[k] > 0:
            raise ValueError("can't extend an empty axis in this mode")
        if n > 0:
            low = _ramp(ends[k][0], lanes[..., :1], before[k], array.dtype)
            high = _ramp(ends[k][1], lanes[..., n - 1 :], after[k], array.dtype)
            array = _along(array, k, before[k], after[k], low, high[..., ::-1])
    return array


def _statistic(lanes, mode):
    if mode == "maximum":
        return np.max(lanes, axis=-1, keepdims=True)
    if mode == "minimum":
        return np.min(lanes, axis=-1, keepdims=True)
    if mode == "mean":
        return np.mean(lanes, axis=-1, keepdims=True)
    return median(lanes, axis=-1, keepdims=True)


def _rounded(found, dtype):
    """A mean as an element: integers are rounded."""
    if dtype.kind == "i" or dtype.kind == "u":
        return np.rint(found).astype(dtype)
    return found


def statistics(array, before, after, mode, lengths):
    """A maximum, minimum, mean or median of the elements at each end, or of all."""
    for k in AXES[: array.ndim]:
        n = array.shape[k]
        if n == 0 and before[k] + after[k] > 0:
            raise ValueError("can't extend an empty axis in this mode")
        first = n if lengths is None else min(lengths[k][0], n)
        last = n if lengths is None else min(lengths[k][1], n)
        if (first == 0 or last == 0) and before[k] + after[k] > 0:
            raise ValueError("stat_length of 0 yields no value for padding")
        lanes = last_axis(array, k)
        low = _rounded(_statistic(lanes[..., :first], mode), array.dtype)
        high = _rounded(_statistic(lanes[..., n - last :], mode), array.dtype)
        array = _along(array, k, before[k], after[k], low, high)
    return array


def turned(array, before, after, mode):
    """Reflected about the elements at the edges, or about the edges: `2 * edge - element`."""
    for k in AXES[: array.ndim]:
        n = array.shape[k]
        if n == 0 and before[k] + after[k] > 0:
            raise ValueError("can't extend an empty axis in this mode")
        lanes = last_axis(array, k)
        out = np.empty(lanes.shape[:-1] + (before[k] + n + after[k],), array.dtype)
        period = n if mode == "symmetric" else max(n - 1, 1)
        for j in range(before[k] + n + after[k]):
            times = (j - before[k]) // period
            place = (j - before[k]) % period
            rise = times * (lanes[..., n - 1] - lanes[..., 0])
            if n == 1 and mode == "reflect":
                out[..., j] = lanes[..., 0]
            elif times % 2 == 0:
                out[..., j] = lanes[..., place] + rise
            else:
                mirror = period - place - (1 if mode == "symmetric" else 0)
                step = lanes[..., n - 1] - lanes[..., 0]
                out[..., j] = 2 * lanes[..., 0] + rise + step - lanes[..., mirror]
        array = np.moveaxis(out, -1, k)
    return array
