"""Products of vectors, filters, differences and interpolation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import (
    AXES,
    axes_of,
    common_dtype,
    flat,
    float_type,
    within,
)
from tapec.rules.arrays_shape import broadcast_shapes, concatenate


def matmul(x1, x2):
    """Matrix product of arrays with one or two axes."""
    return np.asarray(x1) @ np.asarray(x2)


def vdot(a, b):
    """Sum of the products of corresponding elements, both flattened."""
    first = flat(a)
    second = flat(b)
    if first.size != second.size:
        raise ValueError("both arguments must have the same number of elements")
    total = common_dtype(first.dtype, second.dtype).type(0)
    for k in range(first.size):
        total += first[k] * second[k]
    return total


def inner(a, b):
    """Sums of products over the last axes of two vectors or matrices."""
    a = np.asarray(a)
    b = np.asarray(b)
    if a.ndim == 1 and b.ndim == 1:
        return vdot(a, b)
    return a @ b.T


def outer(a, b):
    """All products of an element of one array and one of the other, both flattened."""
    first = flat(a)
    second = flat(b)
    out = np.empty((first.size, second.size), common_dtype(first.dtype, second.dtype))
    for i in range(first.size):
        x = first[i]
        for j in range(second.size):
            out[i, j] = x * second[j]
    return out


def kron(a, b):
    """Blocks of the second array, multiplied by each element of the first."""
    a = np.asarray(a)
    b = np.asarray(b)
    missing = b.ndim - a.ndim
    for _ in AXES[: max(0, missing)]:
        a = a[np.newaxis]
    for _ in AXES[: max(0, -missing)]:
        b = b[np.newaxis]
    split: tuple[Any, ...] = ()
    shape: tuple[Any, ...] = ()
    for k in AXES[: a.ndim]:
        split = split + (a.shape[k], b.shape[k])
        shape = shape + (a.shape[k] * b.shape[k],)
    out = np.empty(split, common_dtype(a.dtype, b.dtype))
    for i in np.ndindex(split):
        out[i] = a[i[0::2]] * b[i[1::2]]
    return np.reshape(out, shape)


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """Vector product along an axis, of 3-vectors; one may be a 2-vector, with 0 as third component."""
    first = np.moveaxis(np.asarray(a), axisa if axis is None else axis, -1)
    second = np.moveaxis(np.asarray(b), axisb if axis is None else axis, -1)
    return np.moveaxis(_crossed(first, second), -1, axisc if axis is None else axis)


def _crossed(a, b):
    """The vector product along the last axis."""
    wide = a.shape[-1]
    other = b.shape[-1]
    if not ((wide == 2 or wide == 3) and (other == 2 or other == 3)):
        raise ValueError("incompatible dimensions for cross product: they must be 2 or 3")
    if wide == 2 and other == 2:
        raise ValueError("the cross product of two 2-vectors is a number: use numba.np.extensions.cross2d")
    out = np.empty(broadcast_shapes(a.shape[:-1], b.shape[:-1]) + (3,), common_dtype(a.dtype, b.dtype))
    if wide == 3 and other == 3:
        out[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
        out[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    elif wide == 3:
        out[..., 0] = -a[..., 2] * b[..., 1]
        out[..., 1] = a[..., 2] * b[..., 0]
    else:
        out[..., 0] = a[..., 1] * b[..., 2]
        out[..., 1] = -a[..., 0] * b[..., 2]
    out[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return out


def cross2d(a, b):
    """Third component of the cross product of 2-vectors."""
    a = np.asarray(a)
    b = np.asarray(b)
    if a.shape[-1] != 2 or b.shape[-1] != 2:
        raise ValueError("incompatible dimensions for 2D cross product: they must be 2")
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _full(a, v):
    out = np.zeros(a.size + v.size - 1, common_dtype(a.dtype, v.dtype))
    for i in range(a.size):
        x = a[i]
        for j in range(v.size):
            out[i + j] += x * v[j]
    return out


def _central(full, long, short, skip, mode):
    if mode == "full":
        return full
    if mode == "same":
        return full[skip : skip + long]
    if mode == "valid":
        return full[short - 1 : long]
    raise ValueError("mode must be 'full', 'same' or 'valid'")


def convolve(a, v, mode="full"):
    """Discrete convolution of two 1-D arrays."""
    first = flat(a)
    second = flat(v)
    if first.size == 0 or second.size == 0:
        raise ValueError("the arguments cannot be empty")
    short = min(first.size, second.size)
    return _central(_full(first, second), max(first.size, second.size), short, (short - 1) // 2, mode)


def correlate(a, v, mode="valid"):
    """Cross-correlation of two 1-D arrays."""
    first = flat(a)
    second = flat(v)
    if first.size == 0 or second.size == 0:
        raise ValueError("the arguments cannot be empty")
    short = min(first.size, second.size)
    # of a shorter first array NumPy takes the mirror image, which moves the centre of an even overlap
    skip = (short - 1) // 2 if first.size >= second.size else short // 2
    return _central(_full(first, second[::-1]), max(first.size, second.size), short, skip, mode)


def _differences(a):
    size = max(a.shape[-1] - 1, 0)
    out = np.empty(a.shape[:-1] + (size,), a.dtype)
    for i in np.ndindex(a.shape[:-1]):
        for k in range(size):
            out[i + (k,)] = a[i + (k + 1,)] - a[i + (k,)]
    return out


def _repeated_differences(a, n):
    work = a.copy()
    size = a.shape[-1]
    for iteration in range(min(n, size)):
        for i in np.ndindex(a.shape[:-1]):
            for k in range(size - 1 - iteration):
                work[i + (k,)] = work[i + (k + 1,)] - work[i + (k,)]
    return work[..., : max(size - n, 0)]


def _side(values, a, place):
    """What comes before or behind an array along an axis: a number there counts for each lane."""
    if np.ndim(values) == 0:
        return np.full(a.shape[:place] + (1,) + a.shape[place + 1 :], values)
    return np.asarray(values)


def diff(a, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours along an axis, taken `n` times."""
    a = np.asarray(a)
    if n == 0:
        return a
    place = within(axis, a.ndim)
    if prepend is not None:
        a = concatenate((_side(prepend, a, place), a), place)
    if append is not None:
        a = concatenate((a, _side(append, a, place)), place)
    if n < 0:
        raise ValueError("the order of a difference must not be negative")
    line = np.swapaxes(a, place, a.ndim - 1)
    if n == 1:
        return np.swapaxes(_differences(line), place, a.ndim - 1)
    return np.swapaxes(_repeated_differences(line, n), place, a.ndim - 1)


