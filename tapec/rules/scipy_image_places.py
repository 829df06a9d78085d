"""Images between their pixels: `map_coordinates` of `scipy.ndimage`, and what is made of it.

Of spline orders 0, 1 and 3.  The coefficients of cubic splines solve a tridiagonal system along each axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import AXES, last_axis, stop_gradient

# those whose coefficients are turned at the edges, and others
_MODES = ("constant", "mirror", "wrap", "nearest", "reflect")


def _spline(line):
    """The coefficients of the cubic spline through numbers, which are turned at the edges."""
    n = line.size
    if n == 1:
        return line * 1.0
    out = np.empty(n)
    above = np.empty(n)
    # rows of (1, 4, 1), what is beyond an edge added to what it equals
    above[0] = 0.5
    out[0] = 1.5 * line[0]
    for i in range(1, n):
        before = 2.0 if i == n - 1 else 1.0
        pivot = 4.0 - before * above[i - 1]
        above[i] = 1.0 / pivot
        out[i] = (6.0 * line[i] - before * out[i - 1]) / pivot
    for back in range(n - 1):
        i = n - 2 - back
        out[i] = out[i] - above[i] * out[i + 1]
    return out


def _coefficients(array, order, mode, prefilter):
    if order != 0 and order != 1 and order != 3:
        raise ValueError("images of scipy.ndimage are taken between pixels with order 0, 1 or 3")
    if mode not in _MODES:
        raise ValueError("images are taken between pixels with mode 'constant', 'nearest', 'mirror', 'reflect', 'wrap'")
    if order != 3 or not prefilter:
        return array
    if mode == "nearest" or mode == "reflect":
        raise ValueError("images are taken between pixels with modes 'nearest' and 'reflect' by order 0 or 1")
    found = array
    for k in AXES[: array.ndim]:
        lines = last_axis(found, k)
        n = lines.shape[-1]
        rows = np.reshape(lines, (array.size // max(n, 1), n))
        made = np.empty(rows.shape)
        for i in range(rows.shape[0]):
            made[i] = _spline(rows[i])
        found = np.moveaxis(np.reshape(made, lines.shape), -1, k)
    return found


def _within(x, n, mode):
    """A place on an axis, where a mode has it."""
    if mode == "constant" or 0 <= x <= n - 1:
        return x
    if mode == "nearest":
        return min(max(x, 0.0), n - 1.0)
    if n == 1:
        return 0.0 * x
    if mode == "wrap":
        return x - np.floor(x / (n - 1.0)) * (n - 1.0)
    if mode == "mirror":
        period = 2.0 * n - 2.0
        turned = x - np.floor(x / period) * period
        return min(turned, period - turned)
    period = 2.0 * n
    turned = x + 0.5 - np.floor((x + 0.5) / period) * period
    return min(turned, period - turned) - 0.5


def _index(i, n, mode):
    """The pixel that a place beyond an edge stands for."""
    if 0 <= i < n:
        return i
    if mode == "nearest":
        return min(max(i, 0), n - 1)
    if n == 1:
        return 0
    if mode == "reflect":
        turned = i % (2 * n)
        return min(turned, 2 * n - 1 - turned)
    turned = i % (2 * n - 2)
    return min(turned, 2 * n - 2 - turned)


def _weight(t, k, order):
    """How much the k-th pixel of a window counts."""
    if order == 0:
        return 1.0
    if order == 1:
        return t if k == 1 else 1.0 - t
    if k == 0:
        return (1.0 - t) ** 3 / 6.0
    if k == 1:
        return (4.0 - 6.0 * t * t + 3.0 * t * t * t) / 6.0
    if k == 2:
        return (1.0 + 3.0 * t + 3.0 * t * t - 3.0 * t * t * t) / 6.0
    return t * t * t / 6.0


def _value(image, place, order, mode, cval):
    """What an image of coefficients is at a place between pixels."""
    if mode == "constant":
        outside = False
        for k in AXES[: image.ndim]:
            outside = outside or not (0.0 <= place[k] <= image.shape[k] - 1.0)
        if outside:
            return cval
    starts: tuple[Any, ...] = ()
    parts: tuple[Any, ...] = ()
    for k in AXES[: image.ndim]:
        x = _within(place[k], image.shape[k], mode)
        low = int(np.floor(x + 0.5)) if order == 0 else int(np.floor(x))
        starts = starts + (low - order // 2,)
        parts = parts + (x - low,)
    total = 0.0
    for window in np.ndindex((order + 1,) * image.ndim):
        at: tuple[Any, ...] = ()
        weight = 1.0
        for k in AXES[: image.ndim]:
            at = at + (_index(starts[k] + window[k], image.shape[k], mode),)
            weight = weight * _weight(parts[k], window[k], order)
        total += weight * image[at]
    return total


def map_coordinates(input, coordinates, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    """What an image is at places between pixels, by splines of order 0, 1 or 3."""
    if output is not None:
        raise ValueError("scipy.ndimage.map_coordinates is taken without output")
    image = _coefficients(np.asarray(input) * 1.0, order, mode, prefilter)
    places = np.asarray(coordinates)
    out = np.empty(places.shape[1:])
    for i in np.ndindex(out.shape):
        place: tuple[Any, ...] = ()
        for k in AXES[: image.ndim]:
            place = place + (places[(k,) + i],)
        out[i] = _value(image, place, order, mode, cval)
    return out


def affine_transform(
    input, matrix, offset=0.0, output_shape=None, output=None, order=3, mode="constant", cval=0.0, prefilter=True
):
    """An image whose pixel at `o` is that of another at `matrix @ o + offset`."""
    if output is not None:
        raise ValueError("scipy.ndimage.affine_transform is taken without output")
    array = np.asarray(input) * 1.0
    image = _coefficients(array, order, mode, prefilter)
    turn = np.asarray(matrix) * 1.0
    n = array.ndim
    moved = np.asarray(offset) * 1.0
    if turn.ndim == 2 and turn.shape[1] == n + 1:
        start = turn[:n, n]
    else:
        start = moved + np.zeros(n)
    whole = np.diag(turn) if turn.ndim == 1 else turn
    out = np.empty(array.shape if output_shape is None else output_shape)
    for i in np.ndindex(out.shape):
        place: tuple[Any, ...] = ()
        for k in AXES[:n]:
            x = start[k]
            for j in AXES[:n]:
                x = x + whole[k, j] * i[j]
            place = place + (x,)
        out[i] = _value(image, place, order, mode, cval)
    return out


def shift(input, shift, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    """An image that is moved along its axes."""
    if output is not None:
        raise ValueError("scipy.ndimage.shift is taken without output")
    array = np.asarray(input) * 1.0
    image = _coefficients(array, order, mode, prefilter)
    by = np.asarray(shift) * 1.0 + np.zeros(array.ndim)
    out = np.empty(array.shape)
    for i in np.ndindex(out.shape):
        place: tuple[Any, ...] = ()
        for k in AXES[: array.ndim]:
            place = place + (i[k] - by[k],)
        out[i] = _value(image, place, order, mode, cval)
    return out


def zoom(input, zoom, output=None, order=3, mode="constant", cval=0.0, prefilter=True, *, grid_mode=False):
    """An image of more or fewer pixels; how many is not differentiated by."""
    if output is not None or grid_mode:
        raise ValueError("scipy.ndimage.zoom is taken without output and grid_mode")
    array = np.asarray(input) * 1.0
    image = _coefficients(array, order, mode, prefilter)
    extents: tuple[Any, ...] = ()
    steps: tuple[Any, ...] = ()
    for k in AXES[: array.ndim]:
        count = int(round(array.shape[k] * stop_gradient(zoom if np.ndim(zoom) == 0 else zoom[k])))
        extents = extents + (count,)
        steps = steps + ((array.shape[k] - 1) / (count - 1) if count > 1 else 1.0,)
    out = np.empty(extents)
    for i in np.ndindex(out.shape):
        place: tuple[Any, ...] = ()
        for k in AXES[: array.ndim]:
            place = place + (i[k] * steps[k],)
        out[i] = _value(image, place, order, mode, cval)
    return out


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (map_coordinates, affine_transform, shift, zoom)
}
