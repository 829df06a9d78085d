"""Loops that count down run upward where the order does not matter."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.optimise.loops.loop_reversal import reverse_loops
from tests.optimise.comparison import check_results
from tests.optimise.reading import check, unchanged


def same(text: str) -> None:
    """The pass leaves a function as it is."""
    unchanged(reverse_loops, text)


def test_a_loop_runs_upward_if_each_iteration_has_elements_of_its_own():
    check(
        reverse_loops,
        before="""
        def f(a, a_bar, n, y):
            k = n - 1
            total = 0.0
            for i in range(k, -1, -1):
                t = a[i]
                a_bar[i] += t * y
                total_1 = total + t
                total = total_1
            return total
        """,
        after="""
        def f(a, a_bar, n, y):
            k = n - 1
            total = 0.0
            for i in range(n):
                t = a[i]
                a_bar[i] += t * y
                total_1 = total + t
                total = total_1
            return total
        """,
    )


@pytest.mark.parametrize(
    "iteration",
    [
        "a[i] = x\nt = a[j]",  # another iteration's element
        "k = i - 1\nt = a[k]\na[i] = t",  # the next iteration reads what this one stores
        "r_1 = r * x\nr = r_1",  # not a sum
        "r_1 = r + x\na[i] = r_1\nr = r_1",  # a partial sum is seen
        "print(i)",
        "x_stack.append(x)",
        "t = y_stack.pop()",
        "k = i - 3\na[k] = x",  # a[-1] may be a[n - 1]
    ],
)
def test_a_loop_keeps_its_direction_where_iterations_depend_on_each_other(iteration: str):
    body = "\n".join(f"        {line}" for line in iteration.splitlines())
    same(
        f"""
def f(a, x, j, n, s, x_stack, y_stack):
    r = s
    for i in range(n, -1, -1):
{body}
    return r
""",
    )


def test_what_the_last_iteration_leaves_fixes_the_order():
    same(
        """
        def f(a, n):
            for i in range(n, -1, -1):
                t = a[i]
            return t
        """,
    )


@pytest.mark.parametrize(
    ("first", "stop", "loop", "computed"),
    [
        ("2", "-1", "range(3)", None),
        ("n", "0", "range(1, t)", "t = n + 1"),
        ("k = n - 1", "-1", "range(n)", None),
        ("k = n - 3", "-1", "range(t)", "t = n - 2"),
        ("k = n + 1", "-1", "range(t)", "t = k + 1"),
        ("k = n - j", "-1", "range(t)", "t = k + 1"),
        ("k = 9 - n", "-1", "range(t)", "t = k + 1"),
    ],
)
def test_bounds_are_what_they_were_computed_from(first: str, stop: str, loop: str, computed: str | None):
    definition = f"    {first}\n" if "=" in first else ""
    text = """
def f(a, x, j, n):
{}    for i in {}:
        a[i] = x
    return x
"""
    start = "k" if definition else first
    before = text.format(definition, f"range({start}, {stop}, -1)")
    check(reverse_loops, before, text.format(definition + (f"    {computed}\n" if computed else ""), loop))
    check_results(reverse_loops, before, *((np.zeros(10), 2.0, 1, n) for n in range(6)))


def test_a_name_with_several_values_does_not_become_a_bound():
    before = """
    def f(a, x, j, n):
        n_1 = j
        k = n_1 - 1
        n_1 = n
        for i in range(k, -1, -1):
            a[i] = x
        return x
    """
    check_results(reverse_loops, before, (np.zeros(8), 2.0, 3, 5), (np.zeros(8), 2.0, 0, 5))


def test_an_outer_loop_is_turned_where_an_inner_one_cannot_be():
    check(
        reverse_loops,
        before="""
        def f(A, x, j, n):
            for i in range(n, -1, -1):
                s = x
                for k in range(j, -1, -1):
                    A[i, k] = s
                    s_1 = s * x
                    s = s_1
            return x
        """,
        after="""
        def f(A, x, j, n):
            t = n + 1
            for i in range(t):
                s = x
                for k in range(j, -1, -1):
                    A[i, k] = s
                    s_1 = s * x
                    s = s_1
            return x
        """,
    )


@pytest.mark.parametrize("loop", ["range(n)", "range(n, 0, -2)", "range(n, 0, j)", "range(n, j, -1)"])
def test_other_loops_stay(loop: str):
    # upward already, not each number, a direction that only the run knows, numbers that may be negative
    same(f"""
def f(a, x, j, n):
    for i in {loop}:
        a[i] = x
    return x
""")
