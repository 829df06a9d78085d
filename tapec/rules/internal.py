"""Library functions that the frontend calls for syntax: broadcasting, fancy indexing, lists.

Like the NumPy functions of the library they are plain Python, inlined and differentiated as user
code is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def broadcast_extent(first, second):  # type: ignore[no-untyped-def]
    """The extent of an axis after broadcasting."""
    extent = first
    if second != first:
        if first == 1:
            extent = second
        elif second != 1:
            raise ValueError("operands could not be broadcast together")
    return extent


def stretch(extent, own):  # type: ignore[no-untyped-def]
    """Raise unless an operand's axis of extent `own` fits the result's, or is repeated."""
    if own != extent and own != 1:
        raise ValueError("operands could not be broadcast together")


def divides(known):  # type: ignore[no-untyped-def]
    """Raise where any unknown extent would do, since the known ones have no elements."""
    if known == 0:
        raise ValueError("an array without elements cannot be reshaped to an extent of -1")


def no_negative_powers(exponents):  # type: ignore[no-untyped-def]
    """Raise where integers cannot be raised to such powers."""
    for k in np.ndindex(exponents.shape):
        if exponents[k] < 0:
            raise ValueError("Integers to negative integer powers are not allowed.")


def single(extent):  # type: ignore[no-untyped-def]
    """Raise unless a slice that should have one element has it."""
    if extent != 1:
        raise ValueError("operands could not be broadcast together: an array ends before a slice of it does")


def agree(extent, own):  # type: ignore[no-untyped-def]
    """Raise unless axes are equally long that are so where no array ends before its slices do."""
    if own != extent:
        raise ValueError("operands could not be broadcast together: an array ends before a slice of it does")


def fit(extent, own):  # type: ignore[no-untyped-def]
    """Raise unless an axis of extent `own` fits the target's, or is repeated."""
    if own != extent and own != 1:
        raise ValueError("could not broadcast input array into the shape of the target")


def fit_extent(target, own):  # type: ignore[no-untyped-def]
    """1 if an axis of extent `own` is read along one of extent `target`, 0 if it is repeated."""
    step = 1
    if own != target:
        if own != 1:
            raise ValueError("could not broadcast input array into the shape of the target")
        step = 0
    return step


def expanded(a, shape):  # type: ignore[no-untyped-def]
    """A copy of `a` with its axes of extent 1 repeated to `shape`, which has as many axes."""
    steps = _steps(shape, a)
    out = np.empty(shape, a.dtype)
    for k in np.ndindex(shape):
        out[k] = _pick(a, steps, k)
    return out


def gather(a, index, axis):  # type: ignore[no-untyped-def]
    """`a[:, ..., index, ...]` with an integer array at position `axis`."""
    shape = a.shape
    out = np.empty(shape[:axis] + index.shape + shape[axis + 1 :], a.dtype)
    for before in np.ndindex(shape[:axis]):
        for k in np.ndindex(index.shape):
            place = index[k]
            for after in np.ndindex(shape[axis + 1 :]):
                out[before + k + after] = a[before + (place,) + after]
    return out


def scatter(a, index, axis, values):  # type: ignore[no-untyped-def]
    """`a[:, ..., index, ...] = values`; repeated indices keep the last value."""
    shape = a.shape
    target = shape[:axis] + index.shape + shape[axis + 1 :]
    steps = _steps(target, values)
    offset = len(target) - np.ndim(values)
    for before in np.ndindex(shape[:axis]):
        for k in np.ndindex(index.shape):
            place = index[k]
            for after in np.ndindex(shape[axis + 1 :]):
                full = before + k + after
                a[before + (place,) + after] = _pick(values, steps, full[offset:])


def multiply_into(a, b):  # type: ignore[no-untyped-def]
    """`a @= b`, where the product must have the extents of `a`."""
    width = a.shape[a.ndim - 1]
    if b.shape != (width, width):
        raise ValueError("matmul: a product in place needs a square matrix that fits the first operand")
    a[:] = a @ b


def _check_mask(a, mask, axis):  # type: ignore[no-untyped-def]
    """A mask must cover its axes to the end, and no further: Numba reads what is behind an array."""
    for k in range(np.ndim(mask)):
        if mask.shape[k] != a.shape[axis + k]:
            raise IndexError("boolean index did not match the indexed array")


def gather_mask(a, mask, axis):  # type: ignore[no-untyped-def]
    """`a[mask]` with a boolean array that covers the axes from `axis` on."""
    _check_mask(a, mask, axis)
    shape = a.shape
    count = 0
    for k in np.ndindex(mask.shape):
        if mask[k]:
            count += 1
    out = np.empty(shape[:axis] + (count,) + shape[axis + np.ndim(mask) :], a.dtype)
    for before in np.ndindex(shape[:axis]):
        place = 0
        for k in np.ndindex(mask.shape):
            if mask[k]:
                for after in np.ndindex(shape[axis + np.ndim(mask) :]):
                    out[before + (place,) + after] = a[before + k + after]
                place += 1
    return out


def scatter_mask(a, mask, axis, values):  # type: ignore[no-untyped-def]
    """`a[mask] = values`."""
    _check_mask(a, mask, axis)
    shape = a.shape
    count = 0
    for k in np.ndindex(mask.shape):
        if mask[k]:
            count += 1
    rest = shape[axis + np.ndim(mask) :]
    target = shape[:axis] + (count,) + rest
    steps = _steps(target, values)
    offset = len(target) - np.ndim(values)
    for before in np.ndindex(shape[:axis]):
        place = 0
        for k in np.ndindex(mask.shape):
            if mask[k]:
                for after in np.ndindex(rest):
                    full = before + (place,) + after
                    a[before + k + after] = _pick(values, steps, full[offset:])
                place += 1


