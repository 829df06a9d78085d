"""Places in a sorted table, found without branches.

Which half of a table a number is in cannot be foreseen, and a processor that guesses wrong loses more than the search
takes otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tapec_runtime.counting import unforeseen


@njit(cache=True, error_model="numpy")
def searchsorted(table: Any, number: Any) -> int:
    """`np.searchsorted(table, number)`.

    table    (n,), sorted
    number   a number of the table's type
    returns  how many elements of the table are below the number, as an integer

    >>> searchsorted(np.array([1.0, 2.0, 2.0]), 2.0)
    1
    """
    if number != number:
        return np.searchsorted(table, number)
    place, rest = 0, table.shape[0]
    while rest > 1:
        half = rest >> 1
        # LLVM would make a branch of a choice
        place += half & -unforeseen(np.int64(table[np.uint64(place + half - 1)] < number))
        rest -= half
    if rest == 1:
        place += unforeseen(np.int64(table[np.uint64(place)] < number))
    return place


@njit(cache=True, error_model="numpy")
def searchsorted_right(table: Any, number: Any) -> int:
    """`np.searchsorted(table, number, side="right")`.

    table    (n,), sorted
    number   a number of the table's type
    returns  how many elements of the table are not above the number, as an integer

    >>> searchsorted_right(np.array([1.0, 2.0, 2.0]), 2.0)
    3
    """
    if number != number:
        return np.searchsorted(table, number, side="right")
    place, rest = 0, table.shape[0]
    while rest > 1:
        half = rest >> 1
        place += half & -unforeseen(np.int64(table[np.uint64(place + half - 1)] <= number))
        rest -= half
    if rest == 1:
        place += unforeseen(np.int64(table[np.uint64(place)] <= number))
    return place
