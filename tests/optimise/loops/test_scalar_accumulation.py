"""What a loop adds to one element is added up in a variable."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.optimise.loops.scalar_accumulation import accumulate_in_scalars
from tests.optimise.comparison import check_results
from tests.optimise.reading import check, unchanged


def same(text: str) -> None:
    """The pass leaves a function as it is."""
    unchanged(accumulate_in_scalars, text)


def test_a_sum_in_an_element_becomes_a_variable():
    check(
        accumulate_in_scalars,
        before="""
        def f(a, a_1, n, k, y):
            for i in range(n):
                t = a_1[i]
                a[k] += t
            return y
        """,
        after="""
        def f(a, a_1, n, k, y):
            a_sum = 0.0
            for i in range(n):
                t = a_1[i]
                a_sum += t
            t_1 = 0 < n
            if t_1:
                a[k] += a_sum
            return y
        """,
    )


@pytest.mark.parametrize("other", ["u = a[i]", "a[i] = y", "k = i"])
def test_an_element_that_the_loop_may_see_is_added_to_at_once(other: str):
    same(
        f"""
def f(a, n, k, y):
    for i in range(n):
        {other}
        a[k] += y
    return y
""",
    )


LOOP = """
def f(a, a_1, n, k, y, j):
    for i in {}:
        t = a_1[i]
        a[k] += t
    return y
"""


@pytest.mark.parametrize(
    ("loop", "test"),
    [
        ("range(3)", None),
        ("range(n, 0, -1)", "0 < n"),
        ("range(k, n)", "k < n"),
        # whether there is an iteration follows from a sum alone
        ("range(0, n, 2)", "a_sum != 0.0"),
        ("range(0, n, j)", "a_sum != 0.0"),
    ],
)
def test_nothing_is_added_where_there_is_no_iteration(loop: str, test: str | None):
    guarded = f"    t_1 = {test}\n    if t_1:\n        a[k] += a_sum\n" if test else "    a[k] += a_sum\n"
    check(
        accumulate_in_scalars,
        LOOP.format(loop),
        f"""
def f(a, a_1, n, k, y, j):
    a_sum = 0.0
    for i in {loop}:
        t = a_1[i]
        a_sum += t
{guarded}    return y
""",
    )
    runs = [(np.arange(4.0), np.arange(5.0), n, k, 2.0, 3) for n in (0, 1, 4) for k in (0, 3)]
    check_results(accumulate_in_scalars, LOOP.format(loop), *runs)


def test_an_element_outside_of_the_array_is_not_touched_without_an_iteration():
    check_results(accumulate_in_scalars, LOOP.format("range(n)"), (np.arange(4.0), np.arange(5.0), 0, 9, 2.0, 1))


def test_an_element_in_a_branch_is_added_to_where_the_sum_is_not_zero():
    before = """
    def f(a, a_1, n, k, y):
        for i in range(n):
            t = a_1[i]
            c = t > 0.0
            if c:
                a[k] += t
        return y
    """
    check(
        accumulate_in_scalars,
        before,
        """
        def f(a, a_1, n, k, y):
            a_sum = 0.0
            for i in range(n):
                t = a_1[i]
                c = t > 0.0
                if c:
                    a_sum += t
            t_1 = a_sum != 0.0
            if t_1:
                a[k] += a_sum
            return y
        """,
    )
    # element 9 does not exist, nor does an iteration that adds to it; not a number is added, too
    numbers = np.array([-1.0, -2.0]), np.array([1.0, np.nan, -1.0])
    check_results(
        accumulate_in_scalars, before, (np.ones(3), numbers[0], 2, 9, 2.0), (np.ones(3), numbers[1], 3, 2, 2.0)
    )


def test_one_test_is_enough_only_where_each_iteration_adds_to_all_elements():
    before = """
    def f(a, n, k, y, c):
        for i in range(n):
            a[1] += y
            if c:
                a[k] += y
        return y
    """
    runs = [(np.arange(3.0), n, k, 0.5, c) for n in (0, 1, 3) for k, c in ((0, True), (2, True), (9, False))]
    check_results(accumulate_in_scalars, before, *runs)


def test_each_loop_of_a_nest_has_the_sums_of_its_own_elements():
    before = """
    def f(A, a, n, k, y):
        for i in range(n):
            for j in range(k):
                t = a[j]
                A[i, 0] += t
                A[1, 1] += y
        return y
    """
    check(
        accumulate_in_scalars,
        before,
        """
        def f(A, a, n, k, y):
            A_sum = 0.0
            for i in range(n):
                A_sum_1 = 0.0
                for j in range(k):
                    t = a[j]
                    A_sum_1 += t
                    A_sum += y
                t_1 = 0 < k
                if t_1:
                    A[i, 0] += A_sum_1
            t_2 = A_sum != 0.0
            if t_2:
                A[1, 1] += A_sum
            return y
        """,
    )
    check_results(
        accumulate_in_scalars,
        before,
        *((np.ones((3, 3)), np.arange(4.0), n, k, 0.5) for n in (0, 1, 3) for k in (0, 1, 4)),
    )


@pytest.mark.parametrize("other", ["t = a[0]", "a[2] = 0.0", "a[k] += y", "k_1 = a.shape[0]"])
def test_other_elements_may_be_seen(other: str):
    text = f"""
def f(a, n, k, y):
    for i in range(n):
        {other}
        a[1] += y
    return y
"""
    check_results(accumulate_in_scalars, text, *((np.arange(4.0), n, k, 0.5) for n in (0, 1, 3) for k in (0, 1, -1)))


@pytest.mark.parametrize(
    "other",
    [
        "t = a[k]",
        "t = a[-1]",
        "a_1 = a[1:]\n        t = a_1[0]",
        "print(y)",
        "raise ValueError()",
        "if y > 0.0:\n            break",
    ],
)
def test_an_element_that_may_be_seen_stays(other: str):
    same(f"""
def f(a, n, k, y):
    for i in range(n):
        {other}
        a[1] += y
    return y
""")
