"""Products of arrays with more than two axes: stacks of matrices, `einsum`; windows; elementwise functions folded."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.rules.arrays_common import AXES, axes_of, common_dtype, remaining, together, within
from tapec.rules.arrays_shape import broadcast_shapes


def _own(index, extents):
    """The subscripts of an array that is broadcast: 0 where it has one element only."""
    place: tuple[Any, ...] = ()
    skipped = len(index) - len(extents)
    for k in AXES[: len(extents)]:
        place = place + ((index[skipped + k] if extents[k] != 1 else 0),)
    return place


def product_of_stacks(a, b):
    """`a @ b` where one of them has more than two axes: the last two are those of matrices."""
    if b.ndim == 1:
        return np.reshape(np.reshape(a, (-1, a.shape[-1])) @ b, a.shape[:-1])
    if a.ndim == 1:
        rows = product_of_stacks(a[np.newaxis], b)
        return rows[..., 0, :]
    if b.ndim == 2:
        rows = np.reshape(a, (-1, a.shape[-1])) @ b
        return np.reshape(rows, a.shape[:-1] + (b.shape[1],))
    if a.shape[-1] != b.shape[-2]:
        raise ValueError("matmul: the last axis of the first array and the last but one of the second differ")
    kind = common_dtype(a.dtype, b.dtype)
    if a.ndim != b.ndim:
        shape = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        out = np.empty(shape + (a.shape[-2], b.shape[-1]), kind)
        for i in np.ndindex(shape):
            out[i] = a[_own(i, a.shape[:-2])] @ b[_own(i, b.shape[:-2])]
        return out
    if a.shape[:-2] != b.shape[:-2]:
        # iterations of the loop are those of both then
        shape = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a, b = _stretched(a, shape), _stretched(b, shape)
    out = np.empty(a.shape[:-1] + b.shape[-1:], kind)
    for i in np.ndindex(a.shape[:-2]):
        out[i] = a[i] @ b[i]
    return out


def _stretched(a, shape):
    """The matrices of a stack, as often as the shape of a larger one asks for."""
    out = np.empty(shape + a.shape[-2:], a.dtype)
    for i in np.ndindex(shape):
        out[i] = a[_own(i, a.shape[:-2])]
    return out


def summed_products(arrays, places, extents, kept):
    """Sums of products of elements, one of each array.

    places   for each array, which of all subscripts are its own
    extents  how far each subscript runs; the first `kept` are those of the result
    """
    kind = arrays[0].dtype
    for array in arrays:
        kind = common_dtype(kind, array.dtype)
    out = np.empty(extents[:kept], kind)
    for i in np.ndindex(extents[:kept]):
        total = kind.type(0)
        for j in np.ndindex(extents[kept:]):
            total += _product(arrays, places, i + j)
        out[i] = total
    return out


def total_of_products(arrays, places, extents):
    """`summed_products` where nothing is kept: a number."""
    total = arrays[0].dtype.type(0)
    for j in np.ndindex(extents):
        total += _product(arrays, places, j)
    return total


def _product(arrays, places, index):
    product = arrays[0][_chosen(index, places[0])]
    for k in AXES[: len(arrays) - 1]:
        product = product * arrays[k + 1][_chosen(index, places[k + 1])]
    return product


def _chosen(index, places):
    own: tuple[Any, ...] = ()
    for place in places:
        own = own + (index[place],)
    return own


def windows(array, extents, axes):
    """Every block of these extents along some axes, by where it begins."""
    shape = array.shape
    for m in AXES[: len(axes)]:
        if extents[m] > shape[axes[m]]:
            raise ValueError("window shape cannot be larger than input array shape")
        shape = shape[: axes[m]] + (shape[axes[m]] - extents[m] + 1,) + shape[axes[m] + 1 :]
    out = np.empty(shape + extents, array.dtype)
    for i in np.ndindex(shape):
        for j in np.ndindex(extents):
            place = i
            for m in AXES[: len(axes)]:
                place = place[: axes[m]] + (place[axes[m]] + j[m],) + place[axes[m] + 1 :]
            out[i + j] = array[place]
    return out


def _begun(lanes, first):
    """A number for each lane, to fold the lane's elements into."""
    if lanes.ndim == 1:
        return lanes.dtype.type(first)
    return np.full(lanes.shape[:-1], first, lanes.dtype)


def _folded(function, lanes, chosen, first):
    """The elements of each lane, those that are chosen, folded into a number."""
    if chosen is None and first is None:
        if lanes.shape[-1] > 0:
            result = lanes[..., 0] * 1
            for k in range(1, lanes.shape[-1]):
                result = function(result, lanes[..., k])
        elif function.identity is None:
            raise ValueError("zero-size array to reduction operation which has no identity")
        else:
            result = _begun(lanes, function.identity) * 1
        return result
    if first is None:
        raise ValueError("a reduction without an identity needs 'initial' to go with a where mask")
    result = _begun(lanes, first)
    for k in range(lanes.shape[-1]):
        if chosen is None:
            result = function(result, lanes[..., k])
        else:
            result = np.where(chosen[..., k], function(result, lanes[..., k]), result)
    return result


def folded(function, a, axis=0, keepdims=False, initial=None, where=None):
    """`function.reduce(a, axis)` of an elementwise function of two numbers."""
    places = axes_of(axis, a.ndim)
    chosen = None if where is None else together(np.broadcast_to(where, a.shape), places)
    first = function.identity if initial is None and where is not None else initial
    result = _folded(function, together(a, places), chosen, first)
    if keepdims:
        return np.reshape(np.asarray(result), remaining(a.shape, places, (1,)))
    return result


def folded_at(function, a, indices, axis=0):
    """`function.reduceat(a, indices, axis)`: from each index to the next one, or its element if that is not ahead."""
    place = within(axis, a.ndim)
    shape = a.shape
    count = indices.size
    out = np.empty(shape[:place] + (count,) + shape[place + 1 :], a.dtype)
    for m in range(count):
        start = indices[m]
        if start < 0 or start >= shape[place]:
            raise IndexError("index out-of-bounds in reduceat")
        stop = shape[place]
        if m + 1 < count:
            stop = indices[m + 1]
        for i in np.ndindex(shape[:place]):
            for k in np.ndindex(shape[place + 1 :]):
                total = a[i + (start,) + k]
                for j in range(start + 1, stop):
                    total = function(total, a[i + (j,) + k])
                out[i + (m,) + k] = total
    return out


def running(function, a, axis=0):
    """`function.accumulate(a, axis)` of an elementwise function of two numbers of one dtype."""
    place = within(axis, a.ndim)
    shape = a.shape
    out = np.empty(shape, a.dtype)
    for i in np.ndindex(shape[:place]):
        for k in np.ndindex(shape[place + 1 :]):
            if shape[place] > 0:
                total = a[i + (0,) + k]
                out[i + (0,) + k] = total
                for j in range(1, shape[place]):
                    total = function(total, a[i + (j,) + k])
                    out[i + (j,) + k] = total
    return out
