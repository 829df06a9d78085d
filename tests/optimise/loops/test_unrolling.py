"""Short loops over small arrays are written out."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.optimise import costs
from tapec.optimise.loops.unrolling import unroll
from tests.optimise.comparison import check_results
from tests.optimise.reading import check, unchanged


def same(text: str) -> None:
    """The pass leaves a function as it is."""
    unchanged(unroll, text)


def test_a_short_loop_over_a_small_array_is_written_out():
    check(
        unroll,
        before="""
        def f(a, y):
            a_1 = np.empty(2)
            for i in range(2):
                t = a[i]
                a_1[i] = t
            s = a_1[0]
            return s
        """,
        after="""
        def f(a, y):
            a_1 = np.empty(2)
            i = 0
            t = a[i]
            a_1[i] = t
            i = 1
            t = a[i]
            a_1[i] = t
            s = a_1[0]
            return s
        """,
    )


PAIRS = """
def f(A, n, s):
    for i in range(n):
        for j in range(i):
            for k in range(2):
                x = A[i, k]
                y = A[{point}]
                s += x * y
            {after}
    return s
"""


def test_coordinates_of_pairs_are_written_out():
    check(
        unroll,
        PAIRS.format(point="j, k", after="s += x"),
        """
        def f(A, n, s):
            for i in range(n):
                for j in range(i):
                    k = 0
                    x = A[i, k]
                    y = A[j, k]
                    s += x * y
                    k = 1
                    x = A[i, k]
                    y = A[j, k]
                    s += x * y
                    s += x
            return s
        """,
    )


@pytest.mark.parametrize(
    ("point", "after"),
    [("k, j", "s += x"), ("i, k", "s += x"), ("j, k", "for k1 in range(n):\n                s += x")],
)
def test_other_coordinates_stay(point: str, after: str):
    same(PAIRS.format(point=point, after=after))


WINDOW = """
def f(A, n, s):
    for i in range(n):
        for j in range(n):
            j1 = 2 * j
            x = A[i, j1]
            for k in range(2):
                j2 = j1 + k
                y = A[i, {column}]
                x = {taken}
            s += x
    return s
"""


def test_the_largest_of_a_window_is_written_out():
    check(
        unroll,
        WINDOW.format(column="j2", taken="max(x, y)"),
        """
        def f(A, n, s):
            for i in range(n):
                for j in range(n):
                    j1 = 2 * j
                    x = A[i, j1]
                    k = 0
                    j2 = j1 + k
                    y = A[i, j2]
                    x = max(x, y)
                    k = 1
                    j2 = j1 + k
                    y = A[i, j2]
                    x = max(x, y)
                    s += x
            return s
        """,
    )


@pytest.mark.parametrize(("column", "taken"), [("j2", "y + x"), ("k", "max(x, y)"), ("j1", "max(x, y)")])
def test_other_windows_stay(column: str, taken: str):
    same(WINDOW.format(column=column, taken=taken))


@pytest.mark.parametrize("loop", ["range(5)", "range(n)"])
def test_other_loops_stay(loop: str):
    same(
        f"""
def f(a, n, y):
    a_1 = np.empty(2)
    for i in {loop}:
        a_1[i] = y
    s = a_1[0]
    return s
""",
    )


def test_a_loop_of_one_iteration_is_its_body():
    check(
        unroll,
        before="""
        def f(a, n, y):
            s = 0.0
            for i in range(n):
                for j in range(1):
                    t = a[i, j]
                    s1 = s + t
                    s = s1
            return s
        """,
        after="""
        def f(a, n, y):
            s = 0.0
            for i in range(n):
                j = 0
                t = a[i, j]
                s1 = s + t
                s = s1
            return s
        """,
    )


SMALL = """
def f(a, A, n, x):
    a_1 = np.zeros({size})
    for i in {loop}:
        {body}
    s = a_1[0]
    return s
"""


@pytest.mark.parametrize(
    ("loop", "body"),
    [
        ("range(0)", "a_1[i] = x"),
        ("range(4)", "a_1[i] = x"),
        ("range(3, 0, -1)", "k = i - 1\n        t = a[k]\n        a_1[k] += t"),
        ("range(0, 4, 3)", "t = a_1[i]\n        a[i] = t"),  # a load, and a subscript that is computed
        ("range(2)", "k = 2 * i\n        k_1 = k + 1\n        t = a_1[k_1]\n        a[i] = t"),
        ("range(3)", "for j in range(2):\n            A[i, j] = x\n        a_1[i] += x"),
    ],
)
def test_what_is_written_out_computes_the_same(loop: str, body: str):
    check_results(unroll, SMALL.format(size=4, loop=loop, body=body), (np.arange(4.0), np.ones((3, 3)), 3, 2.5))


def test_iterations_come_in_their_order():
    before = """
    def f(x):
        a = np.zeros(3)
        for i in range(2, -1, -1):
            a[i] = x
            x *= x
            for k in range(0, 1):
                x += 1.0
        s = a[0]
        return s, x
    """
    check(
        unroll,
        before,
        """
        def f(x):
            a = np.zeros(3)
            i = 2
            a[i] = x
            x *= x
            k = 0
            x += 1.0
            i = 1
            a[i] = x
            x *= x
            k = 0
            x += 1.0
            i = 0
            a[i] = x
            x *= x
            k = 0
            x += 1.0
            s = a[0]
            return s, x
        """,
    )
    check_results(unroll, before, (1.5,))


@pytest.mark.parametrize(
    ("size", "loop", "body"),
    [
        (costs.SMALL_ARRAY + 1, "range(2)", "a_1[i] = x"),  # an array that does not become numbers
        ("n", "range(2)", "a_1[i] = x"),
        (4, "range(2)", "a[i] = x"),
        (4, "range(2)", "t = A[i, i]\n        a_1[0] += t"),
        (4, f"range({costs.UNROLLED_ITERATIONS + 1})", "a_1[i] = x"),
        (4, "range(0, n, 2)", "a_1[i] = x"),
        (4, "range(2)", "while True:\n            a_1[i] = x\n            break"),
        (
            4,
            "range(2)",
            "\n        ".join(["a_1[i] = x"] * (costs.UNROLLED_STATEMENTS // 2 + 1)),
        ),  # too many statements
    ],
)
def test_loops_that_make_no_numbers_stay(size: object, loop: str, body: str):
    same(SMALL.format(size=size, loop=loop, body=body))


def test_an_array_with_another_name_stays_one():
    same("""
    def f(x):
        a = np.zeros(4)
        a_1 = a[1:]
        for i in range(2):
            a[i] = x
        s = a_1[0]
        return s
    """)
