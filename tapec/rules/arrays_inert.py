"""Functions whose results have no derivative, where they are asked for axes that Numba's own do not take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import axes_of, last_axis, remaining, together, within


def _along(reduce, a, axis, keepdims, kind):
    """A reduction of 1-D arrays, of all elements or of each lane."""
    places = axes_of(axis, a.ndim)
    lanes = together(a, places)
    if lanes.ndim == 1:
        found = reduce(lanes)
        return np.full((1,) * a.ndim, found) if keepdims else found
    out = np.empty(lanes.shape[:-1], kind)
    for i in np.ndindex(lanes.shape[:-1]):
        out[i] = reduce(lanes[i])
    return np.reshape(out, remaining(a.shape, places, (1,))) if keepdims else out


def _every(line):
    found = True
    for k in range(line.size):
        if not line[k]:
            found = False
    return found


def _some(line):
    found = False
    for k in range(line.size):
        if line[k]:
            found = True
    return found


def _nonzero(line):
    count = 0
    for k in range(line.size):
        if line[k]:
            count += 1
    return count


def all_(a, axis=None, *, keepdims=False, where=None):
    """Whether all elements hold, along an axis or several; with `where`, of those that it chooses."""
    held = np.asarray(a) != 0
    if where is not None:
        held = held | ~np.asarray(where)
    return _along(_every, held, axis, keepdims, np.bool_)


def any_(a, axis=None, *, keepdims=False, where=None):
    """Whether an element holds, along an axis or several; with `where`, of those that it chooses."""
    held = np.asarray(a) != 0
    if where is not None:
        held = held & np.asarray(where)
    return _along(_some, held, axis, keepdims, np.bool_)


def count_nonzero(a, axis=None, *, keepdims=False):
    """How many elements are not 0."""
    return _along(_nonzero, np.asarray(a) != 0, axis, keepdims, np.int64)


def _place_of(find, a, axis, keepdims):
    a = np.asarray(a)
    if axis is None:
        found = find(np.ravel(a))
        return np.full((1,) * a.ndim, found) if keepdims else found
    return _along(find, a, within(axis, a.ndim), keepdims, np.int64)


def argmax(a, axis=None, *, keepdims=False):
    """Where the largest element is."""
    return _place_of(np.argmax, a, axis, keepdims)


def argmin(a, axis=None, *, keepdims=False):
    """Where the smallest element is."""
    return _place_of(np.argmin, a, axis, keepdims)


def nanargmax(a, axis=None, *, keepdims=False):
    """Where the largest element is that is not nan."""
    return _place_of(np.nanargmax, a, axis, keepdims)


def nanargmin(a, axis=None, *, keepdims=False):
    """Where the smallest element is that is not nan."""
    return _place_of(np.nanargmin, a, axis, keepdims)


def _order(line, kind, stable):
    # Numba's merge sort is the stable one
    if kind == "stable" or kind == "mergesort" or stable:
        return np.argsort(line, kind="mergesort")
    return np.argsort(line)


def argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    """The order of the elements along an axis; None orders the flattened array."""
    a = np.asarray(a)
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    if axis is None or a.ndim == 1:
        return _order(np.ravel(a), kind, stable)
    place = within(axis, a.ndim)
    lanes = last_axis(a, place)
    out = np.empty(lanes.shape, np.int64)
    for i in np.ndindex(lanes.shape[:-1]):
        out[i] = _order(lanes[i], kind, stable)
    return np.moveaxis(out, -1, place)


def array_equiv(a1, a2):
    """Whether arrays are equal where one is broadcast to the other."""
    first = np.asarray(a1)
    second = np.asarray(a2)
    fits = True
    for k in range(1, min(first.ndim, second.ndim) + 1):
        if first.shape[-k] != second.shape[-k] and first.shape[-k] != 1 and second.shape[-k] != 1:
            fits = False
    return fits and bool(np.all(first == second)) if fits else False


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Which elements are equal to a tolerance; Numba's own writes behind its result where arrays of rank 2 differ."""
    near = (np.abs(a - b) <= atol + rtol * np.abs(b)) & np.isfinite(b) | (a == b)
    return near | ((a != a) & (b != b)) if equal_nan else near


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """Numbers in the place of nan and infinities; 0 is the derivative where one is replaced."""
    x = np.asarray(x)
    if not copy:
        raise ValueError("np.nan_to_num is taken with copy=True")
    if x.dtype.kind != "f":
        return np.copy(x)
    kind = x.dtype.type
    high = np.finfo(x.dtype).max if posinf is None else posinf
    low = np.finfo(x.dtype).min if neginf is None else neginf
    found = np.where(x == np.inf, kind(high), np.where(x == -np.inf, kind(low), x))
    return np.where(x != x, kind(nan), found)


# by the dotted name of a function that has a rule, or is Numba's, what takes its other arguments
FORMS: dict[str, Callable[..., Any]] = {
    "np.all": all_,
    "np.any": any_,
    "np.count_nonzero": count_nonzero,
    "np.argmax": argmax,
    "np.argmin": argmin,
    "np.nanargmax": nanargmax,
    "np.nanargmin": nanargmin,
    "np.argsort": argsort,
    "np.nan_to_num": nan_to_num,
}

FUNCTIONS: dict[str, Callable[..., Any]] = {"array_equiv": array_equiv, "isclose": isclose}
