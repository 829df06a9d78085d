"""Integrals of samples: functions of `scipy.integrate`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import last_axis, within
from tapec.rules.arrays_reduce import trapezoid


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
    terms = terms + (whole / first) * (whole / second) * lines[..., 1 : n - 1 : 2]
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
        a = last / 6.0 * ((2.0 * last + 3.0 * before) / (before + last))
        b = last / 6.0 * (last / before + 3.0)
        c = last / 6.0 * (last / before) * (last / (before + last))
        return whole + a * lines[..., n - 1] + b * lines[..., n - 2] - c * lines[..., n - 3]
    gap = places[..., n - 2] - places[..., n - 3]
    end = places[..., n - 1] - places[..., n - 2]
    third = end / 6.0 * ((2.0 * end + 3.0 * gap) / (gap + end)) * lines[..., n - 1]
    second = end / 6.0 * (end / gap + 3.0) * lines[..., n - 2]
    return whole + third + second - end / 6.0 * (end / gap) * (end / (gap + end)) * lines[..., n - 3]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (trapezoid, cumulative_trapezoid, simpson)
}
