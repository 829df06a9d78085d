"""Reductions that leave out nan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.arrays_common import accumulator, by_lane, float_type
from tapec.rules.arrays_reduce import cumprod, cumsum, extreme


def _largest_number(a, before, inner, after):
    return extreme(a, before, inner, after, np.fmax)


def _smallest_number(a, before, inner, after):
    return extreme(a, before, inner, after, np.fmin)


def nanmax(a, axis=None, *, keepdims=False):
    """Largest element that is not nan; elements that tie share the derivative evenly."""
    return by_lane(_largest_number, a, axis, keepdims, a.dtype)


def nanmin(a, axis=None, *, keepdims=False):
    """Smallest element that is not nan; elements that tie share the derivative evenly."""
    return by_lane(_smallest_number, a, axis, keepdims, a.dtype)


def _filled(a, number):
    """A copy with `number` in the place of nan."""
    if a.dtype.kind != "f":
        return a
    out = np.empty(a.shape, a.dtype)
    for k in np.ndindex(a.shape):
        x = a[k]
        out[k] = x if x == x else a.dtype.type(number)
    return out


def nancumsum(a, axis=None):
    """Running sums, nan counted as 0."""
    return cumsum(_filled(np.asarray(a), 0), axis)


def nancumprod(a, axis=None):
    """Running products, nan counted as 1."""
    return cumprod(_filled(np.asarray(a), 1), axis)


def _sum_of_numbers(a, before, inner, after):
    total = accumulator(a.dtype)(0)
    for k in np.ndindex(inner):
        x = a[before + k + after]
        if x == x:
            total += x
    return total


def nansum(a, axis=None, *, keepdims=False):
    """Sum of the elements that are not nan."""
    return by_lane(_sum_of_numbers, a, axis, keepdims, accumulator(a.dtype))


def _product_of_numbers(a, before, inner, after):
    total = accumulator(a.dtype)(1)
    for k in np.ndindex(inner):
        x = a[before + k + after]
        if x == x:
            total *= x
    return total


def nanprod(a, axis=None, *, keepdims=False):
    """Product of the elements that are not nan."""
    return by_lane(_product_of_numbers, a, axis, keepdims, accumulator(a.dtype))


def mean_of_numbers(a, before, inner, after):
    total = float_type(a.dtype)(0)
    count = 0
    for k in np.ndindex(inner):
        x = a[before + k + after]
        if x == x:
            total += x
            count += 1
    return total / count


def nanmean(a, axis=None, *, keepdims=False):
    """Mean of the elements that are not nan."""
    return by_lane(mean_of_numbers, a, axis, keepdims, float_type(a.dtype))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "nansum": nansum,
    "nanprod": nanprod,
    "nanmean": nanmean,
    "nanmax": nanmax,
    "nanmin": nanmin,
    "nancumsum": nancumsum,
    "nancumprod": nancumprod,
}
