"""Joining, splitting and rearranging arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import AXES, axes_of, common_dtype, flat, within
from tapec.rules.internal import broadcast_extent


def _concatenate(arrays, axis):
    first = arrays[0]
    place = within(axis, first.ndim)
    shape = first.shape
    kind = first.dtype
    total = 0
    for array in arrays:
        total += array.shape[place]
        kind = common_dtype(kind, array.dtype)
        for k in AXES[: first.ndim]:
            if k != place and array.shape[k] != shape[k]:
                raise ValueError("all extents but that of the concatenation axis must match")
    out = np.empty(shape[:place] + (total,) + shape[place + 1 :], kind)
    start = 0
    for array in arrays:
        for i in np.ndindex(array.shape):
            out[i[:place] + (start + i[place],) + i[place + 1 :]] = array[i]
        start += array.shape[place]
    return out


def concatenate(arrays, axis=0, *, dtype=None, casting="same_kind"):
    """Join arrays along an axis; None joins them flattened."""
    parts: tuple[Any, ...] = ()
    for array in arrays:
        parts = parts + ((flat(array) if axis is None else np.asarray(array)),)
    joined = _concatenate(parts, 0 if axis is None else axis)
    return joined if dtype is None else _converted(joined, dtype, casting)


def _converted(joined, dtype, casting):
    """An array as `casting` lets it be of another dtype: by the same kind of numbers, or a wider one."""
    wider = joined.dtype.kind == "b" or joined.dtype.kind == np.dtype(dtype).kind or np.dtype(dtype).kind in "fc"
    if casting != "unsafe" and (casting != "same_kind" or not wider):
        raise TypeError("Cannot cast array data according to the casting rule")
    return joined.astype(dtype)


def stack(arrays, axis=0, *, dtype=None, casting="same_kind"):
    """Join arrays along a new axis."""
    joined = _stacked(arrays, axis)
    return joined if dtype is None else _converted(joined, dtype, casting)


def _stacked(arrays, axis):
    first = np.asarray(arrays[0])
    shape = first.shape
    place = within(axis, first.ndim + 1)
    kind = first.dtype
    for array in arrays:
        kind = common_dtype(kind, np.asarray(array).dtype)
        for k in AXES[: first.ndim]:
            if np.shape(array)[k] != shape[k]:
                raise ValueError("all input arrays must have the same shape")
    out = np.empty(shape[:place] + (len(arrays),) + shape[place:], kind)
    for k, array in enumerate(arrays):
        values = np.asarray(array)
        for i in np.ndindex(shape):
            out[i[:place] + (k,) + i[place:]] = values[i]
    return out


def _one_axis(a):
    a = np.asarray(a)
    if a.ndim == 0:
        return np.reshape(a, (1,))
    return a


def _two_axes(a):
    a = _one_axis(a)
    if a.ndim == 1:
        return a[np.newaxis, :]
    return a


def _three_axes(a):
    a = _one_axis(a)
    if a.ndim == 1:
        return a[np.newaxis, :, np.newaxis]
    if a.ndim == 2:
        return a[:, :, np.newaxis]
    return a


def _all(function, arrays):
    results: tuple[Any, ...] = ()
    for array in arrays:
        results = results + (function(array),)
    return results


def _each(function, arrays):
    if len(arrays) == 1:
        return function(arrays[0])
    return _all(function, arrays)


def atleast_1d(*arrays):
    """Views with at least one axis."""
    return _each(_one_axis, arrays)


def atleast_2d(*arrays):
    """Views with at least two axes."""
    return _each(_two_axes, arrays)


def atleast_3d(*arrays):
    """Views with at least three axes."""
    return _each(_three_axes, arrays)


def hstack(tup):
    """Join arrays side by side: along the second axis, 1-D arrays end to end."""
    parts = _all(_one_axis, tup)
    return _concatenate(parts, 0 if parts[0].ndim == 1 else 1)


def vstack(tup):
    """Join arrays as rows."""
    return _concatenate(_all(_two_axes, tup), 0)


def dstack(tup):
    """Join arrays along the third axis."""
    return _concatenate(_all(_three_axes, tup), 2)


def _column(a):
    a = np.asarray(a)
    if a.ndim < 2:
        return np.reshape(a, (a.size, 1))
    return a


def column_stack(tup):
    """Join 1-D arrays as columns, and matrices side by side."""
    return _concatenate(_all(_column, tup), 1)


def append(arr, values, axis=None):
    """Join two arrays along an axis; None joins them flattened."""
    if axis is None:
        return _concatenate((flat(arr), flat(values)), 0)
    return _concatenate((np.asarray(arr), np.asarray(values)), axis)


def repeat(a, repeats, axis=None):
    """Repeat each element, or each slice along an axis; one count for all or one for each."""
    values = flat(a) if axis is None else np.asarray(a)
    place = 0 if axis is None else within(axis, values.ndim)
    shape = values.shape
    n = shape[place]
    if np.ndim(repeats) == 0:
        if repeats < 0:
            raise ValueError("repeats may not contain negative values.")
        out = np.empty(shape[:place] + (n * repeats,) + shape[place + 1 :], values.dtype)
        for i in np.ndindex(shape[:place]):
            for j in range(n):
                for copy in range(repeats):
                    for k in np.ndindex(shape[place + 1 :]):
                        out[i + (j * repeats + copy,) + k] = values[i + (j,) + k]
        return out
    counts = np.asarray(repeats)
    step = 0 if counts.size == 1 else 1
    if step == 1 and counts.size != n:
        raise ValueError("operands could not be broadcast together")
    total = 0
    for j in range(n):
        if counts[j * step] < 0:
            raise ValueError("repeats may not contain negative values.")
        total += counts[j * step]
    out = np.empty(shape[:place] + (total,) + shape[place + 1 :], values.dtype)
    start = 0
    for j in range(n):
        for copy in range(counts[j * step]):
            for i in np.ndindex(shape[:place]):
                for k in np.ndindex(shape[place + 1 :]):
                    out[i + (start + copy,) + k] = values[i + (j,) + k]
        start += counts[j * step]
    return out


def tile(A, reps):
    """Repeat a whole array along each axis."""
    counts = tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    values = np.asarray(A)
    for _ in AXES[: max(0, len(counts) - values.ndim)]:
        values = values[np.newaxis]
    counts = (1,) * (values.ndim - len(counts)) + counts
    split: tuple[Any, ...] = ()
    shape: tuple[Any, ...] = ()
    for k in AXES[: values.ndim]:
        split = split + (counts[k], values.shape[k])
        shape = shape + (counts[k] * values.shape[k],)
    out = np.empty(split, values.dtype)
    for i in np.ndindex(split):
        out[i] = values[i[1::2]]
    return np.reshape(out, shape)


def _reversed(m, axis):
    return np.swapaxes(np.swapaxes(m, 0, axis)[::-1], 0, axis)


def flip(m, axis=None):
    """A view with the order reversed, along all axes or one."""
    m = np.asarray(m)
    if axis is not None and not isinstance(axis, tuple):
        return _reversed(m, within(axis, m.ndim))
    for k in axes_of(axis, m.ndim):
        m = _reversed(m, k)
    return m


def flipud(m):
    """A view with the rows in reverse order."""
    return _reversed(np.asarray(m), 0)


def fliplr(m):
    """A view with the columns in reverse order."""
    return _reversed(np.asarray(m), 1)


def rot90(m, k=1, axes=(0, 1)):
    """A view turned by quarter turns in the plane of two axes, from the first one to the second."""
    m = np.asarray(m)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    first = within(axes[0], m.ndim)
    second = within(axes[1], m.ndim)
    if first == second:
        raise ValueError("Axes must be different.")
    if first != 0 or second != 1:
        return np.moveaxis(rot90(np.moveaxis(m, (first, second), (0, 1)), k), (0, 1), (first, second))
    turns = k % 4
    if turns == 1:
        return np.swapaxes(_reversed(m, 1), 0, 1)
    if turns == 2:
        return _reversed(_reversed(m, 0), 1)
    if turns == 3:
        return _reversed(np.swapaxes(m, 0, 1), 1)
    return m[:]


def _rolled(a, shift, axis):
    n = a.shape[axis]
    out = np.empty(a.shape, a.dtype)
    by = shift % max(n, 1)
    for i in np.ndindex(a.shape[:axis]):
        for j in range(n - by):
            for k in np.ndindex(a.shape[axis + 1 :]):
                out[i + (j + by,) + k] = a[i + (j,) + k]
        for j in range(min(by, n)):
            for k in np.ndindex(a.shape[axis + 1 :]):
                out[i + (j,) + k] = a[i + (n - by + j,) + k]
    return out


def roll(a, shift, axis=None):
    """Shift elements round, of the flattened array or along an axis."""
    a = np.asarray(a)
    if axis is None and not isinstance(shift, (tuple, list)):
        return np.reshape(_rolled(np.ravel(a), shift, 0), a.shape)
    if axis is None:
        return np.reshape(roll(np.ravel(a), shift, 0), a.shape)
    if not isinstance(axis, (tuple, list)) and not isinstance(shift, (tuple, list)):
        return _rolled(a, shift, within(axis, a.ndim))
    places = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    steps = tuple(shift) if isinstance(shift, (tuple, list)) else (shift,)
    if len(places) == 0 or len(steps) == 0:
        return np.copy(a)
    for k in AXES[: max(len(places), len(steps))]:
        one = steps[0] if len(steps) == 1 else steps[k]
        a = _rolled(a, one, within(places[0] if len(places) == 1 else places[k], a.ndim))
    return a


def moveaxis(a, source, destination):
    """A view with axes at new positions."""
    origins = tuple(source) if isinstance(source, (tuple, list)) else (source,)
    targets = tuple(destination) if isinstance(destination, (tuple, list)) else (destination,)
    a = np.asarray(a)
    moved: tuple[Any, ...] = ()
    places: tuple[Any, ...] = ()
    for k in AXES[: len(origins)]:
        moved = moved + (within(origins[k], a.ndim),)
        places = places + (within(targets[k], a.ndim),)
    rest: tuple[Any, ...] = ()
    for k in AXES[: a.ndim]:
        if k not in moved:
            rest = rest + (k,)
    order: tuple[Any, ...] = ()
    taken = 0
    for k in AXES[: a.ndim]:
        if k in places:
            for j in AXES[: len(places)]:
                if places[j] == k:
                    order = order + (moved[j],)
        else:
            order = order + (rest[taken],)
            taken += 1
    return np.transpose(a, order)


def squeeze(a, axis):
    """A view without an axis of extent 1; the axis must be given, since the rank must be known."""
    a = np.asarray(a)
    place = within(axis, a.ndim)
    if a.shape[place] != 1:
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return np.transpose(a, (place,) + AXES[:place] + AXES[place + 1 : a.ndim])[0]


def _wide(shape, ndim):
    return (1,) * (ndim - len(shape)) + shape


def broadcast_shapes(*shapes):
    """The shape that arrays of these shapes have together."""
    ndim = 0
    sides: tuple[Any, ...] = ()
    for shape in shapes:
        side = shape if isinstance(shape, tuple) else (shape,)
        sides = sides + (side,)
        ndim = max(ndim, len(side))
    common = (1,) * ndim
    for side in sides:
        joint: tuple[Any, ...] = ()
        for k in AXES[:ndim]:
            joint = joint + (broadcast_extent(common[k], _wide(side, ndim)[k]),)
        common = joint
    return common


def broadcast_to(array, shape):
    """A copy of a given shape; NumPy gives a view that cannot be written."""
    array = np.asarray(array)
    for extent in tuple(shape) if isinstance(shape, (tuple, list)) else (shape,):
        if extent < 0:
            raise ValueError("all elements of broadcast shape must be non-negative")
    out = np.empty(shape, array.dtype)
    out[...] = array
    return out


def broadcast_arrays(*arrays):
    """Copies that all have the joint shape."""
    shapes: tuple[Any, ...] = ()
    for array in arrays:
        shapes = shapes + (np.shape(array),)
    common = broadcast_shapes(*shapes)
    results: tuple[Any, ...] = ()
    for array in arrays:
        results = results + (broadcast_to(array, common),)
    return results


def joint_indices(indices):
    """Index arrays of their joint shape: copies of those that have another one."""
    shapes: tuple[Any, ...] = ()
    for index in indices:
        shapes = shapes + (index.shape,)
    common = broadcast_shapes(*shapes)
    results: tuple[Any, ...] = ()
    for index in indices:
        whole = index
        if index.ndim != len(common) or index.shape != common:
            whole = broadcast_to(index, common)
        results = results + (whole,)
    return results


def resize(a, new_shape):
    """The elements in a new shape, repeated as often as needed; zeros if there are none."""
    values = flat(a)
    out = np.zeros(new_shape, values.dtype)
    line = np.ravel(out)
    if values.size > 0:
        for k in range(line.size):
            line[k] = values[k % values.size]
    return out


def rollaxis(a, axis, start=0):
    """A view with an axis rolled back until it lies before another one."""
    a = np.asarray(a)
    place = within(axis, a.ndim)
    target = start if start >= 0 else start + a.ndim
    if target < 0 or target > a.ndim:
        raise ValueError("start is out of bounds for this array")
    return moveaxis(a, place, target - 1 if place < target else target)


def matrix_transpose(x, /):
    """A view with the last two axes exchanged."""
    x = np.asarray(x)
    if x.ndim < 2:
        raise ValueError("Input array must be at least 2-dimensional")
    return np.swapaxes(x, x.ndim - 2, x.ndim - 1)


def astype(x, dtype, /, *, copy=True):
    """A copy of the array with another dtype."""
    return x.astype(dtype, copy=copy)


def ix_(*args):
    """Index arrays for the grid of several lists of places: `x[np.ix_(rows, columns)]`."""
    grids = []
    for k in AXES[: len(args)]:
        one = np.asarray(args[k])
        if one.dtype.kind == "b":
            one = np.flatnonzero(one)
        grids.append(np.reshape(one, (1,) * k + (one.size,) + (1,) * (len(args) - k - 1)))
    return tuple(grids)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "concatenate": concatenate,
    "concat": concatenate,
    "stack": stack,
    "hstack": hstack,
    "vstack": vstack,
    "row_stack": vstack,
    "dstack": dstack,
    "column_stack": column_stack,
    "append": append,
    "atleast_1d": atleast_1d,
    "atleast_2d": atleast_2d,
    "atleast_3d": atleast_3d,
    "repeat": repeat,
    "tile": tile,
    "flip": flip,
    "flipud": flipud,
    "fliplr": fliplr,
    "rot90": rot90,
    "roll": roll,
    "moveaxis": moveaxis,
    "rollaxis": rollaxis,
    "matrix_transpose": matrix_transpose,
    "astype": astype,
    "ix_": ix_,
    "squeeze": squeeze,
    "broadcast_shapes": broadcast_shapes,
    "broadcast_to": broadcast_to,
    "broadcast_arrays": broadcast_arrays,
    "resize": resize,
}

METHODS: dict[str, Callable[..., Any]] = {"repeat": repeat, "squeeze": squeeze}
