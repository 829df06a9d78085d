"""Convolutions and filters of signals: functions of `scipy.signal`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import AXES, common_dtype, last_axis, within
from tapec.rules.arrays_fourier import irfft, rfft
from tapec.rules.arrays_pad import mirrored, padded
from tapec.rules.scipy_ndimage import correlate1d


def _full(a, v):
    """All sums of products of two arrays of one rank, the second one turned round."""
    shape: tuple[Any, ...] = ()
    for k in AXES[: a.ndim]:
        shape = shape + (a.shape[k] + v.shape[k] - 1,)
    out = np.zeros(shape, common_dtype(a.dtype, v.dtype))
    for i in np.ndindex(a.shape):
        x = a[i]
        for j in np.ndindex(v.shape):
            place: tuple[Any, ...] = ()
            for k in AXES[: a.ndim]:
                place = place + (i[k] + j[k],)
            out[place] += x * v[j]
    return out


def _cut(full, extents, starts):
    """The block of an array that begins at some places."""
    out = np.empty(extents, full.dtype)
    for i in np.ndindex(extents):
        place: tuple[Any, ...] = ()
        for k in AXES[: full.ndim]:
            place = place + (i[k] + starts[k],)
        out[i] = full[place]
    return out


def _centred(full, first, second, mode):
    """What a mode takes of a full convolution."""
    if mode == "full":
        return full
    extents: tuple[Any, ...] = ()
    starts: tuple[Any, ...] = ()
    if mode == "same":
        for k in AXES[: full.ndim]:
            starts = starts + ((second[k] - 1) // 2,)
        return _cut(full, first, starts)
    if mode == "valid":
        for k in AXES[: full.ndim]:
            short = min(first[k], second[k])
            extents = extents + (max(first[k], second[k]) - short + 1,)
            starts = starts + (short - 1,)
        for k in AXES[: full.ndim]:
            if (first[k] >= second[k]) != (first[0] >= second[0]) and first[k] != second[k] and first[0] != second[0]:
                raise ValueError("For 'valid' mode, one must be at least as large as the other in every dimension")
        return _cut(full, extents, starts)
    raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")


def convolve(in1, in2, mode="full", method="auto"):
    """The convolution of two arrays of one rank; the method does not matter."""
    first = np.asarray(in1)
    second = np.asarray(in2)
    if first.ndim != second.ndim:
        raise ValueError("volume and kernel should have the same dimensionality")
    return _centred(_full(first, second), first.shape, second.shape, mode)


def correlate(in1, in2, mode="full", method="auto"):
    """The cross-correlation of two arrays of one rank; the method does not matter."""
    return convolve(in1, np.flip(np.asarray(in2)), mode)


def fftconvolve(in1, in2, mode="full", axes=None):
    """The convolution of two arrays of one rank, of one axis by Fourier transforms."""
    first = np.asarray(in1)
    second = np.asarray(in2)
    if axes is not None:
        raise ValueError("scipy.signal.fftconvolve is taken along all axes")
    if first.ndim != 1 or second.ndim != 1:
        return convolve(first, second, mode)
    size = first.size + second.size - 1
    one = rfft(first, size)
    two = rfft(second, size)
    return _centred(irfft(one * two, size), first.shape, second.shape, mode)


_BORDERS = {"symm": "symmetric", "wrap": "wrap"}


def convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    """The convolution of two matrices, with elements around the first one as `boundary` says."""
    first = np.asarray(in1)
    second = np.asarray(in2)
    if boundary == "fill" and isinstance(fillvalue, int) and fillvalue == 0:
        return convolve(first, second, mode)
    rows = second.shape[0] - 1
    columns = second.shape[1] - 1
    if mode == "valid":
        return convolve(first, second, mode)
    if boundary == "fill":
        wide = padded(first, (rows, columns), (rows, columns), fillvalue)
    else:
        wide = mirrored(first, (rows, columns), (rows, columns), _BORDERS[boundary])
    whole = _centred(_full(wide, second), wide.shape, second.shape, "valid")
    if mode == "full":
        return whole
    return _cut(whole, first.shape, (rows // 2, columns // 2))


def correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    """The cross-correlation of two matrices, with elements around the first one as `boundary` says."""
    return convolve2d(in1, np.flip(np.asarray(in2)), mode, boundary, fillvalue)


def _filtered(b, a, line, state):
    """A line of samples filtered, direct form II transposed; `state` is changed."""
    order = state.size
    out = np.empty(line.shape, state.dtype)
    for n in range(line.size):
        x = line[n]
        y = b[0] * x + (state[0] if order > 0 else 0.0)
        for k in range(order):
            state[k] = (state[k + 1] if k + 1 < order else 0.0) + b[k + 1] * x - a[k + 1] * y
        out[n] = y
    return out


def lfilter(b, a, x, axis=-1, zi=None):
    """A signal filtered along an axis by a rational transfer function; with `zi`, the state after it, too."""
    top = np.atleast_1d(np.asarray(b)) * 1.0
    bottom = np.atleast_1d(np.asarray(a)) * 1.0
    signal = np.asarray(x)
    place = within(axis, signal.ndim)
    lines = last_axis(signal, place)
    size = max(top.size, bottom.size)
    numerator = np.zeros(size)
    denominator = np.zeros(size)
    numerator[: top.size] = top / bottom[0]
    denominator[: bottom.size] = bottom / bottom[0]
    rows = np.reshape(lines, (signal.size // max(lines.shape[-1], 1), lines.shape[-1]))
    out = np.empty(rows.shape, np.float64)
    states = np.zeros((rows.shape[0], size - 1))
    if zi is not None:
        begun = last_axis(np.asarray(zi), place)
        states[...] = np.reshape(begun, (begun.size // max(size - 1, 1), size - 1))
    for i in range(rows.shape[0]):
        state = states[i].copy()
        out[i] = _filtered(numerator, denominator, rows[i], state)
        states[i] = state
    whole = np.moveaxis(np.reshape(out, lines.shape), -1, place)
    if zi is None:
        return whole
    return whole, np.moveaxis(np.reshape(states, lines.shape[:-1] + (size - 1,)), -1, place)


def sosfilt(sos, x, axis=-1, zi=None):
    """A signal filtered along an axis by sections of order 2."""
    if zi is not None:
        raise ValueError("scipy.signal.sosfilt is taken without zi")
    sections = np.asarray(sos)
    out = np.asarray(x) * 1.0
    for k in range(sections.shape[0]):
        out = lfilter(sections[k, :3], sections[k, 3:], out, axis)
    return out


def detrend(data, axis=-1, type="linear"):
    """A signal without its mean, or without the straight line that fits it best."""
    signal = np.asarray(data) * 1.0
    place = within(axis, signal.ndim)
    lines = last_axis(signal, place)
    centred = lines - np.mean(lines, axis=-1, keepdims=True)
    if type == "constant":
        return np.moveaxis(centred, -1, place)
    if type != "linear":
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    n = lines.shape[-1]
    times = np.arange(n) - 0.5 * (n - 1)
    slope = np.sum(centred * times, axis=-1, keepdims=True) / np.sum(times * times)
    return np.moveaxis(centred - slope * times, -1, place)


def hilbert(x, N=None, axis=-1):
    """The analytic signal along an axis: without negative frequencies."""
    signal = np.asarray(x)
    place = within(axis, signal.ndim)
    lines = last_axis(signal, place)
    n = lines.shape[-1] if N is None else N
    weights = np.zeros(n)
    weights[0] = 1.0
    weights[1 : (n + 1) // 2] = 2.0
    if n % 2 == 0:
        weights[n // 2] = 1.0
    return np.moveaxis(np.fft.ifft(np.fft.fft(lines, n) * weights), -1, place)


def savgol_filter(x, window_length, polyorder, deriv=0, delta=1.0, axis=-1, mode="interp", cval=0.0):
    """A signal smoothed along an axis by polynomials that fit each window of an odd length best."""
    signal = np.asarray(x) * 1.0
    if window_length % 2 == 0:
        raise ValueError("scipy.signal.savgol_filter is taken with an odd window_length")
    if polyorder >= window_length:
        raise ValueError("polyorder must be less than window_length.")
    half = window_length // 2
    powers = np.arange(polyorder + 1)
    places = np.arange(-half, half + 1) * 1.0
    fit = np.linalg.pinv(places[:, None] ** powers)
    # the derivatives of the powers at each place of a window
    slopes = np.zeros((window_length, polyorder + 1))
    for k in range(deriv, polyorder + 1):
        factor = 1.0
        for j in range(deriv):
            factor = factor * (k - j)
        slopes[:, k] = factor * places ** (k - deriv)
    weights = (slopes @ fit) / delta**deriv
    if mode != "interp":
        return correlate1d(signal, weights[half], axis, mode=mode, cval=cval)
    place = within(axis, signal.ndim)
    lines = last_axis(signal, place)
    n = lines.shape[-1]
    if window_length > n:
        raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
    rows = np.reshape(lines, (signal.size // max(n, 1), n))
    out = np.empty(rows.shape)
    for i in range(rows.shape[0]):
        for j in range(n):
            start = min(max(j - half, 0), n - window_length)
            out[i, j] = weights[j - start] @ rows[i, start : start + window_length]
    return np.moveaxis(np.reshape(out, lines.shape), -1, place)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(convolve, correlate, fftconvolve, convolve2d, correlate2d, lfilter, sosfilt, detrend, hilbert),
        savgol_filter,
    )
}
