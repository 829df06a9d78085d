"""Fourier transforms as NumPy and SciPy call them, by transforms of parts along the last axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tapec_runtime
from tapec.rules.arrays_common import AXES, complex_of, float_type, last_axis, within
from tapec.rules.arrays_shape import roll


def real_lanes(a, axis):
    """Real numbers, with the lanes of an axis along the last one."""
    return last_axis(a, within(axis, a.ndim)).astype(float_type(a.dtype))


def _parts(a, axis):
    """The parts of an array, with the lanes of an axis along the last one."""
    if a.dtype.kind == "c":
        return last_axis(a.real, axis), last_axis(a.imag, axis)
    re = real_lanes(a, axis)
    return re, np.zeros(re.shape, re.dtype)


def fitted(lanes, n):
    """The first `n` elements of each lane, with zeros where there are fewer."""
    own = lanes.shape[-1]
    if own == n:
        return lanes
    out = np.zeros(lanes.shape[:-1] + (n,), lanes.dtype)
    count = min(own, n)
    out[..., :count] = lanes[..., :count]
    return out


def _scale(n, norm, forward):
    """The factor of a transform."""
    if norm == "ortho":
        return 1.0 / np.sqrt(n)
    if norm is None or norm == "backward":
        return 1.0 if forward else 1.0 / n
    if norm == "forward":
        return 1.0 / n if forward else 1.0
    raise ValueError("the norm of a Fourier transform must be None, 'ortho', 'backward' or 'forward'")


def length_of(own, n):
    size = own if n is None else n
    if size < 1:
        raise ValueError("Invalid number of FFT data points specified.")
    return size


def lanes_back(lanes, axis):
    return np.moveaxis(lanes, -1, axis)


def _transformed(a, n, axis, norm, forward):
    place = within(axis, a.ndim)
    size = length_of(a.shape[place], n)
    re, im = _parts(a, place)
    re, im = tapec_runtime.dft(fitted(re, size), fitted(im, size), -1 if forward else 1)
    factor = re.dtype.type(_scale(size, norm, forward))
    return complex_of(lanes_back(re * factor, place), lanes_back(im * factor, place))


def fft(a, n=None, axis=-1, norm=None):
    """The discrete Fourier transform along an axis."""
    return _transformed(np.asarray(a), n, axis, norm, True)


def ifft(a, n=None, axis=-1, norm=None):
    """The inverse of the discrete Fourier transform along an axis."""
    return _transformed(np.asarray(a), n, axis, norm, False)


def rfft(a, n=None, axis=-1, norm=None):
    """The first half of the discrete Fourier transform of real numbers along an axis."""
    array = np.asarray(a)
    if array.dtype.kind == "c":
        raise TypeError("a transform of real numbers does not take complex ones")
    place = within(axis, array.ndim)
    size = length_of(array.shape[place], n)
    re, im = tapec_runtime.real_dft(fitted(real_lanes(array, place), size))
    factor = re.dtype.type(_scale(size, norm, True))
    return complex_of(lanes_back(re * factor, place), lanes_back(im * factor, place))


def _real_from_half(re, im, n, norm, forward):
    size = length_of(2 * (re.shape[-1] - 1), n)
    half = size // 2 + 1
    found = tapec_runtime.real_inverse(fitted(re, half), fitted(im, half), size)
    return found * found.dtype.type(_scale(size, norm, forward))


def irfft(a, n=None, axis=-1, norm=None):
    """The real numbers of whose transform along an axis the first half is given."""
    array = np.asarray(a)
    place = within(axis, array.ndim)
    re, im = _parts(array, place)
    return lanes_back(_real_from_half(re, im, n, norm, False), place)


def hfft(a, n=None, axis=-1, norm=None):
    """The real transform of numbers whose second half mirrors the first, which is given."""
    array = np.asarray(a)
    place = within(axis, array.ndim)
    re, im = _parts(array, place)
    return lanes_back(_real_from_half(re, -im, n, norm, True), place)


def ihfft(a, n=None, axis=-1, norm=None):
    """The inverse of `hfft`."""
    array = np.asarray(a)
    place = within(axis, array.ndim)
    size = length_of(array.shape[place], n)
    re, im = tapec_runtime.real_dft(fitted(real_lanes(array, place), size))
    factor = re.dtype.type(_scale(size, norm, False))
    return complex_of(lanes_back(re * factor, place), lanes_back(-im * factor, place))


def _axes(a, s, axes):
    """The axes of a transform of several, and the lengths along them."""
    if axes is None:
        count = a.ndim if s is None else len(s)
        places = AXES[a.ndim - count : a.ndim]
    else:
        places = ()
        for one in axes:
            places = places + (within(one, a.ndim),)
    if s is None:
        return places, tuple(a.shape[k] for k in places)
    if len(s) != len(places):
        raise ValueError("Shape and axes have different lengths.")
    sizes: tuple[Any, ...] = ()
    for k in AXES[: len(places)]:
        sizes = sizes + ((a.shape[places[k]] if s[k] is None or s[k] == -1 else s[k]),)
    return places, sizes


def _over(a, places, sizes, norm, forward):
    for k in AXES[: len(places)]:
        a = _transformed(a, sizes[k], places[k], norm, forward)
    return a


def _as_complex(a):
    return a if a.dtype.kind == "c" else complex_of(a.astype(float_type(a.dtype)), np.zeros(a.shape))


def fftn(a, s=None, axes=None, norm=None):
    """The discrete Fourier transform along several axes."""
    array = np.asarray(a)
    places, sizes = _axes(array, s, axes)
    if len(places) == 0:
        return _as_complex(array)
    return _over(array, places, sizes, norm, True)


def ifftn(a, s=None, axes=None, norm=None):
    """The inverse of the discrete Fourier transform along several axes."""
    array = np.asarray(a)
    places, sizes = _axes(array, s, axes)
    if len(places) == 0:
        return _as_complex(array)
    return _over(array, places, sizes, norm, False)


def fft2(a, s=None, axes=(-2, -1), norm=None):
    """The discrete Fourier transform along two axes."""
    return fftn(a, s, axes, norm)


def ifft2(a, s=None, axes=(-2, -1), norm=None):
    """The inverse of the discrete Fourier transform along two axes."""
    return ifftn(a, s, axes, norm)


def rfftn(a, s=None, axes=None, norm=None):
    """The half of the discrete Fourier transform of real numbers along several axes."""
    array = np.asarray(a)
    places, sizes = _axes(array, s, axes)
    count = len(places) - 1
    return _over(rfft(array, sizes[count], places[count], norm), places[:count], sizes[:count], norm, True)


def irfftn(a, s=None, axes=None, norm=None):
    """The real numbers of whose transform along several axes the half is given."""
    array = np.asarray(a)
    places, sizes = _axes(array, s, axes)
    count = len(places) - 1
    size = 2 * (array.shape[places[count]] - 1) if s is None else s[count]
    return irfft(_over(array, places[:count], sizes[:count], norm, False), size, places[count], norm)


def rfft2(a, s=None, axes=(-2, -1), norm=None):
    """The half of the discrete Fourier transform of real numbers along two axes."""
    return rfftn(a, s, axes, norm)


def irfft2(a, s=None, axes=(-2, -1), norm=None):
    """The real numbers of whose transform along two axes the half is given."""
    return irfftn(a, s, axes, norm)


def _shifted(x, axes, forward):
    array = np.asarray(x)
    if axes is None:
        places = AXES[: array.ndim]
    else:
        places = tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)
    for place in places:
        half = array.shape[within(place, array.ndim)] // 2
        array = roll(array, half if forward else -half, place)
    return array


def fftshift(x, axes=None):
    """The frequency 0 in the middle."""
    return _shifted(x, axes, True)


def ifftshift(x, axes=None):
    """The inverse of `fftshift`."""
    return _shifted(x, axes, False)


def fftfreq(n, d=1.0):
    """The frequencies of a transform of `n` numbers that are `d` apart."""
    out = np.empty(n, np.float64)
    for k in range(n):
        out[k] = (k if k < (n + 1) // 2 else k - n) / (n * d)
    return out


def rfftfreq(n, d=1.0):
    """The frequencies of a transform of `n` real numbers that are `d` apart."""
    out = np.empty(n // 2 + 1, np.float64)
    for k in range(n // 2 + 1):
        out[k] = k / (n * d)
    return out


TRANSFORMS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(fft, ifft, rfft, irfft, hfft, ihfft, fftn, ifftn, fft2, ifft2, rfftn, irfftn, rfft2, irfft2),
        *(fftshift, ifftshift, fftfreq, rfftfreq),
    )
}
FUNCTIONS: dict[str, Callable[..., Any]] = {f"fft.{name}": function for name, function in TRANSFORMS.items()}
