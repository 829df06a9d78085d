"""Filters, convolutions and integrals: functions of `scipy.signal`, `scipy.ndimage` and `scipy.integrate`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import AXES, common_dtype, float_type, last_axis, within
from tapec.rules.arrays_fourier import irfft, rfft
from tapec.rules.arrays_pad import extended, mirrored, padded
from tapec.rules.arrays_reduce import trapezoid

# scipy.integrate


def cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, initial=None):
    """Areas by the trapezoidal rule up to each sample, along an axis; `initial`, which is 0, is the first one."""
    samples = np.asarray(y)
    place = within(axis, samples.ndim)
    lines = last_axis(samples, place)
    n = lines.shape[-1]
    widths = _widths(x, dx, n, place, samples.ndim)
    parts = 0.5 * widths * (lines[..., 1:] + lines[..., : n - 1])
    found = np.cumsum(parts, -1)
    if initial is not None:
        if initial != 0:
            raise ValueError("`initial` must be `None` or `0`.")
        found = np.concatenate((np.zeros(lines.shape[:-1] + (1,), found.dtype), found), -1)
    return np.moveaxis(found, -1, place)


def _widths(x, dx, n, place, ndim):
    """The gaps between samples, along the last axis."""
    if x is None:
        return dx
    places = np.asarray(x)
    if places.ndim > 1:
        places = last_axis(places, place)
    if places.shape[-1] != n:
        raise ValueError("If given, length of x along axis must be the same as y.")
    return places[..., 1:] - places[..., : n - 1]


def _simpson_even(lines, x, dx):
    """Simpson's rule for an odd number of samples, of which there is one or more."""
    n = lines.shape[-1]
    if x is None:
        ends = lines[..., 0] + lines[..., n - 1]
        between = 4.0 * np.sum(lines[..., 1 : n - 1 : 2], -1) + 2.0 * np.sum(lines[..., 2 : n - 1 : 2], -1)
        return dx / 3.0 * (ends + between)
    h = x[..., 1:] - x[..., : n - 1]
    first = h[..., 0::2]
    second = h[..., 1::2]
    whole = first + second
    terms = (2.0 - second / first) * lines[..., : n - 2 : 2]
    terms = terms + whole * whole / (first * second) * lines[..., 1 : n - 1 : 2]
    terms = terms + (2.0 - first / second) * lines[..., 2:n:2]
    return np.sum(whole / 6.0 * terms, -1)


def simpson(y, x=None, *, dx=1.0, axis=-1):
    """Area by Simpson's rule, along an axis; of an even number of samples, the last gap by Cartwright's correction."""
    samples = np.asarray(y)
    place = within(axis, samples.ndim)
    lines = last_axis(samples, place) * 1.0
    n = lines.shape[-1]
    places = None
    if x is not None:
        places = np.asarray(x) * 1.0
        if places.ndim > 1:
            places = last_axis(places, place)
        if places.shape[-1] != n:
            raise ValueError("If given, length of x along axis must be the same as y.")
    if n == 2:
        width = dx if places is None else places[..., 1] - places[..., 0]
        return 0.5 * width * (lines[..., 0] + lines[..., 1])
    if n % 2 == 1:
        return _simpson_even(lines, places, dx)
    whole = _simpson_even(lines[..., : n - 1], None if places is None else places[..., : n - 1], dx)
    if places is None:
        before = dx * 1.0
        last = dx * 1.0
        a = last * (2.0 * last + 3.0 * before) / (6.0 * (before + last))
        b = last * (last + 3.0 * before) / (6.0 * before)
        c = last**3 / (6.0 * before * (before + last))
        return whole + a * lines[..., n - 1] + b * lines[..., n - 2] - c * lines[..., n - 3]
    gap = places[..., n - 2] - places[..., n - 3]
    end = places[..., n - 1] - places[..., n - 2]
    third = end * (2.0 * end + 3.0 * gap) / (6.0 * (gap + end)) * lines[..., n - 1]
    second = end * (end + 3.0 * gap) / (6.0 * gap) * lines[..., n - 2]
    return whole + third + second - end**3 / (6.0 * gap * (gap + end)) * lines[..., n - 3]


# scipy.signal


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


# scipy.ndimage: modes of what stands beyond the edges, and those of np.pad

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


def ndimage_correlate(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    """A correlation with weights, of as many elements as there are."""
    if output is not None:
        raise ValueError("the filters of scipy.ndimage are taken without output")
    array = np.asarray(input)
    factors = np.asarray(weights)
    lefts: tuple[Any, ...] = ()
    for k in AXES[: array.ndim]:
        lefts = lefts + (factors.shape[k] // 2 + origin,)
    return _correlated(array, factors, mode, cval, lefts)


def ndimage_convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
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


FUNCTIONS: dict[str, dict[str, Callable[..., Any]]] = {
    "scipy.integrate": {
        "trapezoid": trapezoid,
        "cumulative_trapezoid": cumulative_trapezoid,
        "simpson": simpson,
    },
    "scipy.signal": {
        function.__name__: function
        for function in (convolve, correlate, fftconvolve, convolve2d, correlate2d, lfilter, sosfilt, detrend, hilbert)
    },
    "scipy.ndimage": {
        "correlate": ndimage_correlate,
        "convolve": ndimage_convolve,
        **{
            function.__name__: function
            for function in (
                *(correlate1d, convolve1d, gaussian_filter1d, gaussian_filter, uniform_filter1d, uniform_filter),
                *(laplace, sobel, prewitt),
            )
        },
    },
}
