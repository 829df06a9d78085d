"""Loops end when the adjoint that they spread is used up."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.optimise.loops.early_exit import exit_early
from tests.optimise.comparison import check_results
from tests.optimise.reading import check, unchanged


def same(text: str) -> None:
    """The pass leaves a function as it is."""
    unchanged(exit_early, text)


def test_a_loop_ends_where_its_adjoint_does():
    check(
        exit_early,
        before="""
        def f(a, a_1, n, y_bar):
            t_bar = y_bar
            for i in range(n):
                s = a_1[i]
                c = s > 0.0
                if c:
                    a[i] += t_bar
                    t_bar_1 = 0.0
                else:
                    t_bar_1 = t_bar
                t_bar = t_bar_1
            return t_bar
        """,
        after="""
        def f(a, a_1, n, y_bar):
            t_bar = y_bar
            for i in range(n):
                s = a_1[i]
                c = s > 0.0
                if c:
                    a[i] += t_bar
                    t_bar = 0.0
                    break
            return t_bar
        """,
    )


def test_a_loop_in_a_loop_does_not_begin_with_nothing_to_spread():
    check(
        exit_early,
        before="""
        def f(a, a_1, k, n):
            for j in range(k):
                t_bar = a_1[j]
                for i in range(n):
                    s = a_1[i]
                    c = s > 0.0
                    if c:
                        a[i] += t_bar
                        t_bar_1 = 0.0
                    else:
                        t_bar_1 = t_bar
                    t_bar = t_bar_1
            return k
        """,
        after="""
        def f(a, a_1, k, n):
            for j in range(k):
                t_bar = a_1[j]
                t = t_bar != 0.0
                if t:
                    for i in range(n):
                        s = a_1[i]
                        c = s > 0.0
                        if c:
                            a[i] += t_bar
                            t_bar = 0.0
                            break
            return k
        """,
    )


SUMS = """
def f(a, a_1, n, y_bar):
    t_bar = y_bar
    x_bar = 0.0
    for i in range(n):
        s = a_1[i]
        {before}
        c = s > 0.0
        if c:
            w = s * t_bar
            a[i] += w
            {first}
            z = x_bar - w
            {last}
            x_bar_1 = {sum}
            t_bar_1 = 0.0
        else:
            x_bar_1 = x_bar
            t_bar_1 = t_bar
        x_bar = x_bar_1
        t_bar = t_bar_1
    return x_bar
"""


def test_a_loop_that_adds_to_a_sum_ends_too():
    plain = {"before": "pass", "first": "pass", "last": "pass", "sum": "z"}
    check(
        exit_early,
        before=SUMS.format(**plain),
        after="""
        def f(a, a_1, n, y_bar):
            t_bar = y_bar
            x_bar = 0.0
            for i in range(n):
                s = a_1[i]
                c = s > 0.0
                if c:
                    w = s * t_bar
                    a[i] += w
                    z = x_bar - w
                    x_bar = z
                    t_bar = 0.0
                    break
            return x_bar
        """,
    )


@pytest.mark.parametrize(
    "other",
    [
        # a sum that is read, multiplied, added to otherwise, or something else than the sum in the end
        {"before": "s = x_bar * 2.0"},
        {"first": "a[i] += x_bar"},
        {"first": "x_bar = s * 2.0"},
        {"last": "z *= s"},
        {"last": "z -= s"},
        {"sum": "w"},
        {"sum": "x_bar"},
    ],
)
def test_a_loop_that_does_more_with_a_sum_runs_to_its_end(other: dict[str, str]):
    plain = {"before": "r = s * 2.0", "first": "v = s * 2.0", "last": "u = s * 2.0", "sum": "z"}
    same(SUMS.format(**plain | other))


@pytest.mark.parametrize(
    ("before", "taken"),
    [
        ("s = x_stack.pop()", "a[i] += t_bar"),  # every iteration takes one
        ("s = t_bar * 2.0", "a[i] += s"),
        ("s = a_1[i]", "a[i] = t_bar"),
        ("s = a_1[i]", "a[i] += s"),
    ],
)
def test_a_loop_that_does_more_runs_to_its_end(before: str, taken: str):
    same(
        f"""
def f(a, a_1, n, y_bar, x_stack):
    t_bar = y_bar
    for i in range(n):
        {before}
        c = s > 0.0
        if c:
            {taken}
            t_bar_1 = 0.0
        else:
            t_bar_1 = t_bar
        t_bar = t_bar_1
    return t_bar
""",
    )


PLAIN = """
def f(a, a_1, n, y_bar{more}):
    t_bar = y_bar
    for i in range(n):
        s = a_1[i]
        c = s > 0.0
        if c:
            a[i] += t_bar
            t_bar_1 = {used}
        else:
            {other}
            t_bar_1 = {kept}
        {after}
        t_bar = t_bar_1
    return {result}
"""
USUAL = {
    "more": "",
    "used": "0.0",
    "other": "pass",
    "kept": "t_bar",
    "after": "pass",
    "result": "t_bar",
}


@pytest.mark.parametrize(
    "text", [PLAIN.format(**USUAL), SUMS.format(before="r = s", first="r_1 = r", last="r_2 = r", sum="z")]
)
def test_a_loop_that_ends_early_leaves_the_same(text: str):
    text = (
        text.replace("r = s\n", "r = s + 1.0\n").replace("r_1 = r", "r_1 = r * 2.0").replace("r_2 = r", "r_2 = r / 2.0")
    )
    signs = [np.array(one) for one in ([], [1.0], [-1.0], [-1.0, 2.0, 3.0], [1.0, 1.0, -1.0], [-1.0, -1.0, -1.0])]
    check_results(exit_early, text, *((np.ones(len(one)), one, len(one), 3.0) for one in signs))
    check_results(exit_early, text, (np.ones(3), signs[3], 3, 0.0), (np.ones(3), signs[3], 3, np.nan))


@pytest.mark.parametrize(
    "other",
    [
        {"used": "1.0"},
        {"used": "y_bar"},
        {"kept": "y_bar"},
        {"kept": "0.0"},
        {"other": "a[0] += y_bar"},
        {"after": "a[0] += y_bar"},
        {"result": "s"},  # of the last iteration, as the three that follow
        {"result": "i"},
        {"result": "t_bar_1"},
        {"other": "r = s * 2.0", "result": "t_bar"},
    ],
)
def test_a_loop_without_a_last_use_of_its_adjoint_runs_to_its_end(other: dict[str, str]):
    same(PLAIN.format(**USUAL | other))


def test_a_loop_without_a_branch_or_without_an_adjoint_stays():
    same("""
    def f(a, n, y_bar):
        for i in range(n):
            c = y_bar > 0.0
            if c:
                a[i] += y_bar
        for j in range(n):
            a[j] += y_bar
        return y_bar
    """)
