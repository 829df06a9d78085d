"""Functions of `scipy.special` that SciPy writes in Python, as plain loops and NumPy's functions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import tapec_runtime
from tapec.rules.arrays_common import stop_gradient


def _top(a, axis):
    """The largest elements, to take from all before an exponential; 0 where they are infinite."""
    top = stop_gradient(np.max(a, axis=axis, keepdims=True))
    return np.where(np.isfinite(top), top, 0.0)


def logsumexp(a, axis=None, b=None, keepdims=False):
    """The logarithm of the sum of exponentials, with weights `b`."""
    top = _top(a, axis)
    if b is None:
        terms = np.exp(a - top)
    else:
        terms = b * np.exp(a - top)
    found = np.log(np.sum(terms, axis=axis, keepdims=True)) + top
    if keepdims:
        return found
    return np.sum(found, axis=axis)


def softmax(x, axis=None):
    """Exponentials, divided by their sum."""
    terms = np.exp(x - _top(x, axis))
    return terms / np.sum(terms, axis=axis, keepdims=True)


def log_softmax(x, axis=None):
    """The logarithm of `softmax`."""
    moved = x - _top(x, axis)
    return moved - np.log(np.sum(np.exp(moved), axis=axis, keepdims=True))


def multigammaln(a, d):
    """The logarithm of the gamma function of a matrix of `d` rows, of numbers `a` (Muirhead 1982, theorem 2.1.12)."""
    found = 0.25 * d * (d - 1) * np.log(np.pi) + 0.0 * a
    for j in range(d):
        found = found + tapec_runtime.scipy_special.gammaln(a - 0.5 * j)
    return found


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "log_softmax": log_softmax,
    "logsumexp": logsumexp,
    "multigammaln": multigammaln,
    "softmax": softmax,
}


def scipy_function(obj: Any) -> Callable[..., Any] | None:
    """The plain function of a function of `scipy.special`; None if it has none here."""
    special = sys.modules.get("scipy.special")
    function = _FUNCTIONS.get(getattr(obj, "__name__", ""))
    return function if special is not None and function and getattr(special, obj.__name__, None) is obj else None
