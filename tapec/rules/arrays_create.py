"""Ranges, grids and special matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import common_dtype
from tapec.rules.arrays_select import tril


def _is_float(x):
    return isinstance(x, (float, np.floating))


def arange(start, stop=None, step=None, dtype=None, *, device=None, like=None):
    """Numbers from `start` up to, but without, `stop`."""
    first = 0 if stop is None else start
    last = start if stop is None else stop
    by = 1 if step is None else step
    if by == 0:
        raise ValueError("the step must not be zero")
    if _is_float(first) or _is_float(last) or _is_float(by):
        count = max(0, int(np.ceil((last - first) / by)))
        values = np.empty(count, np.float64 if dtype is None else dtype)
    else:
        count = max(0, -((first - last) // by))
        values = np.empty(count, np.int64 if dtype is None else dtype)
    for k in range(count):
        values[k] = first + k * by
    return values


def _spaced(start, stop, num, endpoint):
    """Evenly spaced numbers or arrays, along the first axis."""
    gaps = num - 1 if endpoint else num
    step = (stop - start) / max(gaps, 1)
    out = np.empty((num,) + np.shape(step), np.float64)
    for k in range(num):
        out[k] = start + k * step
    if endpoint and num > 1:
        out[num - 1] = stop
    return out


def _axis_moved(out, axis, dtype):
    moved = out if axis == 0 else np.moveaxis(out, 0, axis)
    return moved if dtype is None else _as_type(moved, dtype)


def _as_type(out, dtype):
    """Numbers of another type: integers are rounded down."""
    return np.floor(out).astype(dtype) if np.dtype(dtype).kind == "i" else out.astype(dtype)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """Evenly spaced numbers from `start` to `stop`, or arrays, along an axis of their own."""
    if num < 0:
        raise ValueError("the number of samples must not be negative")
    first = _number_or_array(start)
    last = _number_or_array(stop)
    out = _axis_moved(_spaced(first, last, num, endpoint), axis, dtype)
    if retstep:
        gaps = num - 1 if endpoint else num
        return out, (last - first) / (gaps if gaps > 0 else np.nan)
    return out


def _number_or_array(x):
    return x if np.ndim(x) == 0 else np.asarray(x)


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """Numbers spaced evenly on a logarithmic scale, from `base**start` to `base**stop`."""
    spaced = _spaced(_number_or_array(start), _number_or_array(stop), num, endpoint)
    return _axis_moved(np.power(base, spaced), axis, dtype)


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """Numbers in geometric progression from `start` to `stop`, or arrays of them."""
    first = _number_or_array(start)
    last = _number_or_array(stop)
    if np.any(np.asarray(first) == 0) or np.any(np.asarray(last) == 0):
        raise ValueError("Geometric sequence cannot include zero")
    ratio = last / first
    if np.any(np.asarray(ratio) < 0):
        raise ValueError("a geometric sequence of real numbers cannot change its sign")
    growth = np.log(ratio) / max(num - 1 if endpoint else num, 1)
    out = np.empty((num,) + np.shape(growth), np.float64)
    for k in range(num):
        out[k] = first * np.exp(k * growth)
    if endpoint and num > 1:
        out[num - 1] = last
    return _axis_moved(out, axis, dtype)


def eye(N, M=None, k=0, dtype=np.float64, order="C", *, device=None, like=None):
    """Ones on a diagonal, zeros elsewhere."""
    columns = N if M is None else M
    if N < 0 or columns < 0:
        raise ValueError("negative dimensions are not allowed")
    out = np.zeros((N, columns), dtype)
    for i in range(max(0, -k), min(N, columns - k)):
        out[i, i + k] = 1
    return out


def identity(n, dtype=np.float64, *, like=None):
    """The identity matrix."""
    return eye(n, None, 0, dtype)


def tri(N, M=None, k=0, dtype=np.float64, *, like=None):
    """Ones on and below a diagonal, zeros elsewhere."""
    return tril(np.ones((N, N if M is None else M), dtype), k)


def vander(x, N=None, increasing=False):
    """The matrix whose columns are powers of a 1-D array."""
    x = np.asarray(x)
    count = x.size if N is None else N
    out = np.empty((x.size, count), common_dtype(x.dtype, np.dtype(np.int64)) if x.dtype.kind != "f" else x.dtype)
    powers = out if increasing else out[:, ::-1]
    for i in range(x.size):
        power = out.dtype.type(1)
        for j in range(count):
            powers[i, j] = power
            power *= x[i]
    return out


def indices(dimensions, dtype=int, sparse=False):
    """The grid of indices of an array with the given extents."""
    if sparse:
        return meshgrid(*tuple(np.arange(extent).astype(dtype) for extent in dimensions), indexing="ij", sparse=True)
    out = np.empty((len(dimensions),) + dimensions, dtype)
    for axis, _ in enumerate(dimensions):
        for k in np.ndindex(dimensions):
            out[(axis,) + k] = k[axis]
    return out


def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    """The coordinates of a grid's points from those of its axes."""
    if not copy:
        raise ValueError("np.meshgrid is taken with copy=True")
    if indexing != "xy" and indexing != "ij":
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    arrays = tuple(np.asarray(x) for x in xi)
    count = len(arrays)
    swapped = indexing == "xy" and count > 1
    sizes = tuple(x.size for x in arrays)
    shape = (sizes[1], sizes[0]) + sizes[2:] if swapped else sizes
    made: tuple[Any, ...] = ()
    for k, x in enumerate(arrays):
        place = 1 - k if swapped and k < 2 else k
        line = x.reshape((1,) * place + (x.size,) + (1,) * (count - place - 1))
        if sparse:
            made = made + (line.copy(),)
        else:
            out = np.empty(shape, x.dtype)
            out[...] = line
            made = made + (out,)
    return made


def asarray_chkfinite(a, dtype=None):
    """The array itself; an error if an element is inf or nan."""
    a = np.asarray(a) if dtype is None else np.asarray(a, dtype)
    for k in np.ndindex(a.shape):
        if not np.isfinite(a[k]):
            raise ValueError("array must not contain infs or NaNs")
    return a


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "arange": arange,
    "linspace": linspace,
    "logspace": logspace,
    "geomspace": geomspace,
    "eye": eye,
    "identity": identity,
    "tri": tri,
    "vander": vander,
    "indices": indices,
    "meshgrid": meshgrid,
    "asarray_chkfinite": asarray_chkfinite,
}
