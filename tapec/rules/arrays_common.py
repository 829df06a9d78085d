"""What the functions of the array library share: axes, accumulators, lanes.

The library's functions are plain Python that gives NumPy's results.  The frontend inlines them and
differentiates them as it does user code, so they are written in that language: numbers in loops,
and structure (axes, tuples of extents, dtypes, tests on rank) that is known when they are inlined.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# axes to loop over when a loop must be unrolled; 32 is the highest rank that NumPy 1 has
AXES = tuple(range(32))


def stop_gradient(x):
    """`x` itself, with derivative zero."""
    return x


def known(x, z):
    """`z`, whose value is known to be `x`: what computes `z` runs for its derivative alone."""
    return x


def runs_once():
    """Whether a call stands in no loop; known when it is inlined."""
    return False


def within(axis, ndim):
    """An axis counted from 0."""
    if axis < -ndim or axis >= ndim:
        raise ValueError("axis is out of bounds for this array")
    if axis < 0:
        return axis + ndim
    return axis


def without(shape, axis):
    """The extents of all axes but one."""
    rest: tuple[Any, ...] = ()
    for k in AXES[: len(shape) - 1]:
        rest = rest + ((shape[k] if k < axis else shape[k + 1]),)
    return rest


def accumulator(dtype):
    """The type in which NumPy adds up elements: at least 64 bits for integers."""
    if dtype.kind == "b" or dtype.kind == "i":
        return np.int64
    if dtype.kind == "u":
        return np.uint64
    return dtype.type


def float_type(dtype):
    """The type of a mean: that of the elements if it is a float or complex type."""
    if dtype.kind == "f" or dtype.kind == "c":
        return dtype.type
    return np.float64


def common_dtype(first, second):
    """The dtype of an array that holds elements of both."""
    if first == second:
        return first
    return (first.type(0) + second.type(0)).dtype


def kept(total, ndim, keepdims):
    """A reduction over all axes, as NumPy shapes it."""
    if keepdims:
        return np.full((1,) * ndim, total)
    return total


def by_lane(reduce, a, axis, keepdims, dtype):
    """Apply `reduce(a, before, inner, after)` to all of `a`, or to each of its lanes along an axis.

    The elements of a lane are `a[before + k + after]` for `k` in `np.ndindex(inner)`.
    """
    if axis is None:
        return kept(reduce(a, (), a.shape, ()), a.ndim, keepdims)
    place = within(axis, a.ndim)
    shape = a.shape
    if a.ndim == 1 and not keepdims:
        return reduce(a, (), shape, ())
    extent = (1,) if keepdims else ()
    zero = (0,) if keepdims else ()
    out = np.empty(shape[:place] + extent + shape[place + 1 :], dtype)
    for before in np.ndindex(shape[:place]):
        for after in np.ndindex(shape[place + 1 :]):
            out[before + zero + after] = reduce(a, before, (shape[place],), after)
    return out


def lane_size(inner):
    """The number of elements of a lane."""
    count = 1
    for extent in inner:
        count = count * extent
    return count


def flat(a):
    """The elements of an array, number or sequence as a 1-D array; a view where NumPy makes one."""
    return np.ravel(np.asarray(a))


def last_axis(a, axis):
    """A view with one axis moved to the end."""
    place = within(axis, a.ndim)
    return np.transpose(a, AXES[:place] + AXES[place + 1 : a.ndim] + (place,))


def part(a, axis, start, stop):
    """The view `a[..., start:stop, ...]` along one axis."""
    return np.swapaxes(np.swapaxes(a, 0, axis)[start:stop], 0, axis)
