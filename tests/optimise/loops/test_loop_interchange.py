"""Nests whose outer iterations are independent, with the outer loop inside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tapec.analyses.iterations import Iterations
from tapec.optimise.loops.loop_interchange import Interchange
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import For, Function
from tests.optimise.comparison import check_results
from tests.optimise.reading import check, unchanged


def interchange(function: Function) -> Function:
    """The function with each of its own nests turned that can be."""
    fresh = Fresh(function.types)
    nests = Interchange(Iterations(function), fresh)
    turned = [
        nests.turned(stmt, stmt) if isinstance(stmt, For) and nests.possible(stmt) else (stmt,)
        for stmt in function.body
    ]
    return replace(function, body=tuple(one for block in turned for one in block), types=fresh.types)


def test_numbers_that_parts_of_an_iteration_hand_on_get_arrays():
    before = """
    def f(A, a, k):
        n = a.shape[0]
        for i in range(n):
            s = 0.0
            x = a[i]
            for j in range(k):
                t = A[i, j]
                s_1 = s + t
                s = s_1
            y = s * x
            a[i] = y
        return k
    """
    check(
        interchange,
        before,
        """
        def f(A, a, k):
            n = a.shape[0]
            s_rows = np.empty(n)
            x_rows = np.empty(n)
            for i in range(n):
                s = 0.0
                x = a[i]
                s_rows[i] = s
                x_rows[i] = x
            for j in range(k):
                for i in range(n):
                    s = s_rows[i]
                    t = A[i, j]
                    s_1 = s + t
                    s = s_1
                    s_rows[i] = s
            for i in range(n):
                s = s_rows[i]
                x = x_rows[i]
                y = s * x
                a[i] = y
            return k
        """,
        # a nest can be turned back
        again=False,
    )
    check_results(
        interchange, before, *((np.ones((n, 3)), np.arange(n) + 0.5, k) for n in (0, 1, 3) for k in (0, 1, 3))
    )


def test_a_sum_of_all_iterations_stays_a_number():
    before = """
    def f(A, a, k, s):
        n = a.shape[0]
        r = s
        for i in range(n):
            for j in range(k):
                t = A[i, j]
                a[i] += t
            u = a[i]
            r_1 = r + u
            r = r_1
        return r
    """
    check(
        interchange,
        before,
        """
        def f(A, a, k, s):
            n = a.shape[0]
            r = s
            for j in range(k):
                for i in range(n):
                    t = A[i, j]
                    a[i] += t
            for i in range(n):
                u = a[i]
                r += u
            return r
        """,
        again=False,
    )
    arrays = np.arange(12.0).reshape(4, 3), np.ones(4)
    check_results(interchange, before, *((*arrays, k, 0.5) for k in (0, 1, 3)), tolerance=1e-14)


@pytest.mark.parametrize(
    "body",
    [
        # several loops, one of them downward; elements that only are added to; what an iteration leaves for later parts
        "for j in range(k):\n    A[i, j] += s\nfor j in range(k, 0, -1):\n    j_1 = j - 1\n    A[i, j_1] += 1.0",
        "for j in range(k):\n    t = A[i, j]\n    a[0] += t",
        "for j in range(k):\n    A[i, j] = s\na[i] += s",
        "t = a[i]\nfor j in range(k):\n    A[i, j] += t\nt_1 = t * t\na[i] = t_1",
        # a recurrence along each row
        "for j in range(1, k):\n    j_1 = j - 1\n    t = A[i, j_1]\n    A[i, j] += t",
    ],
)
def test_turned_nests_compute_the_same(body: str):
    text = f"""
def f(A, a, k, s):
    n = a.shape[0]
    for i in range(n):
{"".join(f"        {line}{chr(10)}" for line in body.splitlines())}    return s
"""
    arrays = np.arange(12.0).reshape(4, 3), np.ones(4)
    check_results(interchange, text, *((*arrays, k, 0.5) for k in (0, 1, 3)), tolerance=1e-14)


@pytest.mark.parametrize(
    ("loop", "body"),
    [
        ("range(n)", "a[i] = s"),  # no loop inside
        ("range(1, n)", "for j in range(k):\n    A[i, j] = s"),
        ("range(n, 0, -1)", "for j in range(k):\n    A[i, j] = s"),
        ("range(n)", "for j in range(i):\n    A[i, j] = s"),  # bounds of its own
        ("range(n)", "k_1 = k - 1\nfor j in range(k_1):\n    A[i, j] = s"),
        ("range(n)", "for j in range(k):\n    if c:\n        A[i, j] = s"),
        ("range(n)", "if c:\n    a[i] = s\nfor j in range(k):\n    A[i, j] = s"),
        ("range(n)", "for j in range(k):\n    a_1 = A[i]\n    a_1[j] = s"),  # views
        ("range(n)", "for j in range(k):\n    for j_1 in range(k):\n        A[i, j] += s"),
        ("range(n)", "for j in range(k):\n    print(s)"),
        ("range(n)", "for j in range(k):\n    A[0, j] = s"),  # all iterations store one element
        ("range(n)", "for j in range(k):\n    A[j, i] = s\nt = A[i, 0]\na[i] = t"),
        ("range(n)", "for j in range(k):\n    t = A[i, j]\n    r = t"),  # the last one is read
        ("range(n)", "for j in range(k):\n    r_1 = r * 2.0\n    r = r_1"),
        ("range(n)", "for j in range(k):\n    r_1 = r + 1.0\n    r = r_1\nr_2 = r + 2.0\nr = r_2"),  # two parts add
        ("numba.prange(n)", "for j in range(k):\n    A[i, j] = s"),
    ],
)
def test_other_nests_stay(loop: str, body: str):
    unchanged(
        interchange,
        f"""
def f(A, a, k, n, s, c):
    r = s
    for i in {loop}:
{"".join(f"        {line}{chr(10)}" for line in body.splitlines())}    return r
""",
    )
