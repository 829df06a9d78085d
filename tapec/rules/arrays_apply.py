"""Functions applied to the lanes, axes and elements of arrays; arrays put together from blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import AXES, last_axis, within
from tapec.rules.arrays_shape import broadcast_arrays, concatenate


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """The results of a function of 1-D arrays for all lanes along an axis, in the place of the axis."""
    arr = np.asarray(arr)
    place = within(axis, arr.ndim)
    lanes = last_axis(arr, place)
    outer = lanes.shape[:-1]
    rows = np.reshape(lanes, (arr.size // max(arr.shape[place], 1), arr.shape[place]))
    if arr.size == 0:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    first = np.asarray(func1d(rows[0], *args, **kwargs))
    out = np.empty((rows.shape[0],) + first.shape, first.dtype)
    out[0] = first
    for k in range(1, rows.shape[0]):
        out[k] = func1d(rows[k], *args, **kwargs)
    whole = np.reshape(out, outer + first.shape)
    before = AXES[:place]
    inner = AXES[len(outer) : len(outer) + first.ndim]
    return np.transpose(whole, before + inner + AXES[place : len(outer)])


def apply_over_axes(func, a, axes):
    """A reduction over several axes, one after the other; they keep extents of 1."""
    found = np.asarray(a)
    for axis in axes if isinstance(axes, (tuple, list)) else (axes,):
        place = within(axis, found.ndim)
        reduced = func(found, place)
        found = reduced if reduced.ndim == found.ndim else np.expand_dims(reduced, place)
    return found


def vectorized(function, *args):
    """A function of numbers, of each element of arrays that are broadcast."""
    given = broadcast_arrays(*args)
    shape = np.shape(given[0])
    if len(shape) == 0:
        return function(*args)
    lines: tuple[Any, ...] = ()
    for one in given:
        lines = lines + (np.ravel(one),)
    size = lines[0].size
    if size == 0:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    first = np.asarray(_called(function, lines, 0))
    out = np.empty(size, first.dtype)
    out[0] = first
    for k in range(1, size):
        out[k] = _called(function, lines, k)
    return np.reshape(out, shape)


def _called(function, lines, k):
    numbers: tuple[Any, ...] = ()
    for line in lines:
        numbers = numbers + (line[k],)
    return function(*numbers)


def fromfunction(function, shape, *, dtype=float):
    """What a function gives for the grid of subscripts."""
    grids: tuple[Any, ...] = ()
    for axis, extent in enumerate(shape):
        line = np.arange(extent).astype(dtype)
        grid = np.empty(shape, np.dtype(dtype))
        grid[...] = np.reshape(line, (1,) * axis + (extent,) + (1,) * (len(shape) - axis - 1))
        grids = grids + (grid,)
    return function(*grids)


def _depth(arrays):
    """How deep lists are nested."""
    return 1 + _depth(arrays[0]) if isinstance(arrays, list) else 0


def _rank(arrays):
    """The largest rank of arrays in nested lists."""
    if not isinstance(arrays, list):
        return np.ndim(arrays)
    rank = 0
    for one in arrays:
        rank = max(rank, _rank(one))
    return rank


def _joined(arrays, level, rank):
    if not isinstance(arrays, list):
        whole = np.asarray(arrays)
        return np.reshape(whole, (1,) * (rank - whole.ndim) + whole.shape)
    parts: tuple[Any, ...] = ()
    for one in arrays:
        parts = parts + (_joined(one, level - 1, rank),)
    return concatenate(parts, rank - level)


def block(arrays):
    """An array put together from nested lists of blocks: the innermost lists along the last axis."""
    depth = _depth(arrays)
    return _joined(arrays, depth, max(_rank(arrays), depth))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "apply_along_axis": apply_along_axis,
    "apply_over_axes": apply_over_axes,
    "fromfunction": fromfunction,
    "block": block,
}
