"""Places in a sorted table, found without branches.

Which half of a table a number is in cannot be foreseen, and a processor that guesses wrong loses more than the search
takes otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tapec_runtime.independence import independent
from tapec_runtime.opaque_numbers import opaque

# numbers that are searched side by side: their places stay in the cache
_BLOCK = 64


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
        place += half & -opaque(np.int64(table[np.uint64(place + half - 1)] < number))
        rest -= half
    if rest == 1:
        place += opaque(np.int64(table[np.uint64(place)] < number))
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
        place += half & -opaque(np.int64(table[np.uint64(place + half - 1)] <= number))
        rest -= half
    if rest == 1:
        place += opaque(np.int64(table[np.uint64(place)] <= number))
    return place


@njit(cache=True, error_model="numpy")
def places(table: Any, numbers: Any, count: int, right: bool) -> Any:
    """`np.searchsorted` of the first of many numbers, from the left or the right, side by side on vectors.

    table    (n,), sorted
    numbers  (m,), of the table's type
    count    how many of the numbers are searched
    right    whether elements count that are equal to a number
    returns  (count,), int64: how many elements of the table are below each number; arbitrary behind the last of them

    >>> places(np.array([1.0, 2.0, 2.0]), np.array([2.0, 3.0]), 2, False)
    array([1, 3])
    """
    found = np.empty(max(count, 0), np.int64)
    count = min(count, numbers.shape[0])
    for first in range(0, count, _BLOCK):
        last = min(first + _BLOCK, count)
        strange = 0
        for i in range(first, last):
            found[np.uint64(i)] = 0
            strange += numbers[np.uint64(i)] != numbers[np.uint64(i)]
        rest = table.shape[0]
        while rest > 0:
            half = (rest + 1) >> 1
            # of an even rest the upper half has one element that may be known already, for all halves to be of one size
            for i in independent(range(first, last)):
                place, number = found[np.uint64(i)], numbers[np.uint64(i)]
                value = table[np.uint64(place + half - 1)]
                found[np.uint64(i)] = place + half if (value <= number if right else value < number) else place
            rest -= half
        if strange > 0:
            _find_nans(table, numbers, first, last, right, found)
    return found


@njit(cache=True, error_model="numpy")
def _find_nans(table: Any, numbers: Any, first: int, last: int, right: bool, found: Any) -> None:
    for i in range(first, last):
        if numbers[i] != numbers[i]:
            if right:
                found[i] = np.searchsorted(table, numbers[i], side="right")
            else:
                found[i] = np.searchsorted(table, numbers[i])
