"""Passes for speed: what they turn programs into, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.loops.loop_distribution import distribute
from tapec.optimise.loops.loop_reversal import reverse_loops
from tapec.optimise.loops.scalar_accumulation import accumulate_in_scalars
from tapec.optimise.loops.store_forwarding import forward_stores
from tests import oracles
from tests.optimise.reading import check


def same(change, text: str) -> None:
    """A pass leaves a function as it is."""
    check(change, text, text)


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
        "s_1 = s * x\ns = s_1",  # not a sum
        "s_1 = s + x\na[i] = s_1\ns = s_1",  # a partial sum is seen
        "print(i)",
        "x_stack.append(x)",
        "t = y_stack.pop()",
        "k = i - 3\na[k] = x",  # a[-1] may be a[n - 1]
    ],
)
def test_a_loop_keeps_its_direction_where_iterations_depend_on_each_other(iteration: str):
    body = "\n".join(f"        {line}" for line in iteration.splitlines())
    same(
        reverse_loops,
        f"""
def f(a, x, j, n, s, x_stack, y_stack):
    for i in range(n, -1, -1):
{body}
    return s
""",
    )


def test_what_the_last_iteration_leaves_fixes_the_order():
    same(
        reverse_loops,
        """
        def f(a, n):
            for i in range(n, -1, -1):
                t = a[i]
            return t
        """,
    )


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


def test_a_scattered_addition_gets_a_loop_of_its_own():
    check(
        distribute,
        before="""
        def f(a, a_1, n, s):
            for i in range(1, n):
                j = i - 1
                u = a_1[i]
                t = u * s
                a[i] += t
                a[j] += t
            return s
        """,
        after="""
        def f(a, a_1, n, s):
            n_1 = max(n, 0)
            t_kept = np.empty(n_1)
            for i in range(1, n):
                j = i - 1
                u = a_1[i]
                t = u * s
                a[i] += t
                t_kept[i] = t
            for i_1 in range(1, n):
                t_1 = t_kept[i_1]
                t_2 = i_1 - 1
                a[t_2] += t_1
            return s
        """,
    )


@pytest.mark.parametrize(
    ("loop", "read"),
    [
        ("range(1, n)", "j = i - 1\nk = i + 1\nu = a[j]"),  # a later iteration reads what this one added to
        ("range(n, 0, -1)", "j = i + 1\nk = i - 1\nu = a[j]"),
        ("range(n)", "k = i - 1\nu = a[i]"),  # a[-1] may be any element
    ],
)
def test_an_addition_stays_where_a_later_iteration_may_see_it(loop: str, read: str):
    body = "\n".join(f"        {line}" for line in read.splitlines())
    same(
        distribute,
        f"""
def f(a, n, s):
    for i in {loop}:
{body}
        t = u * s
        a[k] += t
    return s
""",
    )


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
        accumulate_in_scalars,
        f"""
def f(a, n, k, y):
    for i in range(n):
        {other}
        a[k] += y
    return y
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
            oracles.check(scratch_of_any_size, (x, size), wrt=(0,))
        with pytest.raises(ValueError, match="negative dimensions"):
            tapec.grad(scratch_of_any_size)(x, 1)
