"""Additions of zero move to the side that has none."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.optimise.loops.zero_skipping import skip_zeros
from tests.optimise.comparison import check_results
from tests.optimise.reading import check, unchanged


def same(text: str) -> None:
    """The pass leaves a function as it is."""
    unchanged(skip_zeros, text)


def test_what_spreads_a_zero_moves_to_the_other_side():
    check(
        skip_zeros,
        before="""
        def f(a, a_1, c, i, y_bar, w):
            if c:
                t_bar = y_bar
            else:
                t_bar = 0.0
            t_1 = t_bar * w
            a[i] += t_1
            a_1[i] += t_bar
            return w
        """,
        after="""
        def f(a, a_1, c, i, y_bar, w):
            if c:
                t_bar = y_bar
                t_1 = t_bar * w
                a[i] += t_1
                a_1[i] += t_bar
            else:
                t_bar = 0.0
            return w
        """,
    )


@pytest.mark.parametrize(
    "use",
    [
        "a[i] += t_bar",  # one addition is not worth a branch
        "a[i] = t_bar\n    a_1[i] += t_bar",  # a zero is stored
        "a[i] += t_bar\n    a_1[i] += t_bar\n    s = t_bar + w\n    a[i] += s",
        "s = a[i]\n    a[i] += t_bar\n    a_1[i] += t_bar\n    a_1[0] = s",  # the element is read before
        "s = math.exp(t_bar)\n    a[i] += s\n    a_1[i] += t_bar",  # exp(0) is not 0
    ],
)
def test_other_uses_of_a_zero_stay(use: str):
    same(
        f"""
def f(a, a_1, c, i, y_bar, w):
    if c:
        t_bar = y_bar
    else:
        t_bar = 0.0
    {use}
    return w
""",
    )


def test_short_loops_that_spread_a_zero_move_too():
    check(
        skip_zeros,
        before="""
        def f(a, a_1, a_2, c, y_bar, w):
            if c:
                t_bar = y_bar
            else:
                t_bar = 0.0
            t_1 = t_bar / w
            for i in range(3):
                s = a_2[i]
                u = s * t_1
                v = u + u
                a[i] += v
                a_1[i] += u
            return w
        """,
        after="""
        def f(a, a_1, a_2, c, y_bar, w):
            if c:
                t_bar = y_bar
                t_1 = t_bar / w
                for i in range(3):
                    s = a_2[i]
                    u = s * t_1
                    v = u + u
                    a[i] += v
                    a_1[i] += u
            else:
                t_bar = 0.0
            return w
        """,
    )


@pytest.mark.parametrize(
    ("count", "before", "body"),
    [
        # a loop that may be long; another value of what it adds; what the loop reads changes before, or is read after
        ("k", "w = 2.0", "u = a_2[i]\n        v = u * t_bar\n        a[i] += v\n        a_1[i] += v"),
        ("3", "w = 2.0", "u = a_2[i]\n        v = u + t_bar\n        a[i] += v\n        a_1[i] += v"),
        ("3", "w = 2.0", "u = a_2[i]\n        v = u * t_bar\n        a[i] += v\n        a_1[i] = v"),
        ("3", "a_2[k] = 2.0", "u = a_2[i]\n        v = u * t_bar\n        a[i] += v\n        a_1[i] += v"),
        ("3", "w = a[k]", "u = a_2[i]\n        v = u * t_bar\n        a[i] += v\n        a_1[i] += v"),
        ("3", "w = 2.0", "z = a_2[i]\n        v = z * t_bar\n        a[i] += v\n        a_1[i] += v"),
    ],
)
def test_other_loops_stay(count: str, before: str, body: str):
    same(
        f"""
def f(a, a_1, a_2, c, k, y_bar):
    if c:
        t_bar = y_bar
    else:
        t_bar = 0.0
    {before}
    for i in range({count}):
        {body}
    return {"z" if "z =" in body else "k"}
