"""Matrix products whose second factor stands in columns, as `x @ w.T` has it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# from 32 by 32 on, a copy costs more than it saves where the first factor has few rows
_SMALL = 24 * 24


@njit(cache=True)
def product(first: Any, second: Any) -> Any:
    """`first @ second` of matrices; OpenBLAS takes up to three times as long for small ones that stand in columns.

    first    (m, k), float64 or float32
    second   (k, n), of the same type, in Fortran's order
    returns  (m, n)

    >>> product(np.ones((1, 2)), np.ones((2, 2)).T)
    array([[2., 2.]])
    """
    if second.size <= _SMALL:
        return np.dot(first, np.ascontiguousarray(second))
    return np.dot(first, second)