def gather_points(a, indices, axis):  # type: ignore[no-untyped-def]
    """`a[:, ..., i, j, ...]` with integer arrays of one shape for the axes from `axis` on."""
    places = indices[0].shape
    shape = a.shape
    rest = shape[axis + len(indices) :]
    out = np.empty(shape[:axis] + places + rest, a.dtype)
    for before in np.ndindex(shape[:axis]):
        for k in np.ndindex(places):
            point = _point(indices, k)
            for after in np.ndindex(rest):
                out[before + k + after] = a[before + point + after]
    return out


def scatter_points(a, indices, axis, values):  # type: ignore[no-untyped-def]
    """`a[:, ..., i, j, ...] = values`; repeated indices keep the last value."""
    places = indices[0].shape
    shape = a.shape
    rest = shape[axis + len(indices) :]
    target = shape[:axis] + places + rest
    steps = _steps(target, values)
    offset = len(target) - np.ndim(values)
    for before in np.ndindex(shape[:axis]):
        for k in np.ndindex(places):
            point = _point(indices, k)
            for after in np.ndindex(rest):
                full = before + k + after
                a[before + point + after] = _pick(values, steps, full[offset:])


def update_rows(function, a, index, axis, values):  # type: ignore[no-untyped-def]
    """`function.at(a, (..., index), values)` with an integer array at position `axis`: repeated indices all count."""
    shape = a.shape
    target = shape[:axis] + index.shape + shape[axis + 1 :]
    steps = _steps(target, values)
    offset = len(target) - np.ndim(values)
    for before in np.ndindex(shape[:axis]):
        for k in np.ndindex(index.shape):
            for after in np.ndindex(shape[axis + 1 :]):
                full = before + k + after
                place = before + (index[k],) + after
                a[place] = function(a[place], _pick(values, steps, full[offset:]))


def update_points(function, a, indices, axis, values):  # type: ignore[no-untyped-def]
    """`function.at(a, (..., i, j, ...), values)`: repeated indices all count."""
    places = indices[0].shape
    shape = a.shape
    rest = shape[axis + len(indices) :]
    target = shape[:axis] + places + rest
    steps = _steps(target, values)
    offset = len(target) - np.ndim(values)
    for before in np.ndindex(shape[:axis]):
        for k in np.ndindex(places):
            point = _point(indices, k)
            for after in np.ndindex(rest):
                full = before + k + after
                place = before + point + after
                a[place] = function(a[place], _pick(values, steps, full[offset:]))


def _point(indices, k):  # type: ignore[no-untyped-def]
    point: tuple[Any, ...] = ()
    for index in indices:
        point = point + (index[k],)
    return point


def _steps(target, values):  # type: ignore[no-untyped-def]
    """One step, 0 or 1, per axis of `values` when it is read along `target`."""
    steps: tuple[Any, ...] = ()
    if np.ndim(values) > 0:
        offset = len(target) - np.ndim(values)
        own = values.shape
        for k in (0, 1, 2, 3, 4, 5, 6, 7)[: np.ndim(values)]:
            steps = steps + (fit_extent(target[offset + k], own[k]),)
    return steps


def _pick(values, steps, index):  # type: ignore[no-untyped-def]
    """The element of `values` for a position of the target."""
    if np.ndim(values) == 0:
        return values
    place: tuple[Any, ...] = ()
    for k in (0, 1, 2, 3, 4, 5, 6, 7)[: np.ndim(values)]:
        place = place + (index[k] * steps[k],)
    return values[place]


def moved_up(buffer, place, last):  # type: ignore[no-untyped-def]
    """The elements behind a place of a list, each one place further to the front."""
    for k in range(place, last):
        buffer[k] = buffer[k + 1]


def grown(buffer, count):  # type: ignore[no-untyped-def]
    """A buffer with room for one more element."""
    room = buffer
    if count == buffer.shape[0]:
        room = np.empty(2 * count + 4, buffer.dtype)
        for k in range(count):
            room[k] = buffer[k]
    return room


def copied(a):  # type: ignore[no-untyped-def]
    """A copy in C order."""
    out = np.empty(a.shape, a.dtype)
    for k in np.ndindex(a.shape):
        out[k] = a[k]
    return out


def range_item(start, stop, step, k):  # type: ignore[no-untyped-def]
    """`range(start, stop, step)[k]`."""
    count = len(range(start, stop, step))
    if k < -count or k >= count:
        raise IndexError("range object index out of range")
    return start + (k + count if k < 0 else k) * step


def range_holds(start, stop, step, item):  # type: ignore[no-untyped-def]
    """`item in range(start, stop, step)`."""
    inside = start <= item < stop if step > 0 else stop < item <= start
    return inside and (item - start) % step == 0


INTERNAL: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        broadcast_extent,
        stretch,
        divides,
        single,
        agree,
        fit,
        fit_extent,
        expanded,
        gather,
        multiply_into,
        scatter,
        gather_mask,
        scatter_mask,
        gather_points,
        scatter_points,
        update_rows,
        update_points,
        grown,
        moved_up,
        copied,
    )
}
