"""Arrays that take the memory of others."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.buffers.buffer_reuse import reuse_buffers
from tests.optimise.reading import check


def test_an_array_takes_the_memory_that_is_read_for_the_last_time():
    check(
        reuse_buffers,
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
    ("size", "iteration", "after"),
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
def test_an_array_that_something_else_may_read_keeps_its_memory(size: str, iteration: str, after: str):
    text = f"""
def f(x, n, k, c):
    a = np.empty(n)
    for i in range(n):
        a[i] = x
    a_1 = np.empty({size})
    for j in range(n):
        {iteration}
    {after or "x = 1.0"}
    return a_1
"""
    check(reuse_buffers, text, text)


def test_an_array_that_copies_a_product_is_the_product():
    check(
        reuse_buffers,
        before="""
        def f(n, k):
            M = np.empty((n, k))
            P = np.dot(M, M)
            A = np.empty((n, k))
            for i in range(n):
                for j in range(k):
                    x = P[i, j]
                    A[i, j] = x
            return A
        """,
        after="""
        def f(n, k):
            M = np.empty((n, k))
            A = np.dot(M, M)
            for i in range(n):
                for j in range(k):
                    x = A[i, j]
            return A
        """,
    )


def test_a_product_tells_that_its_factors_fit():
    check(
        reuse_buffers,
        before="""
        def f(n, k, all):
            M = np.empty((n, k))
            a_1 = np.dot(M, all)
            a_2 = np.dot(a_1, M)
            n_1 = all.shape[0]
            a_3 = np.empty(n_1)
            for i in range(n_1):
                x = a_2[i]
                a_3[i] = x
            return a_3
        """,
        after="""
        def f(n, k, all):
            M = np.empty((n, k))
            a_1 = np.dot(M, all)
            a_3 = np.dot(a_1, M)
            n_1 = all.shape[0]
            for i in range(n_1):
                x = a_3[i]
            return a_3
        """,
    )


def copy_of_a_part(end: str) -> str:
    return f"""
def f(n, k):
    M = np.empty((n, k))
    W = np.empty((k, k))
    P = np.dot(M, W)
    A = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            x = P[i, j]
            A[i, j] = x
    {end}
"""


@pytest.mark.parametrize(
    "end",
    [
        "return A",  # which has another size
        "y = A[-1, 0]\n    return y",
        "A_1 = A[1:]\n    y = A_1[0, 0]\n    return y",
    ],
)
def test_a_copy_of_a_part_of_a_product_stays(end: str):
    text = copy_of_a_part(end)
    check(reuse_buffers, text, text)


def test_a_copy_of_a_part_whose_elements_are_all_that_is_asked_for_is_the_product():
    end = "y = 0.0\n    for i_1 in range(k):\n        z = A[i_1, 0]\n        y += z\n    return y"
    text = copy_of_a_part(end)
    made = "    P = np.dot(M, W)\n    A = np.empty((k, k))\n"
    after = text.replace(made, "    A = np.dot(M, W)\n").replace("            A[i, j] = x\n", "").replace("P[", "A[")
    check(reuse_buffers, text, after)


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
    check(reuse_buffers, text, text)


def test_a_pullback_can_be_called_again():
    def f(x):
        e = np.exp(x)
        return e / e.sum()

    x = np.linspace(-1.0, 1.0, 5)
    _, pull = tapec.vjp(f, x)
    first = pull(np.arange(5.0))
    pull(np.ones(5))
    np.testing.assert_array_equal(pull(np.arange(5.0)), first)
