"""Additions that scatter get loops of their own."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.optimise.loops.loop_distribution import distribute
from tests.optimise.comparison import check_results
from tests.optimise.reading import check, unchanged


def same(text: str) -> None:
    """The pass leaves a function as it is."""
    unchanged(distribute, text)


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
        f"""
def f(a, n, s):
    for i in {loop}:
{body}
        t = u * s
        a[k] += t
    return s
""",
    )
