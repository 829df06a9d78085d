"""Picking, removing and inserting elements; diagonals and triangles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import AXES, accumulator, flat, part, within
from tapec.rules.arrays_index import placed


def take(a, indices, axis=None, *, mode="raise"):
    """Elements, or slices along an axis, at integer positions; `mode` says what places out of range stand for."""
    a = np.asarray(a)
    if mode != "raise":
        size = a.size if axis is None else a.shape[within(axis, a.ndim)]
        chosen = np.asarray(indices)
        moved = np.empty(chosen.shape, np.int64)
        for j in np.ndindex(chosen.shape):
            moved[j] = placed(chosen[j], size, mode)
        return take(a, moved[()] if moved.ndim == 0 else moved, axis)
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


def compress(condition, a, axis=None):
    """The elements of the flattened array, or the slices along an axis, where a 1-D condition holds."""
    wanted = flat(condition)
    if axis is None:
        return np.ravel(a)[: wanted.size][wanted != 0]
    return take(a, np.flatnonzero(wanted != 0), axis)


def select(condlist, choicelist, default=0):
    """For each element the choice of the first condition that holds."""
    result = default
    for condition, choice in zip(condlist[::-1], choicelist[::-1], strict=False):
        result = np.where(condition, choice, result)
    return result


def delete(arr, obj, axis=None):
    """The flattened array, or an array along an axis, without what is at one or several positions."""
    values = flat(arr) if axis is None else np.asarray(arr)
    place = 0 if axis is None else within(axis, values.ndim)
    n = values.shape[place]
    keep = np.full(n, True)
    if isinstance(obj, slice):
        keep[obj] = False
    elif np.ndim(obj) == 0:
        if obj < -n or obj >= n:
            raise IndexError("index is out of bounds")
        keep[obj] = False
    else:
        places = np.asarray(obj)
        if places.dtype.kind == "b":
            if places.size != n:
                raise ValueError("a boolean argument of np.delete must be as long as the axis")
            keep[places] = False
        else:
            for k in places:
                if k < -n or k >= n:
                    raise IndexError("index is out of bounds")
                keep[k] = False
    return values[keep] if values.ndim == 1 else take(values, np.flatnonzero(keep), place)


def _between(line, place, new, axis):
    """An array with another one between its parts before and behind a place along an axis."""
    shape = line.shape[:axis] + (line.shape[axis] + new.shape[axis],) + line.shape[axis + 1 :]
    out = np.empty(shape, line.dtype)
    part(out, axis, 0, place)[...] = part(line, axis, 0, place)
    part(out, axis, place, place + new.shape[axis])[...] = new
    part(out, axis, place + new.shape[axis], shape[axis])[...] = part(line, axis, place, line.shape[axis])
    return out


def _wrapped(places, n):
    """Positions to insert before, counted from 0."""
    wrapped = np.empty(places.size, np.int64)
    for k in range(places.size):
        if places.size == 1 and (places[k] < -n or places[k] > n):
            raise IndexError("index is out of bounds")
        wrapped[k] = places[k] + n if places[k] < 0 else places[k]
    return wrapped


def insert(arr, obj, values, axis=None):
    """The flattened array, or an array along an axis, with values inserted before one or several positions."""
    line = flat(arr) if axis is None else np.asarray(arr)
    at = 0 if axis is None else within(axis, line.ndim)
    n = line.shape[at]
    new = np.asarray(values)
    new = np.reshape(new, (1,) * (line.ndim - new.ndim) + new.shape)
    if np.ndim(obj) == 0:
        if obj < -n or obj > n:
            raise IndexError("index is out of bounds")
        # the first axis of what is inserted at one place is that along which it is
        new = np.moveaxis(new, 0, at)
        shape = line.shape[:at] + (new.shape[at],) + line.shape[at + 1 :]
        return _between(line, obj + n if obj < 0 else obj, np.broadcast_to(new, shape), at)
    wrapped = _wrapped(np.asarray(obj), n)
    count = wrapped.size
    order = np.argsort(wrapped, kind="mergesort")
    if new.shape[at] != 1 and new.shape[at] != count:
        raise ValueError("shape mismatch between the values and the positions")
    new = np.broadcast_to(new, line.shape[:at] + (count,) + line.shape[at + 1 :])
    # which slice of both, one behind the other, stands where
    source = np.full(n + count, -1)
    for k in range(count):
        to = wrapped[order[k]] + k
        if to < -n - count or to >= n + count:
            raise IndexError("index is out of bounds")
        source[to] = n + order[k]
    taken = 0
    for k in range(n + count):
        if source[k] < 0:
            source[k] = taken
            taken += 1
    return take(_between(line, n, new, at), source, at)


def _diagonal_length(shape, k):
    if k >= 0:
        return max(0, min(shape[0], shape[1] - k))
    return max(0, min(shape[0] + k, shape[1]))


def diagonal(a, offset=0, axis1=0, axis2=1):
    """A copy of a diagonal of matrices along two axes; NumPy gives a view that cannot be written."""
    a = np.asarray(a)
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    rows = within(axis1, a.ndim)
    columns = within(axis2, a.ndim)
    if rows == columns:
        raise ValueError("axis1 and axis2 cannot be the same")
    whole = a if a.ndim == 2 and rows == 0 else np.moveaxis(a, (rows, columns), (-2, -1))
    count = _diagonal_length(whole.shape[-2:], offset)
    out = np.empty(whole.shape[:-2] + (count,), a.dtype)
    down = max(0, -offset)
    right = max(0, offset)
    for before in np.ndindex(whole.shape[:-2]):
        for i in range(count):
            out[before + (i,)] = whole[before + (i + down, i + right)]
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


def trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    """Sum of a diagonal of a matrix, or of matrices along two axes."""
    line = diagonal(a, offset, axis1, axis2)
    if dtype is not None:
        line = line.astype(dtype)
    kind = accumulator(line.dtype)
    if line.ndim == 1:
        total = kind(0)
        for i in range(line.size):
            total += line[i]
        return total
    out = np.zeros(line.shape[:-1], kind)
    for before in np.ndindex(line.shape[:-1]):
        for i in range(line.shape[-1]):
            out[before] += line[before + (i,)]
    return out


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


def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None):
    """Elements limited to an interval; a bound of None is no bound."""
    low = a_min if min is None else min
    high = a_max if max is None else max
    if out is None:
        return _limited(a, low, high)
    out[...] = _limited(a, low, high)
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


def compressed(a, condition, axis=None):
    """The elements of the flattened array, or the slices along an axis, where a 1-D condition holds."""
    return compress(condition, a, axis)


def choose(a, choices, *, mode="raise"):
    """Elements of several arrays, by the number of the array at each place."""
    a = np.asarray(a)
    if mode == "clip":
        a = np.minimum(np.maximum(a, 0), len(choices) - 1)
    elif mode == "wrap":
        a = a % len(choices)
    elif np.any(a < 0) or np.any(a >= len(choices)):
        raise ValueError("invalid entry in choice array")
    out = np.where(a == 0, choices[0], choices[0])
    for k in AXES[1 : len(choices)]:
        out = np.where(a == k, choices[k], out)
    return out


def piecewise(x, condlist, funclist, *args):
    """Values of functions or constants, each where its condition holds; the last one of more than there are
    conditions where none does."""
    x = np.asarray(x)
    if not isinstance(condlist, (list, tuple)):
        condlist = (condlist,)
    computed = False
    for function in funclist:
        computed = computed or not isinstance(function, (int, float))
    # what functions give is connected with `x`, also where none is called
    out = np.where(False, x, x.dtype.type(0)) if computed else np.zeros(x.shape, x.dtype)
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
    "compress": compressed,
    "diagonal": diagonal,
    "trace": trace,
    "clip": clip,
    "conj": conjugate,
    "conjugate": conjugate,
}
