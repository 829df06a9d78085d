"""Passes for speed: what they turn programs into, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.loops.store_forwarding import forward_stores
from tests import oracles
from tests.optimise.reading import check


def same(change, text: str) -> None:
    """A pass leaves a function as it is."""
    check(change, text, text)


def test_an_element_is_stored_once():
    check(
        forward_stores,
        before="""
        def f(a, i, s, y):
            t = a[i]
            a[i] = 0.0
            u = t * y
            a[i] += u
            a[i] += s
            return y
        """,
        after="""
        def f(a, i, s, y):
            t = a[i]
            u = t * y
            t_1 = u + s
            a[i] = t_1
            return y
        """,
    )


def test_neighbours_are_other_elements_if_no_subscript_is_negative():
    check(
        forward_stores,
        before="""
        def f(a, n, s):
            for i in range(n):
                k = i + 1
                a[i] = 0.0
                a[k] += s
                a[i] += s
            return s
        """,
        after="""
        def f(a, n, s):
            for i in range(n):
                k = i + 1
                a[k] += s
                a[i] = s
            return s
        """,
    )


@pytest.mark.parametrize(
    "between",
    ["t = a[k]", "a[k] = s", "a_1[i] = s", "i_1 = i\n    i = k", "raise ValueError()", "print(a)"],
)
def test_a_store_does_not_move_past_what_may_see_it(between: str):
    same(
        forward_stores,
        f"""
def f(a, a_2, i, k, s, c):
    a_1 = a[1:]
    a[i] = 0.0
    {between}
    a[i] += s
    return s
""",
    )


def scratch_of_any_size(x, size):
    total = 0.0
    work = np.zeros(size - 2)
    for i in range(x.shape[0]):
        for j in range(size - 2):
            work[j] = np.sin(x[i] * (j + 1))
        for j in range(size - 3):
            work[j + 1] += work[j] * x[i]
        total += work[size - 3] if size > 2 else x[i]
    return total


@pytest.mark.slow
def test_scratch_arrays_of_any_size():
    x = np.linspace(0.1, 0.9, 4)
    with oracles.interpreted():
        for size in (2, 3, 5):
            oracles.check(scratch_of_any_size, (x, size), wrt=(0,), forward_level=0)
        with pytest.raises(ValueError, match="negative dimensions"):
            tapec.grad(scratch_of_any_size)(x, 1)
