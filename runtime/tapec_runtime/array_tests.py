"""What `debug="nan"` asks of whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_FLAGS: dict[str, Any] = {"cache": True, "error_model": "numpy"}


@njit(**_FLAGS)
def largest(array: Any) -> Any:
    """The largest magnitude in an array: nan if an element is nan, zero for an array without elements.

    >>> float(largest(np.array([1.0, -3.0]))), float(largest(np.array([1.0, np.nan, 2.0])))
    (3.0, nan)
    """
    found = np.zeros(1, array.dtype)
    for item in array.flat:
        if np.isnan(item) or abs(item) > found[0]:
            found[0] = abs(item)
        if np.isnan(item):
            break
    return found[0]


@njit(**_FLAGS)
def first_not_finite(array: Any) -> int:
    """Where the first nan of an array stands, counted through all axes; without a nan, the first infinite one; else -1.

    >>> int(first_not_finite(np.array([[1.0, np.inf], [np.nan, 2.0]])))
    2
    """
    infinite = -1
    for place, item in enumerate(array.flat):
        if np.isnan(item):
            return place
        if infinite < 0 and np.isinf(item):
            infinite = place
    return infinite
