"""Picking, removing and inserting elements; diagonals and triangles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import AXES, accumulator, flat, within


def take(a, indices, axis=None):
    """Elements, or slices along an axis, at integer positions."""
    a = np.asarray(a)
    if axis is None:
        if np.ndim(indices) == 0:
            return np.ravel(a)[indices]
        return np.ravel(a)[np.asarray(indices)]
    place = within(axis, a.ndim)
    shape = a.shape
    chosen = np.asarray(indices)
    out = np.empty(shape[:place] + chosen.shape + shape[place + 1 :], a.dtype)
    for i in np.ndindex(shape[:place]):
        for j in np.ndindex(chosen.shape):
            at = chosen[j]
            for k in np.ndindex(shape[place + 1 :]):
                out[i + j + k] = a[i + (at,) + k]
    return out


def take_along_axis(arr, indices, axis=-1):
    """Elements at positions along an axis that are given for each lane."""
    arr = np.asarray(arr)
    if axis is None:
        return np.ravel(arr)[indices]
    place = within(axis, arr.ndim)
    if arr.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    rest = np.broadcast_shapes(
        arr.shape[:place] + (1,) + arr.shape[place + 1 :], indices.shape[:place] + (1,) + indices.shape[place + 1 :]
    )
    out = np.empty(rest[:place] + (indices.shape[place],) + rest[place + 1 :], arr.dtype)
    for i in np.ndindex(out.shape):
        here: tuple[Any, ...] = ()
        there: tuple[Any, ...] = ()
        for k in AXES[: arr.ndim]:
            here = here + (i[k] if k == place or indices.shape[k] > 1 else 0,)
            there = there + (i[k] if arr.shape[k] > 1 else 0,)
        out[i] = arr[there[:place] + (indices[here],) + there[place + 1 :]]
    return out


def extract(condition, arr):
    """The elements where a condition holds, flattened."""
    return np.ravel(arr)[flat(condition) != 0]


def compress(condition, a):
    """The elements of the flattened array where a 1-D condition holds."""
    wanted = flat(condition)
    return np.ravel(a)[: wanted.size][wanted != 0]


def select(condlist, choicelist, default=0):
    """For each element the choice of the first condition that holds."""
    result = default
    for condition, choice in zip(condlist[::-1], choicelist[::-1], strict=False):
        result = np.where(condition, choice, result)
    return result


def delete(arr, obj):
    """The flattened array without the elements at one or several positions."""
    values = flat(arr)
    n = values.size
    if np.ndim(obj) > 0:
        keep = np.full(n, True)
        for k in np.asarray(obj):
            if k < -n or k >= n:
                raise IndexError("index is out of bounds")
            keep[k] = False
        return values[keep]
    if obj < -n or obj >= n:
        raise IndexError("index is out of bounds")
    place = obj + n if obj < 0 else obj
    out = np.empty(n - 1, values.dtype)
    for k in range(place):
        out[k] = values[k]
    for k in range(place + 1, n):
        out[k - 1] = values[k]
    return out


def insert(arr, obj, values):
    """The flattened array with values inserted before one or several positions."""
    line = flat(arr)
    new = flat(values)
    n = line.size
    if np.ndim(obj) == 0:
        if obj < -n or obj > n:
            raise IndexError("index is out of bounds")
        place = obj + n if obj < 0 else obj
        count = new.size
        out = np.empty(n + count, line.dtype)
        for k in range(place):
            out[k] = line[k]
        for k in range(count):
            out[place + k] = new[k]
        for k in range(place, n):
            out[k + count] = line[k]
        return out
    places = np.asarray(obj)
    count = places.size
    wrapped = np.empty(count, np.int64)
    for k in range(count):
        if count == 1 and (places[k] < -n or places[k] > n):
            raise IndexError("index is out of bounds")
        wrapped[k] = places[k] + n if places[k] < 0 else places[k]
    order = np.argsort(wrapped, kind="mergesort")
    step = 0 if new.size == 1 else 1
    if step == 1 and new.size != count:
        raise ValueError("shape mismatch between the values and the positions")
    out = np.empty(n + count, line.dtype)
    used = np.full(n + count, False)
    for k in range(count):
        at = wrapped[order[k]] + k
        if at < -n - count or at >= n + count:
            raise IndexError("index is out of bounds")
        out[at] = new[order[k] * step]
        used[at] = True
    taken = 0
    for k in range(n + count):
        if not used[k]:
            out[k] = line[taken]
            taken += 1
    return out


def _diagonal_length(shape, k):
    if k >= 0:
        return max(0, min(shape[0], shape[1] - k))
    return max(0, min(shape[0] + k, shape[1]))


def diagonal(a, offset=0):
    """A copy of a diagonal of a matrix; NumPy gives a view that cannot be written."""
    a = np.asarray(a)
    if a.ndim != 2:
        raise ValueError("diagonal is supported for matrices only")
    count = _diagonal_length(a.shape, offset)
    out = np.empty(count, a.dtype)
    down = max(0, -offset)
    right = max(0, offset)
    for i in range(count):
        out[i] = a[i + down, i + right]
    return out


def diag(v, k=0):
    """The matrix with a given diagonal, or a copy of a diagonal of a matrix."""
    v = np.asarray(v)
    if v.ndim != 1:
        return diagonal(v, k)
    down = max(0, -k)
    right = max(0, k)
    size = v.size + down + right
    out = np.zeros((size, size), v.dtype)
    for i in range(v.size):
        out[i + down, i + right] = v[i]
    return out


def diagflat(v, k=0):
    """The matrix whose diagonal is the flattened array."""
    return diag(flat(v), k)


def trace(a, offset=0):
    """Sum of a diagonal of a matrix."""
    a = np.asarray(a)
    if a.ndim != 2:
        raise ValueError("trace is supported for matrices only")
    total = accumulator(a.dtype)(0)
    down = max(0, -offset)
    right = max(0, offset)
    for i in range(_diagonal_length(a.shape, offset)):
        total += a[i + down, i + right]
    return total


def _square(m):
    """A matrix whose rows are all the given 1-D array; other arrays as they are."""
    m = np.asarray(m)
    if m.ndim == 1:
        out = np.empty((m.size, m.size), m.dtype)
        out[...] = m
        return out
    return m


def tril(m, k=0):
    """A copy with zeros above a diagonal."""
    a = _square(m)
    out = np.zeros(a.shape, a.dtype)
    rows = a.shape[-2]
    columns = a.shape[-1]
    for before in np.ndindex(a.shape[:-2]):
        for i in range(rows):
            for j in range(min(columns, i + k + 1)):
                out[before + (i, j)] = a[before + (i, j)]
    return out


def triu(m, k=0):
    """A copy with zeros below a diagonal."""
    a = _square(m)
    out = np.zeros(a.shape, a.dtype)
    rows = a.shape[-2]
    columns = a.shape[-1]
    for before in np.ndindex(a.shape[:-2]):
        for i in range(rows):
            for j in range(max(0, i + k), columns):
                out[before + (i, j)] = a[before + (i, j)]
    return out


def fill_diagonal(a, val, wrap=False):
    """Write a number, or the elements of an array in turn, on the main diagonal, in place."""
    values = flat(val)
    count = a.shape[0]
    if a.ndim == 2:
        count = min(a.shape[0], a.shape[1])
        if wrap and a.shape[0] > a.shape[1]:
            # one step of the diagonal is a row and a column; it starts anew after each gap of one row
            size = a.shape[0] * a.shape[1]
            count = (size + a.shape[1]) // (a.shape[1] + 1)
        for k in range(count):
            gaps = k // max(a.shape[1], 1)
            a[k + gaps, k - gaps * a.shape[1]] = values[k % values.size]
    else:
        for axis in AXES[: a.ndim]:
            if a.shape[axis] != count:
                raise ValueError("All dimensions of input must be of equal length")
        for k in range(count):
            a[(k,) * a.ndim] = values[k % values.size]


def _limited(a, a_min, a_max):
    if a_min is None and a_max is None:
        raise ValueError("one of the bounds must be given")
    if a_min is None:
        return np.minimum(a, a_max)
    if a_max is None:
        return np.maximum(a, a_min)
    return np.minimum(np.maximum(a, a_min), a_max)


def clip(a, a_min=None, a_max=None, out=None):
    """Elements limited to an interval; a bound of None is no bound."""
    if out is None:
        return _limited(a, a_min, a_max)
    out[...] = _limited(a, a_min, a_max)
    return out


def copyto(dst, src, casting="same_kind", where=True):
    """Store an array, or where a condition holds its elements, into another one."""
    values = np.asarray(src)
    if casting != "same_kind":
        raise TypeError("np.copyto is taken with casting='same_kind'")
    if dst.dtype.kind != "f" and dst.dtype.kind != "c" and (values.dtype.kind == "f" or values.dtype.kind == "c"):
        raise TypeError("Cannot cast array data according to the rule 'same_kind'")
    if isinstance(where, bool):
        if where:
            dst[...] = values
    else:
        dst[...] = np.where(where, values, dst)


def real(val):
    """The real part: of a real number or array, itself; of a complex array, a view."""
    return val


def conjugate(a):
    """The complex conjugate: of a real number or array, itself."""
    return a


def choose(a, choices):
    """Elements of several arrays, by the number of the array at each place."""
    a = np.asarray(a)
    if np.any(a < 0) or np.any(a >= len(choices)):
        raise ValueError("invalid entry in choice array")
    out = np.where(a == 0, choices[0], choices[0])
    for k in AXES[1 : len(choices)]:
        out = np.where(a == k, choices[k], out)
    return out


def piecewise(x, condlist, funclist, *args):
    """Values of functions or constants, each where its condition holds; the last one of more than there are
    conditions where none does."""
    x = np.asarray(x)
    out = np.zeros(x.shape, x.dtype)
    if len(funclist) == len(condlist) + 1:
        rest = np.ones(x.shape, np.bool_)
        for k in AXES[: len(condlist)]:
            rest = rest & ~np.asarray(condlist[k])
        _put(out, x, rest, funclist[len(condlist)], args)
    elif len(funclist) != len(condlist):
        raise ValueError("the numbers of conditions and functions do not fit")
    for k in AXES[: len(condlist)]:
        _put(out, x, np.asarray(condlist[k]), funclist[k], args)
    return out


def _put(out, x, chosen, function, args):
    if isinstance(function, (int, float)):
        out[chosen] = function
    elif np.any(chosen):
        out[chosen] = function(x[chosen], *args)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "take": take,
    "take_along_axis": take_along_axis,
    "extract": extract,
    "compress": compress,
    "select": select,
    "choose": choose,
    "piecewise": piecewise,
    "delete": delete,
    "insert": insert,
    "diagonal": diagonal,
    "diag": diag,
    "diagflat": diagflat,
    "trace": trace,
    "tril": tril,
    "triu": triu,
    "fill_diagonal": fill_diagonal,
    "clip": clip,
    "copyto": copyto,
    "real": real,
}

METHODS: dict[str, Callable[..., Any]] = {
    "take": take,
    "compress": compress,
    "diagonal": diagonal,
    "trace": trace,
    "clip": clip,
    "conj": conjugate,
    "conjugate": conjugate,
}
