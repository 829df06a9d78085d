"""Arrays that take the memory of others."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.reused import reuse_memory
from tests.optimise.reading import check


def test_an_array_takes_the_memory_that_is_read_for_the_last_time():
    check(
        reuse_memory,
        before="""
        def f(x, n):
            a = np.empty(n)
            s = 0.0
            for i in range(n):
                t = x * x
                a[i] = t
            a_1 = np.empty(n)
            for j in range(n):
                u = a[j]
                v = u * s
                a_1[j] = v
            return a_1
        """,
        after="""
        def f(x, n):
            a_1 = np.empty(n)
            s = 0.0
            for i in range(n):
                t = x * x
                a_1[i] = t
            for j in range(n):
                u = a_1[j]
                v = u * s
                a_1[j] = v
            return a_1
        """,
    )


@pytest.mark.parametrize(
    ("size", "trip", "after"),
    [
        ("k", "u = a[j]\n        a_1[j] = u", ""),  # another size
        ("n", "u = a[j]\n        a_1[j] = u", "x = a[k]"),  # read later
        ("n", "u = a[j]\n        a_1[j] = u", "a_2 = a[1:]"),
        ("n", "a_1[j] = x\n        u = a[j]", ""),
        ("n", "u = a[j]\n        v = a[k]\n        a_1[j] = u", ""),  # another element
        ("n", "u = a[j]\n        if c:\n            v = a[k]\n        a_1[j] = u", ""),
        ("n", "u = a[j]\n        a_1[k] = u", ""),
        ("n", "u = a[k]\n        a_1[j] = u", ""),
    ],
)
def test_an_array_that_something_else_may_read_keeps_its_memory(size: str, trip: str, after: str):
    text = f"""
def f(x, n, k, c):
    a = np.empty(n)
    for i in range(n):
        a[i] = x
    a_1 = np.empty({size})
    for j in range(n):
        {trip}
    {after or "x = 1.0"}
    return a_1
"""
    check(reuse_memory, text, text)


def test_an_array_that_is_read_outside_the_branch_that_makes_it_keeps_its_memory():
    text = """
def f(x, n, c):
    if c:
        a = np.empty(n)
        for i in range(n):
            a[i] = x
        a_1 = np.empty(n)
        for j in range(n):
            u = a[j]
            a_1[j] = u
    s = 0.0
    if c:
        for k in range(n):
            v = a[k]
            s += v
    return s
"""
    check(reuse_memory, text, text)


def test_a_pullback_can_be_called_again():
    def f(x):
        e = np.exp(x)
        return e / e.sum()

    x = np.linspace(-1.0, 1.0, 5)
    _, pull = tapec.vjp(f, x)
    first = pull(np.arange(5.0))
    pull(np.ones(5))
    np.testing.assert_array_equal(pull(np.arange(5.0)), first)
