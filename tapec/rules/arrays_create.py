"""Ranges, grids and special matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import common_dtype
from tapec.rules.arrays_select import tril


def _is_float(x):
    return isinstance(x, (float, np.floating))


def arange(start, stop=None, step=None, dtype=None):
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


def linspace(start, stop, num=50, endpoint=True):
    """Evenly spaced numbers from `start` to `stop`."""
    if num < 0:
        raise ValueError("the number of samples must not be negative")
    out = np.empty(num, np.float64)
    gaps = num - 1 if endpoint else num
    step = (stop - start) / max(gaps, 1)
    for k in range(num):
        out[k] = start + k * step
    if endpoint and num > 1:
        out[num - 1] = stop
    return out


def logspace(start, stop, num=50, endpoint=True, base=10.0):
    """Numbers spaced evenly on a logarithmic scale, from `base**start` to `base**stop`."""
    return np.power(base, linspace(start, stop, num, endpoint))


def geomspace(start, stop, num=50):
    """Numbers in geometric progression from `start` to `stop`."""
    if start == 0 or stop == 0:
        raise ValueError("Geometric sequence cannot include zero")
    if start * stop < 0:
        raise ValueError("a geometric sequence of real numbers cannot change its sign")
    out = np.empty(num, np.float64)
    growth = np.log(stop / start) / max(num - 1, 1)
    for k in range(num):
        out[k] = start * np.exp(k * growth)
    if num > 1:
        out[num - 1] = stop
    return out


def eye(N, M=None, k=0, dtype=np.float64):
    """Ones on a diagonal, zeros elsewhere."""
    columns = N if M is None else M
    out = np.zeros((N, columns), dtype)
    for i in range(max(0, -k), min(N, columns - k)):
        out[i, i + k] = 1
    return out


def identity(n, dtype=np.float64):
    """The identity matrix."""
    return eye(n, None, 0, dtype)


def tri(N, M=None, k=0, dtype=np.float64):
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


def indices(dimensions):
    """The grid of indices of an array with the given extents."""
    out = np.empty((len(dimensions),) + dimensions, np.int64)
    for axis, _ in enumerate(dimensions):
        for k in np.ndindex(dimensions):
            out[(axis,) + k] = k[axis]
    return out


def meshgrid(*xi, indexing="xy"):
    """The coordinates of a grid's points from those of its axes."""
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
        out = np.empty(shape, x.dtype)
        out[...] = x.reshape((1,) * place + (x.size,) + (1,) * (count - place - 1))
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
