"""Do two arguments share memory, or elements of one?"""

from __future__ import annotations

from typing import Any

from numba import njit


class AliasedArguments(ValueError):
    """Two arrays that share memory were passed to a function that writes into one of them."""


class AliasedInside(AliasedArguments):
    """A program passes arrays that share memory to a function that writes into one of them."""


class AliasedElements(AliasedArguments):
    """An array whose elements share memory was passed to a function that writes into it."""


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


@njit(error_model="numpy")
def meet(a: Any, b: Any) -> bool:
    """Whether two arrays may share an element: `overlap`, but for arrays that interleave, as columns of a matrix do.

    >>> import numpy as np
    >>> x = np.zeros((3, 4))
    >>> meet(x[:, 0], x[:, 1]), meet(x[:, :2], x[:, 2:]), meet(x[:, :2], x[:, 1:])
    (False, False, True)
    """
    if not overlap(a, b):
        return False
    apart = False
    for k in range(a.ndim):
        apart = apart or (a.shape[k] > 1 and _interleave(a, b, abs(a.strides[k])))
    for k in range(b.ndim):
        apart = apart or (b.shape[k] > 1 and _interleave(a, b, abs(b.strides[k])))
    return not apart


@njit(error_model="numpy")
def _interleave(a: Any, b: Any, period: int) -> bool:
    """Whether two arrays lie in different bytes of each stretch of `period` bytes."""
    if period == 0:
        return False
    a_low, a_size, a_steady = _stretch(a, period)
    b_low, b_size, b_steady = _stretch(b, period)
    between = (b_low - a_low) % period
    return bool(a_steady and b_steady and a_size <= between and between + b_size <= period)


@njit(error_model="numpy")
def _stretch(a: Any, period: int) -> Any:
    """What axes that step over less than `period` bytes reach, first byte and size, and whether others repeat it."""
    low, size = a.ctypes.data, a.itemsize
    for k in range(a.ndim):
        reach = (a.shape[k] - 1) * a.strides[k]
        if abs(a.strides[k]) < period:
            size += abs(reach)
            low += min(reach, 0)
        elif a.shape[k] > 1 and a.strides[k] % period != 0:
            return low, size, False
    return low, size, True


def elements_overlap(a: Any, parts: int = 1) -> bool:
    """Whether elements of an array may share memory, as those of windows do, or of an axis with stride 0.

    a        an array of any rank
    parts    how many numbers an element has: 2 for the real or imaginary part of a complex array
    returns  False only if each axis steps over all that the axes with smaller strides reach

    >>> import numpy as np
    >>> x = np.zeros((4, 6))
    >>> elements_overlap(x[:, ::-2].T), elements_overlap(np.lib.stride_tricks.sliding_window_view(x, 3, axis=1))
    (False, True)
    """
    if a.size == 0:
        return False
    for k in range(a.ndim):
        if a.shape[k] < 2:
            continue
        step = abs(a.strides[k])
        reach = parts * a.itemsize
        for j in range(a.ndim):
            other = abs(a.strides[j])
            if other < step or (other == step and j < k):
                reach += (a.shape[j] - 1) * other
        if step < reach:
            return True
    return False


overlaps_itself = njit(error_model="numpy")(elements_overlap)