def _slopes(values, x, edge_order):
    """Slopes along the last axis of samples at places `x`, or a distance apart: second order inside."""
    n = values.shape[-1]
    if n < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient")
    out = np.empty(values.shape, float_type(values.dtype))
    if np.ndim(x) == 0:
        out[..., 1 : n - 1] = (values[..., 2:] - values[..., : n - 2]) / (2.0 * x)
        if edge_order == 1:
            out[..., 0] = (values[..., 1] - values[..., 0]) / x
            out[..., n - 1] = (values[..., n - 1] - values[..., n - 2]) / x
        else:
            out[..., 0] = (-1.5 * values[..., 0] + 2.0 * values[..., 1] - 0.5 * values[..., 2]) / x
            out[..., n - 1] = (1.5 * values[..., n - 1] - 2.0 * values[..., n - 2] + 0.5 * values[..., n - 3]) / x
        return out
    if x.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if x.size != n:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    h = x[1:] - x[: n - 1]
    # products of distances, and their squares, may be out of range
    one = h[: n - 2]
    two = h[1:]
    out[..., 1 : n - 1] = (
        (two - one) / one * (values[..., 1 : n - 1] / two)
        - two / one * (values[..., : n - 2] / (one + two))
        + one / two * (values[..., 2:] / (one + two))
    )
    if edge_order == 1:
        out[..., 0] = (values[..., 1] - values[..., 0]) / h[0]
        out[..., n - 1] = (values[..., n - 1] - values[..., n - 2]) / h[n - 2]
    else:
        a = h[0]
        b = h[1]
        first = (a + b) / b * (values[..., 1] / a) - (2.0 * a + b) / (a + b) * (values[..., 0] / a)
        out[..., 0] = first - a / (a + b) * (values[..., 2] / b)
        a = h[n - 3]
        b = h[n - 2]
        last = b / (a + b) * (values[..., n - 3] / a) - (a + b) / a * (values[..., n - 2] / b)
        out[..., n - 1] = last + (2.0 * b + a) / (a + b) * (values[..., n - 1] / b)
    return out


def _slopes_along(f, place, x, edge_order):
    line = np.swapaxes(f, place, f.ndim - 1)
    return np.swapaxes(_slopes(line, x, edge_order), place, f.ndim - 1)


def gradient(f, *varargs, axis=None, edge_order=1):
    """Slopes by differences along an axis, or a tuple of those along several, as np.gradient gives them."""
    f = np.asarray(f)
    if edge_order != 1 and edge_order != 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    places = axes_of(axis, f.ndim)
    if len(varargs) > 1 and len(varargs) != len(places):
        raise TypeError("invalid number of arguments")
    slopes = []
    for k in AXES[: len(places)]:
        if len(varargs) == 0:
            x = 1.0
        elif len(varargs) == 1:
            x = varargs[0]
        else:
            x = varargs[k]
        if isinstance(x, (tuple, list)):
            x = np.asarray(x)
        slopes.append(_slopes_along(f, places[k], x, edge_order))
    if len(places) == 1:
        return slopes[0]
    return tuple(slopes)


