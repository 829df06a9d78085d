"""Norms of vectors and matrices, over the whole range of their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tapec_runtime
from tapec.rules.arrays_common import AXES, by_lane, kept, known, stop_gradient, within


def _in_range(square):
    """Whether the powers of a square that derivatives need are in the range of its type; so for nan."""
    low, high = (np.float32(1e-24), np.float32(1e24)) if square.dtype == np.float32 else (1e-200, 1e200)
    return not (square <= low or high <= square)


def _length(a, before, inner, after):
    total = a.dtype.type(0)
    for k in np.ndindex(inner):
        x = a[before + k + after]
        total += x * x
    near = _in_range(total)
    scale = a.dtype.type(1) if near else scale_of(a, before, inner, after)
    size = total if near else scaled_squares(a, scale, before, inner, after)
    # one sum has the derivative of both
    size = known(size, scaled_squares(a, scale, before, inner, after))
    if size > 0:
        length = np.sqrt(size) / scale
        # second derivatives need the square of the scale: what has none is added, so that they are no finite numbers
        return length if near else length + known(size - size, size) ** a.dtype.type(1.5)
    # at 0 the square root has no derivative; 0 is the middle of what the norm may have there; there is no second one
    return np.sqrt(known(total, size))


def scaled_squares(a, scale, before, inner, after):
    total = a.dtype.type(0)
    for k in np.ndindex(inner):
        x = a[before + k + after] * scale
        total += x * x
    return total


def _bounds(dtype):
    """Powers of two whose reciprocals are in the range of a type."""
    return (np.float32(2.0**-120), np.float32(2.0**120)) if dtype == np.float32 else (2.0**-1000, 2.0**1000)


def unit_of(a):
    """What products of numbers are divided by to be in the range of their type: 1, where they are in it."""
    low, high = (np.float32(1e-12), np.float32(1e12)) if a.dtype == np.float32 else (1e-100, 1e100)
    largest = a.dtype.type(0)
    for k in np.ndindex(a.shape):
        largest = max(largest, stop_gradient(np.abs(a[k])))
    return a.dtype.type(1) if (low < largest and largest < high) or not largest > 0 else largest


def scale_of(a, before, inner, after):
    """What brings the largest number of a lane next to 1, or as far as a number of its type can."""
    low, high = _bounds(a.dtype)
    largest = low
    for k in np.ndindex(inner):
        largest = max(largest, stop_gradient(np.abs(a[before + k + after])))
    return a.dtype.type(1) / min(largest, high)


def _root_of_powers(order):
    """The norm of an order other than 0, 1, 2 and infinity."""

    def of_lane(a, before, inner, after):
        # the numbers that count most are next to 1, so that all powers of them are in the range of their type
        low, high = _bounds(a.dtype)
        most = low if order > 0 else high
        for k in np.ndindex(inner):
            size = stop_gradient(np.abs(a[before + k + after]))
            most = max(most, size) if order > 0 else min(most, size if size > 0 else most)
        if most <= low:
            return _root_of_tiny_powers(a, before, inner, after, order)
        power = a.dtype.type(order)
        scale = a.dtype.type(1) / most
        total = a.dtype.type(0)
        for k in np.ndindex(inner):
            total += np.power(np.abs(a[before + k + after]) * scale, power)
        return np.power(total, a.dtype.type(1) / power) / scale

    return of_lane


def _root_of_tiny_powers(a, before, inner, after, order):
    """Such a norm of numbers whose reciprocals are out of range: each has a weight, which is its partial derivative."""
    kind = a.dtype.type
    low, high = _bounds(a.dtype)
    power = kind(order)
    sizes = np.array([stop_gradient(np.abs(a[before + k + after])) for k in np.ndindex(inner)]) * high
    most = np.max(sizes) if order > 0 else np.min(np.where(sizes > 0, sizes, high))
    unit = most if most > 0 else kind(1)
    root = np.power(np.sum(np.power(sizes / unit, power)), kind(1) / power)
    length = root * unit * low
    total = kind(0)
    for place, k in enumerate(np.ndindex(inner)):
        # 0 is the middle of what the norm may have at 0, as of other numbers
        weight = np.power(sizes[place] / unit / root, power - kind(1)) if order < 1 or root > 0 else kind(0)
        total += np.abs(a[before + k + after]) * weight
    # the weights have no derivatives: something without a second one is added, so that they are no finite numbers
    return known(length, total + known(length - length, total) ** kind(1.5))


def _absolute_sum(a, before, inner, after):
    total = a.dtype.type(0)
    for k in np.ndindex(inner):
        total += np.abs(a[before + k + after])
    return total


def _vector_norm(x, ord, axis, keepdims):
    if ord is None or ord == 2:
        return by_lane(_length, x, axis, keepdims, x.dtype)
    if ord == 1:
        return by_lane(_absolute_sum, x, axis, keepdims, x.dtype)
    if ord == np.inf:
        return np.max(np.abs(x), axis, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(np.abs(x), axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(np.where(x != 0, x.dtype.type(1), x.dtype.type(0)), axis, keepdims=keepdims)
    return by_lane(_root_of_powers(ord), x, axis, keepdims, x.dtype)


def _largest_singular_value(x):
    """The square root of the largest eigenvalue of the smaller product with itself."""
    if np.max(stop_gradient(np.abs(x))) == 0 if x.size > 0 else True:
        # the derivative is 0, as that of all norms is there, and there is no second one
        return _length(x, (), x.shape, ())
    # squares of what is next to 1 are in the range of the type
    scale = scale_of(x, (), x.shape, ())
    x = x * scale
    product = np.dot(x.T, x) if x.shape[1] <= x.shape[0] else np.dot(x, x.T)
    squares, _ = np.linalg.eigh(product)
    return np.sqrt(squares[-1]) / scale


def _matrix_norm(x, ord):
    """Norms of matrices along the last two axes, but for Frobenius'."""
    if isinstance(ord, str):
        if ord != "nuc":
            raise ValueError("Invalid norm order for matrices.")
        return _singular(x, np.sum)
    if ord == 1:
        return np.max(np.sum(np.abs(x), -2), -1)
    if ord == -1:
        return np.min(np.sum(np.abs(x), -2), -1)
    if ord == np.inf:
        return np.max(np.sum(np.abs(x), -1), -1)
    if ord == -np.inf:
        return np.min(np.sum(np.abs(x), -1), -1)
    if ord == 2:
        return _singular(x, _first_of)
    if ord == -2:
        return _singular(x, _last_of)
    raise ValueError("Invalid norm order for matrices.")


