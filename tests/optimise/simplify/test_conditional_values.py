"""Values that a branch chooses, as conditional expressions."""

from __future__ import annotations

from tapec.optimise.simplify.conditional_values import choose_values
from tests.optimise.reading import check, unchanged


def test_a_choice_of_two_values_is_one_statement():
    check(
        choose_values,
        before="""
        def f(x, y, c):
            if c:
                z = x
            else:
                z = y + x
            return z
        """,
        after="""
        def f(x, y, c):
            z = x if c else y + x
            return z
        """,
    )


def test_more_than_two_sides_stay_branches():
    unchanged(
        choose_values,
        """
        def f(x, y, c, c_1):
            if c:
                z = x
            elif c_1:
                z = y
            else:
                z = x + y
            return z
        """,
    )


def test_long_values_stay_branches():
    unchanged(
        choose_values,
        """
        def f(x, y, c):
            if c:
                z = x * y + x * x + y * y + x
            else:
                z = x * y + x + y * y
            return z
        """,
    )


def test_sides_that_do_more_stay_branches():
    unchanged(
        choose_values,
        """
        def f(x, y, c):
            z = x
            if c:
                z = y
                x = z + y
            else:
                z = x
            return z * x
        """,
    )
