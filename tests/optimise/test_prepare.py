"""What programs are turned into before they are differentiated."""

from __future__ import annotations

import pytest

from tapec.optimise.loops.unrolling import unroll
from tests.optimise.reading import check


def same(change, text: str) -> None:
    """A pass leaves a function as it is."""
    check(change, text, text)


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
        again=False,
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
    same(unroll, PAIRS.format(point=point, after=after))


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
    same(unroll, WINDOW.format(column=column, taken=taken))


@pytest.mark.parametrize("loop", ["range(5)", "range(n)"])
def test_other_loops_stay(loop: str):
    same(
        unroll,
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
