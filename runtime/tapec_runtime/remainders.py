"""Remainders of numbers that are mostly within the bounds already, such as subscripts around a ring."""

from __future__ import annotations

from numba import njit


# behind a call, LLVM does not draw the comparisons together
@njit(inline="always", error_model="numpy")
def remainder(number: int, divisor: int) -> int:
    """`number % divisor` of integers, without a division where the number is not negative and below the divisor.

    number   an integer
    divisor  an integer other than 0
    returns  an integer between 0 and the divisor, with the divisor's sign

    A division of 64 bits takes some ten times as long as the comparisons.

    >>> remainder(3, 5), remainder(5, 5), remainder(-1, 5)
    (3, 0, 4)
    """
    if 0 <= number < divisor:
        return number
    return number % divisor
