"""Plain branches."""

from __future__ import annotations

import pytest

from tapec.optimise.simplify.straighten import straighten_branches
from tests.optimise.reading import check, read


def test_an_empty_branch_is_turned_round():
    check(
        straighten_branches,
        before="""
        def f(x, y):
            if x < y:
                pass
            else:
                x = y
            return x
        """,
        after="""
        def f(x, y):
            if not x < y:
                x = y
            return x
        """,
    )


def test_what_follows_a_branch_that_leaves_is_not_indented():
    check(
        straighten_branches,
        before="""
        def f(x, y):
            if x == y:
                raise ValueError()
            else:
                x = y
            return x
        """,
        after="""
        def f(x, y):
            if x == y:
                raise ValueError()
            x = y
            return x
        """,
    )


def test_a_loop_that_begins_with_its_test_is_a_while():
    check(
        straighten_branches,
        before="""
        def f(x, y):
            while True:
                if x < y:
                    x = x + x
                else:
                    break
            return x
        """,
        after="""
        def f(x, y):
            while x < y:
                x += x
            return x
        """,
    )


def test_branches_on_one_condition_are_one():
    check(
        straighten_branches,
        before="""
        def f(x, y, n):
            if x < y:
                u = y
            else:
                u = x
            if x < y:
                if n == 0:
                    v = u
                if n == 0:
                    v = v * u
            else:
                v = x
            w = u * v
            return w
        """,
        after="""
        def f(x, y, n):
            if x < y:
                u = y
                if n == 0:
                    v = u
                    v *= u
            else:
                u = x
                v = x
            w = u * v
            return w
        """,
    )


@pytest.mark.parametrize(
    ("test", "body"),
    [
        ("x < y", "x = y"),
        ("x < y", "for k in range(n):\n                x = x + 1.0"),
        ("a[0] < y", "b[0] = y"),
        ("x < y", "if n == 0:\n                raise ValueError()"),
    ],
)
def test_others_stay_apart(test: str, body: str):
    text = f"""
    def f(x, y, n, a, b):
        if {test}:
            {body}
        if {test}:
            y = 0.0
        return y
    """
    function = read(text)
    assert straighten_branches(function) == function
