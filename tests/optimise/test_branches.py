"""Plain branches."""

from __future__ import annotations

from tapec.optimise.clean.branches import straighten
from tests.optimise.reading import check


def test_an_empty_branch_is_turned_round():
    check(
        straighten,
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
        straighten,
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
        straighten,
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
