"""Sizes that change are hidden from Numba."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.optimise.vectors.hidden_sizes import hide_sizes
from tests.optimise.comparison import check_results
from tests.optimise.reading import check, unchanged

SHRINKING = """
def f(a, A, n, k, x):
    n_1 = n
    for i in range(k):
        {body}
        n_2 = n_1 - 1
        n_1 = n_2
    return x
"""


@pytest.mark.parametrize(
    ("made", "hidden"),
    [
        ("a_1 = np.empty({0})", 1),
        ("A_1 = np.zeros(({0}, {1}))", 2),
        ("A_1 = np.zeros((k, {0}))", 1),
        ("a_1 = a[0:{0}]", 1),
        ("a_1 = a[{0}:{1}:2]", 2),
        ("a_1 = A[n_1, 0:{0}]", 1),  # a subscript is no size
        ("A_1 = a.reshape(({0}, k))", 1),
        ("A_1 = a.reshape((-1, {0}))", 1),
        ("a_1 = np.empty({0})\n        a_1[n_1] = x", 1),
    ],
)
def test_sizes_that_a_loop_changes(made: str, hidden: int):
    names = [f"n_1_{k + 1}" for k in range(hidden)]
    lines = "".join(f"{name} = tapec_runtime.opaque(n_1)\n        " for name in names)
    before = SHRINKING.format(body=made.format("n_1", "n_1"))
    check(hide_sizes, before, SHRINKING.format(body=lines + made.format(*names)))


def test_what_is_hidden_is_the_same_number():
    body = "a_1 = np.zeros(n_1)\n        a_2 = a[0:n_1]\n        s = np.dot(a_1, a_2)\n        a[i] = s"
    before = SHRINKING.format(body=body)
    check_results(hide_sizes, before, *((np.arange(5.0), np.ones((1, 1)), n, n, 1.0) for n in (0, 1, 5)))


def test_what_is_computed_from_a_size_that_changes_changes_too():
    before = SHRINKING.format(body="n_3 = n_1 + k\n        a_1 = np.empty(n_3)")
    made = "n_3 = n_1 + k\n        n_3_1 = tapec_runtime.opaque(n_3)\n        a_1 = np.empty(n_3_1)"
    check(hide_sizes, before, SHRINKING.format(body=made))


@pytest.mark.parametrize(
    "body",
    [
        "a_1 = np.empty(n)",
        "a_1 = np.empty(3)",
        "n_3 = n_1 - n_1\n        a_1 = np.empty(n_3)",  # the same in all iterations
        "a_1 = a[1:]",
        "a_1 = A[n_1]",
        "a_1 = A[n_1, 0:k]",
        "n_3 = a.shape[0]\n        a_1 = np.empty(n_3)",
        "n_3 = tapec_runtime.opaque(n_1)\n        a_1 = np.empty(n_3)",  # hidden already
        "a[n_1] = x",
    ],
)
def test_other_sizes_stay(body: str):
    unchanged(hide_sizes, SHRINKING.format(body=body))


def test_sizes_that_no_loop_changes_stay():
    unchanged(
        hide_sizes,
        """
        def f(n, c):
            if c:
                n_1 = n
            else:
                n_1 = 2
            a = np.empty(n_1)
            return n
        """,
    )
