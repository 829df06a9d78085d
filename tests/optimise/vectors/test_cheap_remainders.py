"""Remainders in loops: no division where there is nothing to take off, and no sign where an extent divides."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import tapec
import tapec_runtime
from tapec.optimise.vectors.cheap_remainders import cheap_remainders
from tests import oracles
from tests.optimise.reading import check, read


def test_a_ring():
    check(
        cheap_remainders,
        """
        def f(a, a1, k):
            n = a.shape[0]
            for i in range(k):
                j = (i + 1) % n
                x = a1[i]
                a[j] += x
        """,
        """
        def f(a, a1, k):
            n = a.shape[0]
            for i in range(k):
                j = tapec_runtime.remainder(i + 1, n)
                x = a1[i]
                j_1 = np.uint64(j)
                a[j_1] += x
        """,
    )


def test_an_array_that_is_as_long_as_the_divisor_says():
    # a negative number is no extent: of `a1` nothing is known
    check(
        cheap_remainders,
        """
        def f(a1, n, k):
            a = np.zeros(n)
            for i in range(k):
                j = i % n
                x = a1[j]
                a[j] = x
            return a
        """,
        """
        def f(a1, n, k):
            a = np.zeros(n)
            for i in range(k):
                j = tapec_runtime.remainder(i, n)
                x = a1[j]
                j_1 = np.uint64(j)
                a[j_1] = x
            return a
        """,
    )


@pytest.mark.parametrize("inside", ["j = i % 8", "x = z % y", "j = i // n", "j = i"])
def test_what_stays(inside):
    function = read(
        f"""
        def f(a, y, z, n):
            j = n % n
            t = a[j]
            for i in range(9):
                {inside}
                t += a[i]
            return t
        """
    )
    assert cheap_remainders(function) == function


def test_a_number_divides():
    check(
        cheap_remainders,
        """
        def f(a, n):
            for i in range(n):
                j = i % 8
                a[j] = 1.0
        """,
        """
        def f(a, n):
            for i in range(n):
                j = i % 8
                j_1 = np.uint64(j)
                a[j_1] = 1.0
        """,
    )


CASES = [(n, d) for n in range(-7, 8) for d in (-3, -1, 1, 3, 2**62)] + [(-(2**63), 5), (2**63 - 1, -5)]


@pytest.mark.slow
@pytest.mark.compiled
def test_the_remainder_is_pythons():
    @njit
    def found(numbers, divisors):
        return [tapec_runtime.remainder(number, divisor) for number, divisor in zip(numbers, divisors)]

    numbers, divisors = (np.array(one) for one in zip(*CASES, strict=True))
    wanted = [number % divisor for number, divisor in CASES]
    assert list(found(numbers, divisors)) == wanted
    assert [tapec_runtime.remainder(number, divisor) for number, divisor in CASES] == wanted


@pytest.mark.compiled
def test_a_ring_of_no_elements_raises():
    def total(x, n, k):
        ring = np.zeros(n)
        for i in range(k):
            ring[(i - 2) % n] += x[i] * x[i]
        return ring.sum()

    x = np.arange(5.0)
    with oracles.interpreted():
        derivative = tapec.value_and_grad(total)
        assert derivative(x, 3, 5)[0] == 30.0
        np.testing.assert_array_equal(derivative(x, 3, 5)[1], 2.0 * x)
        with pytest.raises(ZeroDivisionError):
            derivative(x, 0, 5)
        with pytest.raises(ValueError):
            derivative(x, -3, 5)
