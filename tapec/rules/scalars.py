"""Functions of numbers, element by element, that are written as operations that have rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import tapec_runtime
from tapec_runtime.special import exponent


def frexp(x):
    """A number's mantissa, of size 1/2 to 1, and its power of two; the power has no derivative."""
    power = exponent(x)
    return np.ldexp(x, -power), power


def frexp_of_arrays(x):
    """Mantissas, of size 1/2 to 1, and powers of two; the powers have no derivative."""
    if np.ndim(x) == 0:
        return frexp(float(x))
    values = np.asarray(x)
    kind = values.dtype.type if values.dtype.kind == "f" else np.float64
    parts = np.empty(values.shape, kind)
    powers = np.empty(values.shape, np.int32)
    for k in np.ndindex(values.shape):
        parts[k], powers[k] = frexp(kind(values[k]))
    return parts, powers


def quotient_and_remainder(x, z):
    """`x // z` and `x % z`, element by element."""
    return x // z, x % z


def modf(x):
    """The part behind the point and the whole part, both with the sign of the number."""
    whole = np.trunc(x * 1.0)
    return np.where(np.isinf(x), np.copysign(0.0, whole), np.fmod(x, 1.0)), whole


def fmod(x, z):
    """The remainder with the sign of `x`; compiled code has NumPy's function only."""
    return np.fmod(float(x), float(z))


def heaviside(x, z):
    """0 for negative numbers, 1 for positive ones, and the second operand at 0."""
    return np.where(x == 0, z * 1.0, np.where(x < 0, 0.0, np.where(x > 0, 1.0, x * 1.0)))


def i0(x):
    """The modified Bessel function of the first kind and order 0, as in np.i0; compiled code needs SciPy for it."""
    return tapec_runtime.scipy_special.i0(np.asarray(x) * 1.0)


def fix(x):
    """Numbers rounded towards 0."""
    return np.trunc(x)


def real_if_close(a, tol=100):
    """The array itself, which is real."""
    return np.asarray(a)


FUNCTIONS: dict[object, Callable[..., Any]] = {
    math.frexp: frexp,
    math.fmod: fmod,
    math.modf: modf,
    divmod: quotient_and_remainder,
    np.divmod: quotient_and_remainder,
    np.frexp: frexp_of_arrays,
    np.modf: modf,
    np.heaviside: heaviside,
    np.i0: i0,
    np.fix: fix,
    np.real_if_close: real_if_close,
}
