"""Cosine and sine transforms of `scipy.fft`, by Fourier transforms of the even or odd extension of each lane.

Element `n` of a lane stands at `first + step * n` of the extension, and again as far from its end; the transform's
element `k` is found at `start + stride * k` of the spectrum.  Sources: the definitions in SciPy's documentation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tapec_runtime
from tapec.rules.arrays_common import within
from tapec.rules.arrays_fourier import fitted, lanes_back, length_of, real_lanes


def _extent(kind, n, is_sine):
    """The length of the extension."""
    if kind == 1:
        return 2 * n + 2 if is_sine else 2 * n - 2
    return 8 * n if kind == 4 else 4 * n


def _ends(lanes, first, last):
    """Lanes with factors for the first and the last element."""
    factors = np.ones(lanes.shape[-1], lanes.dtype)
    factors[0] *= first
    factors[lanes.shape[-1] - 1] *= last
    return lanes * factors


def _transform(x, kind, n, axis, norm, is_sine, forward):
    array = np.asarray(x)
    if array.dtype.kind == "c":
        raise TypeError("a cosine or sine transform takes real numbers")
    if kind != 1 and kind != 2 and kind != 3 and kind != 4:
        raise ValueError("a cosine or sine transform is of type 1, 2, 3 or 4")
    if norm is not None and norm != "ortho" and norm != "backward" and norm != "forward":
        raise ValueError("the norm of a cosine or sine transform must be None, 'ortho', 'backward' or 'forward'")
    # the inverse of a transform is a multiple of one of these
    own = kind if forward or kind == 1 or kind == 4 else 5 - kind
    place = within(axis, array.ndim)
    size = length_of(array.shape[place], n)
    lanes = fitted(real_lanes(array, place), size)
    if kind == 1 and not is_sine and size < 2:
        raise ValueError("a cosine transform of type 1 is of two elements at least")
    whole = 2 * size + 2 if kind == 1 and is_sine else 2 * size - 2 if kind == 1 else 2 * size
    root = 2.0**0.5
    if norm == "ortho" and own == 3:
        lanes = _ends(lanes, 1.0 if is_sine else root, root if is_sine else 1.0)
    if norm == "ortho" and own == 1 and not is_sine:
        lanes = _ends(lanes, root, root)
    found = _plain(lanes, own, is_sine)
    if norm == "ortho" and own == 2:
        found = _ends(found, 1.0 if is_sine else 1.0 / root, 1.0 / root if is_sine else 1.0)
    if norm == "ortho" and own == 1 and not is_sine:
        found = _ends(found, 1.0 / root, 1.0 / root)
    scale = 1.0
    if norm == "ortho":
        scale = 1.0 / np.sqrt(whole)
    elif (norm == "forward") == forward:
        scale = 1.0 / whole
    return lanes_back(found * found.dtype.type(scale), place)


def _plain(lanes, kind, is_sine):
    """A transform along the last axis, without factors."""
    n = lanes.shape[-1]
    length = _extent(kind, n, is_sine)
    step = 2 if kind == 2 or kind == 4 else 1
    first = 1 if is_sine or step == 2 else 0
    out = np.zeros(lanes.shape[:-1] + (length,), lanes.dtype)
    given = lanes
    if is_sine and kind == 3:
        given = _ends(lanes, 1.0, 0.5)
    # what stands at the extension's beginning, or in its middle, stands there once
    begin = 0 if first > 0 else 1
    end = n - 1 if kind == 1 and not is_sine else n
    mirrored = -given if is_sine else given
    out[..., first : first + step * n : step] = given
    top = length - first - step * begin
    bottom = length - first - step * (end - 1)
    if end > begin:
        out[..., bottom : top + 1 : step] = mirrored[..., begin:end][..., ::-1]
    re, im = tapec_runtime.real_dft(out)
    start = 1 if is_sine or kind == 3 or kind == 4 else 0
    stride = 2 if kind == 3 or kind == 4 else 1
    if is_sine:
        return -im[..., start : start + stride * n : stride]
    return re[..., start : start + stride * n : stride]


def dct(x, type=2, n=None, axis=-1, norm=None):
    """The discrete cosine transform along an axis."""
    return _transform(x, type, n, axis, norm, False, True)


def idct(x, type=2, n=None, axis=-1, norm=None):
    """The inverse of the discrete cosine transform along an axis."""
    return _transform(x, type, n, axis, norm, False, False)


def dst(x, type=2, n=None, axis=-1, norm=None):
    """The discrete sine transform along an axis."""
    return _transform(x, type, n, axis, norm, True, True)


def idst(x, type=2, n=None, axis=-1, norm=None):
    """The inverse of the discrete sine transform along an axis."""
    return _transform(x, type, n, axis, norm, True, False)


FUNCTIONS: dict[str, Callable[..., Any]] = {"dct": dct, "idct": idct, "dst": dst, "idst": idst}
