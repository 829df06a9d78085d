"""Filters of images: functions of `scipy.ndimage`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import AXES, float_type, last_axis, within
from tapec.rules.arrays_pad import extended, mirrored, padded

# modes of what stands beyond the edges, and those of np.pad
_MODES = {"reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "wrap": "wrap", "grid-wrap": "wrap"}


def _surrounded(array, before, after, mode, cval):
    if mode == "constant" or mode == "grid-constant":
        return padded(array, before, after, cval)
    if mode == "nearest":
        return extended(array, before, after)
    return mirrored(array, before, after, _MODES[mode])


def correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """A correlation with weights along an axis, of as many elements as there are."""
    if output is not None:
        raise ValueError("the filters of scipy.ndimage are taken without output")
    array = np.asarray(input)
    factors = np.asarray(weights)
    place = within(axis, array.ndim)
    size = factors.size
    left = size // 2 + origin
    lines = last_axis(array, place)
    zeros = (0,) * (array.ndim - 1)
    wide = _surrounded(lines, zeros + (left,), zeros + (size - 1 - left,), mode, cval)
    out = np.zeros(lines.shape, float_type(array.dtype))
    for i in np.ndindex(lines.shape[:-1]):
        for j in range(lines.shape[-1]):
            total = 0.0
            for k in range(size):
                total += factors[k] * wide[i + (j + k,)]
            out[i + (j,)] = total
    return np.moveaxis(out, -1, place)


def convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """A convolution with weights along an axis, of as many elements as there are."""
    factors = np.asarray(weights)
    shift = -origin - (1 if factors.size % 2 == 0 else 0)
    return correlate1d(input, factors[::-1], axis, output, mode, cval, shift)


def _correlated(array, weights, mode, cval, lefts):
    rights: tuple[Any, ...] = ()
    for k in AXES[: array.ndim]:
        rights = rights + (weights.shape[k] - 1 - lefts[k],)
    wide = _surrounded(array, lefts, rights, mode, cval)
    out = np.zeros(array.shape, float_type(array.dtype))
    for i in np.ndindex(array.shape):
        total = 0.0
        for j in np.ndindex(weights.shape):
            place: tuple[Any, ...] = ()
            for k in AXES[: array.ndim]:
                place = place + (i[k] + j[k],)
            total += weights[j] * wide[place]
        out[i] = total
    return out


def correlate(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    """A correlation with weights, of as many elements as there are."""
    if output is not None:
        raise ValueError("the filters of scipy.ndimage are taken without output")
    array = np.asarray(input)
    factors = np.asarray(weights)
    lefts: tuple[Any, ...] = ()
    for k in AXES[: array.ndim]:
        lefts = lefts + (factors.shape[k] // 2 + origin,)
    return _correlated(array, factors, mode, cval, lefts)


def convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    """A convolution with weights, of as many elements as there are."""
    if output is not None:
        raise ValueError("the filters of scipy.ndimage are taken without output")
    array = np.asarray(input)
    factors = np.flip(np.asarray(weights))
    lefts: tuple[Any, ...] = ()
    for k in AXES[: array.ndim]:
        lefts = lefts + (factors.shape[k] // 2 - origin - (1 if factors.shape[k] % 2 == 0 else 0),)
    return _correlated(array, factors, mode, cval, lefts)


def _gaussian_weights(sigma, order, radius):
    """The weights of a Gaussian filter, or of a derivative of it up to the second one."""
    x = np.arange(-radius, radius + 1) * 1.0
    weights = np.exp(-0.5 / (sigma * sigma) * x * x)
    weights = weights / np.sum(weights)
    if order == 0:
        return weights
    if order == 1:
        return weights * x / (sigma * sigma) * -1.0
    if order == 2:
        return weights * (x * x / sigma**4 - 1.0 / (sigma * sigma))
    raise ValueError("the order of a Gaussian filter is 0, 1 or 2")


def gaussian_filter1d(
    input, sigma, axis=-1, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None
):
    """A Gaussian filter along an axis; the derivative by `sigma` is that with as many weights."""
    reach = int(truncate * sigma + 0.5) if radius is None else radius
    weights = _gaussian_weights(sigma * 1.0, order, reach)
    return correlate1d(input, weights[::-1], axis, output, mode, cval, 0)


def gaussian_filter(input, sigma, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None):
    """A Gaussian filter along all axes."""
    array = np.asarray(input) * 1.0
    for k in AXES[: array.ndim]:
        one = sigma if np.ndim(sigma) == 0 else sigma[k]
        which = order if np.ndim(order) == 0 else order[k]
        array = gaussian_filter1d(array, one, k, which, output, mode, cval, truncate, radius=radius)
    return array


def uniform_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """Means of so many neighbours along an axis."""
    return correlate1d(np.asarray(input) * 1.0, np.full(size, 1.0 / size), axis, output, mode, cval, origin)


def uniform_filter(input, size=3, output=None, mode="reflect", cval=0.0, origin=0):
    """Means of so many neighbours along all axes."""
    array = np.asarray(input) * 1.0
    for k in AXES[: array.ndim]:
        array = uniform_filter1d(array, size if np.ndim(size) == 0 else size[k], k, output, mode, cval, origin)
    return array


def laplace(input, output=None, mode="reflect", cval=0.0):
    """Laplace's filter: second differences along all axes."""
    array = np.asarray(input) * 1.0
    found = correlate1d(array, np.array([1.0, -2.0, 1.0]), 0, output, mode, cval)
    for k in AXES[1 : array.ndim]:
        found = found + correlate1d(array, np.array([1.0, -2.0, 1.0]), k, output, mode, cval)
    return found


def _edges(input, axis, output, mode, cval, smooth):
    array = np.asarray(input) * 1.0
    place = within(axis, array.ndim)
    found = correlate1d(array, np.array([-1.0, 0.0, 1.0]), place, output, mode, cval)
    for k in AXES[: array.ndim]:
        if k != place:
            found = correlate1d(found, np.array([1.0, smooth, 1.0]), k, output, mode, cval)
    return found


def sobel(input, axis=-1, output=None, mode="reflect", cval=0.0):
    """Sobel's filter along an axis."""
    return _edges(input, axis, output, mode, cval, 2.0)


def prewitt(input, axis=-1, output=None, mode="reflect", cval=0.0):
    """Prewitt's filter along an axis."""
    return _edges(input, axis, output, mode, cval, 1.0)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(correlate, convolve, correlate1d, convolve1d, gaussian_filter1d, gaussian_filter),
        *(uniform_filter1d, uniform_filter, laplace, sobel, prewitt),
    )
}
