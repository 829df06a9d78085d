"""Checks that are made once, before the loops whose iterations would make them."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.shapes.check_hoisting import hoist_checks
from tests.optimise.reading import check
from tests.oracles import check as check_derivative
from tests.oracles import interpreted


def test_a_check_that_no_iteration_changes_is_made_before_the_loop():
    check(
        hoist_checks,
        before="""
        def f(a, k, n):
            for i in range(n):
                k_1 = a.shape[0]
                x = a[i]
                c = k == k_1
                if c:
                    c_1 = k != 1
                    if c_1:
                        raise ValueError()
                a[i] = x
            return a
        """,
        after="""
        def f(a, k, n):
            k_1 = a.shape[0]
            c = k == k_1
            t = 0 < n
            if t:
                if c:
                    c_1 = k != 1
                    if c_1:
                        raise ValueError()
            for i in range(n):
                x = a[i]
                a[i] = x
            return a
        """,
    )


def test_a_check_behind_stores_into_memory_of_the_iteration_rises_through_all_loops():
    check(
        hoist_checks,
        before="""
        def f(k, n):
            for i in range(1, n):
                for j in range(k):
                    a = np.empty(k)
                    for k_1 in range(k):
                        a[k_1] = 1.0
                    c = k == 2
                    if c:
                        raise ValueError()
            return k
        """,
        after="""
        def f(k, n):
            c = k == 2
            t = 0 < k
            t_1 = 1 < n
            if t_1:
                if t:
                    if c:
                        raise ValueError()
            for i in range(1, n):
                for j in range(k):
                    a = np.empty(k)
                    for k_1 in range(k):
                        a[k_1] = 1.0
            return k
        """,
    )


@pytest.mark.parametrize(
    "iteration",
    [
        "c = i == k\nif c:\n    raise ValueError()",  # asks of the iteration
        "a[i] = x\nc = n == k\nif c:\n    raise ValueError()",  # somebody sees the store
        "print(x)\nc = n == k\nif c:\n    raise ValueError()",
        "c = n == k\nif c:\n    raise ValueError()\nelse:\n    print(x)",
        "c = n == k\nif c:\n    a[i] = x\n    raise ValueError()",
        "c = x == a[0]\nif c:\n    raise ValueError()\na[0] = 1.0",
        "y = a[0]\nc = x == y\nif c:\n    raise ValueError()\na[0] = 1.0",
        "k_1 = n // k\nc = k_1 == 0\nif c:\n    raise ValueError()",  # which may fail where no iteration does
        "while True:\n    break\nc = n == k\nif c:\n    raise ValueError()",  # which may not end
    ],
)
def test_a_check_that_asks_something_else_in_each_iteration_or_comes_too_late_stays(iteration: str):
    lines = "\n".join(f"        {line}" for line in iteration.splitlines())
    text = f"""
def f(x, a, k, n):
    for i in range(n):
{lines}
    return a
"""
    check(hoist_checks, text, text)


def fitting(x, y, n):
    total = 0.0
    for t in range(n):
        top = (x + y * t).max()
        total += top
    return total


@pytest.mark.slow
def test_what_is_raised_and_when_stays_the_same():
    x, y = np.array([1.0, 2.0]), np.array([0.5, -0.5])
    with interpreted():
        check_derivative(fitting, (x, y, 3))
        found = tapec.grad(fitting)
        assert found(x, np.ones(3), 0) is not None
        with pytest.raises(ValueError, match="broadcast"):
            found(x, np.ones(3), 1)
        with pytest.raises(ValueError, match="zero-size"):
            found(np.empty(0), np.empty(0), 1)
