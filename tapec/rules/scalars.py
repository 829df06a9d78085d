"""Scalar functions with several results, written as operations that have rules; inlined as user code is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec_runtime.special import exponent


def frexp(x):  # type: ignore[no-untyped-def]
    """A number's mantissa, of size 1/2 to 1, and its power of two; the power has no derivative."""
    power = exponent(x)
    return np.ldexp(x, -power), power


def quotient_and_remainder(x, z):  # type: ignore[no-untyped-def]
    """`x // z` and `x % z`, element by element."""
    return x // z, x % z


FUNCTIONS: dict[object, Callable[..., Any]] = {
    math.frexp: frexp,
    divmod: quotient_and_remainder,
    np.divmod: quotient_and_remainder,
}
