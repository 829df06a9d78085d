"""Variables that count with a loop, as formulas; and scratch arrays whose elements are computed again."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.simplify.closed_form_counters import count_by_formula
from tests.optimise.reading import check
from tests.oracles import check as check_derivative


def same(change, text: str) -> None:
    """A pass leaves a function as it is."""
    check(change, text, text)


def test_a_counter_that_gives_the_first_iteration_stays():
    same(
        count_by_formula,
        """
        def f(a, a_1, k, n):
            for i in range(k, n):
                x = a[k]
                a_1[i] = x
                k_1 = k + 2
                k = k_1
            return k
        """,
    )


def test_a_counter_is_a_formula_of_the_loops_variable():
    check(
        count_by_formula,
        before="""
        def f(a, a_1, k, n):
            for i in range(1, n):
                x = a[k]
                a_1[i] = x
                k_1 = k + 2
                k = k_1
            return k
        """,
        after="""
        def f(a, a_1, k, n):
            k_2 = k
            for i in range(1, n):
                t = i - 1
                t_1 = t * 2
                t_2 = k_2 + t_1
                x = a[t_2]
                a_1[i] = x
                k_1 = t_2 + 2
            t_3 = n - 1
            t_4 = max(t_3, 0)
            t_5 = t_4 * 2
            t_6 = k_2 + t_5
            k = t_6
            return k
        """,
    )


def test_a_counter_that_waits_for_a_test_stays():
    same(
        count_by_formula,
        """
        def f(a, c, k, n):
            for i in range(n):
                if c:
                    k_1 = k + 1
                    k_2 = k_1
                else:
                    k_2 = k
                k = k_2
            return k
        """,
    )


def test_a_counter_of_a_loop_that_may_end_early_stays():
    same(
        count_by_formula,
        """
        def f(a, c, k, n):
            for i in range(n):
                if c:
                    break
                k_1 = k + 1
                k = k_1
            return k
        """,
    )


def triangle(q, x, w):
    """A packed triangle, after a scratch array."""
    n = x.size
    total = 0.0
    diff = np.empty(n)
    image = np.empty(n)
    for iteration in range(3):
        for c in range(n):
            diff[c] = x[c] - w[iteration]
            image[c] = diff[c]
        place = iteration
        for c in range(n):
            for r in range(c + 1, n):
                image[r] += q[place] * diff[c]
                place += 1
            place += 2
        for c in range(n):
            total += image[c] ** 2 * diff[c] + place
    return total


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 1, 4])
def test_the_derivative_is_right(n):
    rng = np.random.default_rng(3)
    check_derivative(triangle, (rng.normal(size=20), rng.normal(size=n), rng.normal(size=3)), (0, 1, 2))


def test_nothing_is_kept_of_a_counter_per_iteration():
    text = tapec.emit(triangle, wrt=(0, 1), signature="f8[::1], f8[::1], f8[::1]", opt_level=2)
    assert "diff_" not in "".join(line for line in text.splitlines() if "#" not in line and "raise" not in line)
    assert "place_store = np.empty(n, " in text
