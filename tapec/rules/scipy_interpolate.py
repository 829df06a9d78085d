"""Interpolators of `scipy.interpolate`: polynomials between break points, and tables."""

from __future__ import annotations

import numpy as np

from tapec.rules.arrays_common import AXES


def piecewise(c, x, at, nu, extrapolate):
    """A polynomial for each gap, or its derivative of order `nu`, at places.

    c            (k, m), coefficients for the gaps, highest power first
    x            (m + 1,), the break points, sorted
    extrapolate  whether the first and the last one hold beyond the ends, where the value is nan otherwise
    """
    if np.ndim(at) == 0:
        return _value(c, x, at * 1.0, nu, extrapolate)
    places = np.asarray(at) * 1.0
    out = np.empty(places.shape, c.dtype)
    for index in np.ndindex(places.shape):
        out[index] = _value(c, x, places[index], nu, extrapolate)
    return out


def _value(c, x, place, nu, extrapolate):
    last = x.shape[0] - 1
    k = min(max(np.searchsorted(x, place, side="right") - 1, 0), last - 1)
    s = place - x[k]
    total = 0.0 * s
    for j in range(c.shape[0] - nu):
        factor = 1.0
        for i in range(nu):
            factor *= c.shape[0] - 1 - j - i
        total = total * s + factor * c[j, k]
    if not extrapolate and (place < x[0] or place > x[last]):
        return np.nan * s
    return total


def sorted_table(x, y):
    """A table in the order of its places."""
    if x.shape[0] != y.shape[0]:
        raise ValueError("x and y arrays must be equal in length along interpolation axis.")
    order = np.argsort(x, kind="mergesort")
    return x[order], y[order]


def along_table(x, y, at, kind, extrapolate, checked, below, above):
    """What a table has between its places."""
    if np.ndim(at) == 0:
        return _between(x, y, at, kind, extrapolate, checked, below, above)
    places = np.asarray(at)
    out = np.empty(places.shape, np.float64)
    for index in np.ndindex(places.shape):
        out[index] = _between(x, y, places[index], kind, extrapolate, checked, below, above)
    return out


def _between(x, y, place, kind, extrapolate, checked, below, above):
    last = x.shape[0] - 1
    if not extrapolate:
        if checked and place < x[0]:
            raise ValueError("A value in x_new is below the interpolation range.")
        if checked and place > x[last]:
            raise ValueError("A value in x_new is above the interpolation range.")
    k = min(max(np.searchsorted(x, place), 1), last)
    if kind == "linear":
        found = (y[k] - y[k - 1]) / (x[k] - x[k - 1]) * (place - x[k - 1]) + y[k - 1]
    else:
        if kind == "nearest":
            near = k if place > 0.5 * (x[k] + x[k - 1]) else k - 1
        elif kind == "previous":
            near = max(np.searchsorted(x, place, side="right") - 1, 0)
        else:
            near = min(np.searchsorted(x, place), last)
        found = y[near] * 1.0
    if np.isnan(place):
        return np.nan * place
    if not extrapolate and place < x[0]:
        return below + 0.0 * found
    if not extrapolate and place > x[last]:
        return above + 0.0 * found
    return found


def of_coordinates(coordinates):
    """Points, of their coordinates that are broadcast to each other."""
    return np.stack(np.broadcast_arrays(*coordinates), -1)


def first(values):
    """The first one of values, which may be the only one."""
    return values.reshape(-1)[0]


def in_grid(grid, values, points, kind, extrapolate, checked, fill, above):
    """What a table on a grid has at points, whose last axis are the coordinates; what fills it is `above`, too."""
    count = len(grid)
    for axis in AXES[:count]:
        if grid[axis].shape[0] != values.shape[axis]:
            raise ValueError("the points of a grid and the values at them differ in number")
    places = points.reshape((points.shape[0] // count if points.ndim == 1 else -1, count))
    flat = values.reshape(-1)
    out = np.empty(places.shape[0], np.float64)
    for k in range(places.shape[0]):
        out[k] = _in_cell(grid, flat, values.shape, places[k], kind, extrapolate, checked, fill)
    return out if points.ndim == 1 else out.reshape(points.shape[:-1])


def _in_cell(grid, flat, extents, place, kind, extrapolate, checked, fill):
    corners = (0,)
    weights = (1.0,)
    outside = False
    for axis in AXES[: len(grid)]:
        own = grid[axis]
        x = place[axis]
        sign = 1 if own[own.shape[0] - 1] >= own[0] else -1
        rising = own[::sign]
        last = own.shape[0] - 1
        if x < rising[0] or x > rising[last]:
            outside = True
            if checked:
                raise ValueError("One of the requested xi is out of bounds")
        i = min(max(np.searchsorted(rising, x, side="right") - 1, 0), last - 1)
        t = (x - rising[i]) / (rising[i + 1] - rising[i])
        if kind == "nearest":
            near = i if t <= 0.5 else i + 1
            corners = (corners[0] * extents[axis] + (near if sign == 1 else last - near),)
            # nan for a point that is
            weights = (weights[0] * (1.0 if t == t else np.nan),)
        else:
            low = i if sign == 1 else last - i
            high = i + 1 if sign == 1 else last - i - 1
            corners = tuple(c * extents[axis] + low for c in corners) + tuple(c * extents[axis] + high for c in corners)
            weights = tuple(w * (1.0 - t) for w in weights) + tuple(w * t for w in weights)
    total = 0.0
    for c in range(len(corners)):
        total = total + weights[c] * flat[corners[c]]
    if outside and not extrapolate:
        return fill + 0.0 * total
    return total