def _check_core(first, second):
    """Extents that a product sums over are equal: they are not broadcast."""
    if first != second:
        raise ValueError("operands have a mismatch in their core dimension")


def vecdot(x1, x2, /, axis=-1):
    """Products of vectors along an axis."""
    one = np.moveaxis(np.asarray(x1), axis, -1)
    two = np.moveaxis(np.asarray(x2), axis, -1)
    _check_core(one.shape[-1], two.shape[-1])
    return np.sum(np.conj(one) * two, axis=-1)


def matvec(x1, x2, /):
    """Products of matrices and vectors, which stand along the last axes."""
    matrix = np.asarray(x1)
    vector = np.asarray(x2)
    _check_core(matrix.shape[-1], vector.shape[-1])
    return np.sum(matrix * vector[..., None, :], axis=-1)


def vecmat(x1, x2, /):
    """Products of vectors and matrices, which stand along the last axes."""
    vector = np.asarray(x1)
    matrix = np.asarray(x2)
    _check_core(vector.shape[-1], matrix.shape[-2])
    return np.sum(np.conj(vector)[..., None] * matrix, axis=-2)


def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of neighbours of the flattened array, with values put before and after."""
    values = _differences(flat(ary))
    if to_begin is not None:
        values = concatenate((flat(to_begin).astype(values.dtype), values))
    if to_end is not None:
        values = concatenate((values, flat(to_end).astype(values.dtype)))
    return values


def unwrap(p, discont=None, axis=-1, *, period=6.283185307179586):
    """Phases with jumps of more than half a period removed, along an axis."""
    p = np.asarray(p)
    place = within(axis, p.ndim)
    line = np.swapaxes(p, place, p.ndim - 1)
    half = period / 2
    least = half if discont is None else discont
    out = np.empty(line.shape, float_type(p.dtype))
    for i in np.ndindex(line.shape[:-1]):
        # whole periods alone: the derivative with respect to the phases is that of a copy
        turns = 0
        for k in range(line.shape[-1]):
            if k > 0:
                step = line[i + (k,)] - line[i + (k - 1,)]
                if np.abs(step) >= least:
                    jump = int(np.floor((step + half) / period))
                    # NumPy leaves a step of exactly half a period upwards as it is
                    if step > 0 and (step + half) - jump * period == 0:
                        jump -= 1
                    turns -= jump
            out[i + (k,)] = line[i + (k,)] + turns * period
    return np.swapaxes(out, place, p.ndim - 1)


def _interpolated(v, xp, fp, low, high):
    last = xp.size - 1
    place = np.searchsorted(xp, v, side="right") - 1
    if v != v:
        return v
    if place < 0:
        return low
    if place >= last:
        # the last knot itself has the last value
        return fp[last] if v == xp[last] else high
    slope = (fp[place + 1] - fp[place]) / (xp[place + 1] - xp[place])
    return fp[place] + slope * (v - xp[place])


def _around(knots, values, period):
    """The samples of a function with a period, in order, and one more at each end."""
    moved = knots % period
    order = np.argsort(moved)
    n = knots.size
    wide = np.empty(n + 2, np.float64)
    high = np.empty(n + 2, np.float64)
    for k in range(n):
        wide[k + 1] = moved[order[k]]
        high[k + 1] = values[order[k]]
    wide[0] = wide[n] - period
    high[0] = high[n]
    wide[n + 1] = wide[1] + period
    high[n + 1] = high[1]
    return wide, high


def interp(x, xp, fp, left=None, right=None, period=None):
    """Linear interpolation between samples; constant outside them, and the slope at a knot is that to its right."""
    knots = np.asarray(xp)
    values = np.asarray(fp)
    if knots.size == 0:
        raise ValueError("array of sample points is empty")
    if knots.size != values.size:
        raise ValueError("fp and xp are not of the same length.")
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        knots, values = _around(knots, values, np.abs(period))
        x = np.asarray(x) % np.abs(period) if np.ndim(x) > 0 else x % np.abs(period)
        return interp(x, knots, values)
    low = values[0] if left is None else left
    high = values[values.size - 1] if right is None else right
    if np.ndim(x) == 0:
        return np.float64(_interpolated(np.float64(x), knots, values, low, high))
    points = np.asarray(x)
    out = np.empty(points.shape, np.float64)
    for k in np.ndindex(points.shape):
        out[k] = _interpolated(np.float64(points[k]), knots, values, low, high)
    return out


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "matmul": matmul,
    "vdot": vdot,
    "inner": inner,
    "outer": outer,
    "kron": kron,
    "cross": cross,
    "convolve": convolve,
    "correlate": correlate,
    "diff": diff,
    "ediff1d": ediff1d,
    "gradient": gradient,
    "vecdot": vecdot,
    "matvec": matvec,
    "vecmat": vecmat,
    "unwrap": unwrap,
    "interp": interp,
}
