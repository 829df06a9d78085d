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


def complex_of(re, im):
    """The complex array, or number, with these parts."""
    return re + 1j * im


def runs_once():
    """Whether a call stands in no loop; known when it is inlined."""
    return False


def within(axis, ndim):
    """An axis counted from 0."""
    if isinstance(axis, tuple):
        raise TypeError("this function takes one axis, not several")
    if axis < -ndim or axis >= ndim:
        raise ValueError("axis is out of bounds for this array")
    if axis < 0:
        return axis + ndim
    return axis


def axes_of(axis, ndim):
    """The axes that a reduction runs over, counted from 0 and in order: all for None."""
    if axis is None:
        return AXES[:ndim]
    if not isinstance(axis, tuple):
        return (within(axis, ndim),)
    places: tuple[int, ...] = ()
    for k in AXES[:ndim]:
        for one in axis:
            if within(one, ndim) == k:
                if k in places:
                    raise ValueError("duplicate value in 'axis'")
                places = places + (k,)
    return places


def remaining(index, places, zero):
    """What is left of an index or a shape without some axes, in the place of each of which comes `zero`."""
    rest: tuple[Any, ...] = ()
    for k in AXES[: len(index)]:
        rest = rest + (zero if k in places else (index[k],))
    return rest


def is_block(places):
    """Whether axes follow each other."""
    return not places or places == AXES[places[0] : places[0] + len(places)]


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
    """Apply `reduce(a, before, inner, after)` to all of `a`, or to each of its lanes along an axis or several.

    The elements of a lane are `a[before + k + after]` for `k` in `np.ndindex(inner)`.
    """
    shape = a.shape
    places = axes_of(axis, a.ndim)
    if len(places) == a.ndim:
        return kept(reduce(a, (), shape, ()), a.ndim, keepdims)
    if is_block(places):
        return _along(reduce, a, places, keepdims, dtype)
    rest = remaining(AXES[: a.ndim], places, ())
    out = _along(reduce, np.transpose(a, rest + places), AXES[len(rest) : a.ndim], False, dtype)
    return np.reshape(out, remaining(shape, places, (1,))) if keepdims else out


def _along(reduce, a, places, keepdims, dtype):
    """Apply `reduce` to each lane along axes that follow each other."""
    first = places[0] if places else 0
    stop = first + len(places)
    zero = (0,) * len(places) if keepdims else ()
    out = np.empty(remaining(a.shape, places, (1,) if keepdims else ()), dtype)
    for before in np.ndindex(a.shape[:first]):
        for after in np.ndindex(a.shape[stop:]):
            out[before + zero + after] = reduce(a, before, a.shape[first:stop], after)
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


def together(a, places):
    """The lanes along some axes, counted from 0, as rows of an array whose last axis runs over their elements."""
    if len(places) == 1:
        return last_axis(a, places[0])
    rest = remaining(AXES[: a.ndim], places, ())
    turned = np.transpose(a, rest + places) if len(places) > 0 else a
    shape = turned.shape[: len(rest)]
    return np.reshape(turned, shape + (lane_size(turned.shape[len(rest) :]),))


def part(a, axis, start, stop):
    """The view `a[..., start:stop, ...]` along one axis."""
    return np.swapaxes(np.swapaxes(a, 0, axis)[start:stop], 0, axis)
