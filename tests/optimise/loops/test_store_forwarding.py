"""Stores of one element that are settled in one: where a subscript is another one plus a loop's iterations."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.optimise.loops.store_forwarding import forward_stores
from tests.optimise.reading import check
from tests.oracles import check as check_derivative

BUTTERFLY = """
    def f(a, n):
        for k in range(n):
            j = k + n
            x = a[j]
            a[j] = 0.0
            y = a[k]
            a[k] = 0.0
            a[j] += x
            a[k] += y
        return a
    """


def test_halves_of_an_array_do_not_meet():
    check(
        forward_stores,
        before=BUTTERFLY,
        after="""
        def f(a, n):
            for k in range(n):
                j = k + n
                x = a[j]
                y = a[k]
            return a
        """,
    )


def test_what_an_element_holds_is_not_stored_again():
    text = """
        def f(a, b, n):
            for j in range(n):
                x = a[j]
                {}
                a[j] = x
            return a
        """
    between = "i = j + 1\n                a[i] = x"
    after = text.replace("                a[j] = x\n", "").format(between)
    check(forward_stores, before=text.format(between), after=after)
    # the element may be the same one
    for between in ("a[n] = x", "a[n] += x"):
        same = text.format(between)
        check(forward_stores, before=same, after=same)


def test_a_subscript_that_may_be_negative_may_be_the_other_one():
    # k = -n and k + n = 0 are one element of an array of n
    text = BUTTERFLY.replace("a[k]", "a[i]").replace("j = k + n", "i = k - n\n            j = i + n")
    check(forward_stores, before=text, after=text)


def test_a_number_of_iterations_that_the_body_changes_tells_nothing():
    text = BUTTERFLY.replace("j = k + n\n", "n = k * 1\n            j = k + n\n")
    check(forward_stores, before=text, after=text)


def test_another_number_tells_nothing():
    text = BUTTERFLY.replace("def f(a, n)", "def f(a, n, i)").replace("j = k + n", "j = k + i")
    check(forward_stores, before=text, after=text)


def halves(x, width):
    """Stages of sums and differences, in place."""
    y = x.copy()
    n = x.shape[0]
    half = 1
    while half < n:
        for start in range(0, n, 2 * half):
            for k in range(half):
                a, b = y[start + k], y[start + k + half] * width
                y[start + k] = a + b
                y[start + k + half] = a - b
        half *= 2
    return np.sum(y * y * x)


@pytest.mark.slow
def test_stages_of_sums_and_differences():
    rng = np.random.default_rng(5)
    for n in (1, 2, 8):
        check_derivative(halves, (rng.normal(size=n), 0.7))
