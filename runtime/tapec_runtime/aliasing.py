"""Do two arguments share memory?"""

from __future__ import annotations

from typing import Any

from numba import njit


class AliasedArguments(ValueError):
    """Two arrays that share memory were passed to a function that writes into one of them."""


@njit(error_model="numpy")
def overlap(a: Any, b: Any) -> bool:
    """Whether the byte ranges of two arrays meet; they may interleave without sharing an element.

    a, b     arrays of any rank
    returns  False for empty arrays

    >>> import numpy as np
    >>> x = np.zeros(6)
    >>> overlap(x[:3], x[2:]), overlap(x[:3], x[3:])
    (True, False)
    """
    if a.size == 0 or b.size == 0:
        return False
    a_low = a.ctypes.data
    a_high = a_low + a.itemsize
    for k in range(a.ndim):
        reach = (a.shape[k] - 1) * a.strides[k]
        if reach < 0:
            a_low += reach
        else:
            a_high += reach
    b_low = b.ctypes.data
    b_high = b_low + b.itemsize
    for k in range(b.ndim):
        reach = (b.shape[k] - 1) * b.strides[k]
        if reach < 0:
            b_low += reach
        else:
            b_high += reach
    return bool(a_low < b_high and b_low < a_high)