""",
    )


def test_what_only_they_need_moves_with_them():
    check(
        skip_zeros,
        before="""
        def f(a, a_1, c, i, y_bar, w, x):
            if c:
                t_bar = y_bar
            else:
                t_bar = 0.0
            s = 2.0 * x
            r = s * w
            t_1 = r * t_bar
            a[i] += t_1
            a_1[i] += t_bar
            return w
        """,
        after="""
        def f(a, a_1, c, i, y_bar, w, x):
            if c:
                t_bar = y_bar
                s = 2.0 * x
                r = s * w
                t_1 = r * t_bar
                a[i] += t_1
                a_1[i] += t_bar
            else:
                t_bar = 0.0
            return w
        """,
    )


@pytest.mark.parametrize(
    ("passed", "result"),
    # what is needed elsewhere, too, or read from an array that changes between
    [("s = 2.0 * x\n    a_2[i] = s", "w"), ("s = 2.0 * x", "s"), ("s = a_2[i]\n    a_2[i] = x", "w")],
)
def test_what_others_need_stays(passed: str, result: str):
    same(
        f"""
def f(a, a_1, a_2, c, i, y_bar, w, x):
    if c:
        t_bar = y_bar
    else:
        t_bar = 0.0
    {passed}
    t_1 = s * t_bar
    a[i] += t_1
    a_1[i] += t_bar
    return {result}
""",
    )


SPREAD = """
def f(a, a_1, c, i, y_bar, w):
    if c:
        {one}
    else:
        {other}
    {then}
    t_1 = w * {name}
    a[i] += t_1
    a_1[i] += {name}
    return w
"""
USUAL = {"one": "t_bar = y_bar", "other": "t_bar = 0.0", "then": "pass", "name": "t_bar"}


@pytest.mark.parametrize("sides", [{}, {"one": "t_bar = 0.0", "other": "t_bar = y_bar"}])
def test_what_is_added_is_the_same(sides: dict[str, str]):
    runs = [(np.ones(3), np.ones(3), c, i, y, 0.5) for c in (True, False) for i in (0, -1) for y in (2.0, 0.0, np.inf)]
    check_results(skip_zeros, SPREAD.format(**USUAL | sides), *runs)


def test_two_adjoints_of_one_branch_each_move_to_their_side():
    before = """
    def f(a, a_1, c, i, y_bar):
        if c:
            t_bar = y_bar
            u_bar = 0.0
        else:
            t_bar = 0.0
            u_bar = y_bar
        a[i] += t_bar
        a_1[i] += u_bar
        a[0] += u_bar
        a_1[0] += t_bar
        return y_bar
    """
    after = """
    def f(a, a_1, c, i, y_bar):
        if c:
            t_bar = y_bar
            u_bar = 0.0
            a[i] += t_bar
            a_1[0] += t_bar
        else:
            t_bar = 0.0
            u_bar = y_bar
            a_1[i] += u_bar
            a[0] += u_bar
        return y_bar
    """
    check(skip_zeros, before, after)
    check_results(skip_zeros, before, *((np.ones(3), np.ones(3), c, i, 2.0) for c in (True, False) for i in (0, 2)))


@pytest.mark.parametrize(
    "other",
    [
        {"other": "t_bar = 1.0"},
        {"one": "t_bar = 0.0"},  # on both sides
        {"then": "t_bar = y_bar"},  # a third value
        {"one": "t = y_bar", "other": "t = 0.0", "name": "t"},  # no adjoint
        {"other": "raise ValueError()"},
        {"one": "t_bar = y_bar\n        raise ValueError()"},
        {"then": "w = y_bar"},  # a factor with two values
        {"then": "for j in range(2):\n        a[j] = y_bar"},
        {"then": "if c:\n        a[i] = y_bar"},
    ],
)
def test_adjoints_that_are_not_zero_on_one_side_alone_stay(other: dict[str, str]):
    same(SPREAD.format(**USUAL | other))
