"""Places in arrays: storing at them, and their numbers in C order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import AXES, flat, within
from tapec.rules.arrays_shape import broadcast_shapes


def unravelled(k, shape):
    """The subscripts of element `k` in C order."""
    place: tuple[Any, ...] = ()
    rest = k
    for axis in AXES[: len(shape) - 1]:
        extent = shape[len(shape) - 1 - axis]
        place = (rest % extent,) + place
        rest = rest // extent
    return (rest,) + place


def placed(k, size, mode):
    """An index from 0 on, as `mode` says what one out of range stands for."""
    if mode == "wrap":
        return k % size
    if mode == "clip":
        return min(max(k, 0), size - 1)
    if mode != "raise":
        raise ValueError("clipmode must be one of 'clip', 'raise', or 'wrap'")
    if k < -size or k >= size:
        raise IndexError("index is out of bounds")
    return k + size if k < 0 else k


def element_at(a, k):
    """Element `k` in C order."""
    return a[unravelled(placed(k, a.size, "raise"), a.shape)]


def put(a, ind, v, mode="raise"):
    """Store values, again and again from the first one, at places in C order."""
    places = flat(ind)
    values = flat(v).copy()
    if values.size > 0:
        for k in range(places.size):
            a[unravelled(placed(places[k], a.size, mode), a.shape)] = values[k % values.size]


def place(arr, mask, vals):
    """Store values, one after the other and again from the first one, where a condition holds."""
    chosen = flat(mask)
    values = flat(vals).copy()
    if chosen.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    used = 0
    for k in range(chosen.size):
        if chosen[k]:
            if values.size == 0:
                raise ValueError("Cannot insert from an empty array!")
            arr[unravelled(k, arr.shape)] = values[used % values.size]
            used += 1


def putmask(a, mask, values):
    """Store, where a condition holds, the values at the same places."""
    chosen = flat(mask)
    new = flat(values).copy()
    if chosen.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    if new.size > 0:
        for k in range(chosen.size):
            if chosen[k]:
                a[unravelled(k, a.shape)] = new[k % new.size]


def put_along_axis(arr, indices, values, axis):
    """Store values at positions along an axis that are given for each lane."""
    if axis is None:
        put(arr, indices, np.broadcast_to(values, indices.shape))
    else:
        at = within(axis, arr.ndim)
        if arr.ndim != indices.ndim:
            raise ValueError("`indices` and `arr` must have the same number of dimensions")
        new = np.asarray(values)
        rest = broadcast_shapes(
            arr.shape[:at] + (1,) + arr.shape[at + 1 :], indices.shape[:at] + (1,) + indices.shape[at + 1 :]
        )
        whole = rest[:at] + (indices.shape[at],) + rest[at + 1 :]
        new = np.broadcast_to(new, whole).copy()
        for i in np.ndindex(whole):
            here: tuple[Any, ...] = ()
            for k in AXES[: arr.ndim]:
                here = here + (i[k] if k == at or indices.shape[k] > 1 else 0,)
            arr[i[:at] + (placed(indices[here], arr.shape[at], "raise"),) + i[at + 1 :]] = new[i]


def _turned(items, order):
    """The items of a tuple as C order has them."""
    if order == "F":
        return items[::-1]
    if order != "C":
        raise ValueError("order must be 'C' or 'F'")
    return items


def unravel_index(indices, shape, order="C"):
    """The subscripts of the elements that have these numbers, in C order or in that of columns."""
    sides = _turned(shape if isinstance(shape, tuple) else (shape,), order)
    size = 1
    for extent in sides:
        size = size * extent
    rest = indices if np.ndim(indices) == 0 else np.copy(indices)
    if np.any(np.asarray(rest) < 0) or np.any(np.asarray(rest) >= size):
        raise ValueError("an index is out of bounds for an array of this size")
    return _turned(unravelled(rest, sides), order)


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """The numbers, in C order or in that of columns, of the elements that have these subscripts."""
    places = _turned(multi_index, order)
    extents = _turned(dims, order)
    modes = _turned(mode if isinstance(mode, tuple) else (mode,) * len(dims), order)
    total = 0
    for k in AXES[: len(extents)]:
        one = places[k] if np.ndim(places[k]) == 0 else np.asarray(places[k])
        if modes[k] == "wrap":
            one = one % extents[k]
        elif modes[k] == "clip":
            one = np.clip(one, 0, extents[k] - 1)
        elif modes[k] != "raise":
            raise ValueError("the mode must be 'raise', 'wrap' or 'clip'")
        elif np.any(np.asarray(one) < 0) or np.any(np.asarray(one) >= extents[k]):
            raise ValueError("invalid entry in coordinates array")
        total = total * extents[k] + one
    return total


def diag_indices(n, ndim=2):
    """The subscripts of the main diagonal of an array of `n` rows."""
    return (np.arange(n),) * ndim


def diag_indices_from(arr):
    """The subscripts of the main diagonal."""
    if not arr.ndim >= 2:
        raise ValueError("input array must be at least 2-d")
    for k in AXES[1 : arr.ndim]:
        if arr.shape[k] != arr.shape[0]:
            raise ValueError("All dimensions of input must be of equal length")
    return (np.arange(arr.shape[0]),) * arr.ndim


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "put": put,
    "place": place,
    "putmask": putmask,
    "put_along_axis": put_along_axis,
    "unravel_index": unravel_index,
    "ravel_multi_index": ravel_multi_index,
    "diag_indices": diag_indices,
    "diag_indices_from": diag_indices_from,
}

METHODS: dict[str, Callable[..., Any]] = {"put": put}