def _first_of(s):
    return s[0]


def _last_of(s):
    return s[s.size - 1]


def _singular(x, function):
    """A function of the singular values of each matrix."""
    if x.ndim == 2:
        _, s, _ = tapec_runtime.thin_svd(x)
        return function(s)
    out = np.empty(x.shape[:-2], x.dtype)
    for i in np.ndindex(x.shape[:-2]):
        _, s, _ = tapec_runtime.thin_svd(x[i])
        out[i] = function(s)
    return out


def norm(x, ord=None, axis=None, *, keepdims=False):
    """Norm of a vector (any order), of a matrix (any kind), or of vectors or matrices along axes.

    The Euclidean norm has derivative 0 at 0.  Its second derivatives are finite for norms of 1e-100 to 1e100 (1e-12 to
    1e12 in single precision).
    """
    x = np.asarray(x)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    places = axis
    if axis is None:
        if ord is None:
            return by_lane(_length, x, None, keepdims, x.dtype)
        places = AXES[: x.ndim] if x.ndim > 1 else 0
    if isinstance(places, tuple) and len(places) == 1:
        return _vector_norm(x, ord, places[0], keepdims)
    if not isinstance(places, tuple):
        return _vector_norm(x, ord, places, keepdims)
    if len(places) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if ord is None or (isinstance(ord, str) and ord == "fro" or ord == "f"):
        return by_lane(_length, x, places, keepdims, x.dtype)
    rows = within(places[0], x.ndim)
    columns = within(places[1], x.ndim)
    if rows == columns:
        raise ValueError("Duplicate axes given.")
    if x.ndim == 2 and rows == 0 and not isinstance(ord, str) and ord == 2:
        return kept(_largest_singular_value(x), 2, keepdims)
    found = _matrix_norm(np.moveaxis(x, (rows, columns), (-2, -1)), ord)
    if keepdims:
        return np.expand_dims(np.asarray(found), (rows, columns))
    return found


def norm_of_sizes(sizes, ord=None, axis=None, *, keepdims=False):
    """Norm of complex numbers, given the size of each."""
    if sizes.ndim == 2 and axis is None and ord is not None and not isinstance(ord, str) and ord == 2:
        raise ValueError("this norm of a complex matrix needs singular values, which have no derivative yet")
    return norm(sizes, ord, axis, keepdims=keepdims)


FUNCTIONS: dict[str, Callable[..., Any]] = {"linalg.norm": norm}
