"""Expressions as a person writes them."""

from __future__ import annotations

from tapec.optimise.simplify.renest_to_read import renest_to_read
from tests.optimise.reading import check, unchanged


def test_an_element_is_written_wherever_it_is_read():
    check(
        renest_to_read,
        before="""
        def f(a, i, x_bar):
            t = a[i]
            t_1 = t * t
            x_bar_1 = x_bar + t_1
            return x_bar_1
        """,
        after="""
        def f(a, i, x_bar):
            x_bar_1 = x_bar + a[i] * a[i]
            return x_bar_1
        """,
    )


def test_an_element_that_is_overwritten_keeps_its_name_everywhere():
    check(
        renest_to_read,
        before="""
        def f(a, i, x):
            t = a[i]
            u = t * x
            a[i] = u
            return t
        """,
        after="""
        def f(a, i, x):
            t = a[i]
            a[i] = t * x
            return t
        """,
    )


def test_what_is_added_to_an_adjoint_is_one_sum_with_counted_terms():
    check(
        renest_to_read,
        before="""
        def f(x, y, x_bar):
            t = x * y
            x_bar_1 = x_bar + t
            x_bar_2 = x_bar_1 + t
            t_1 = y * x
            x_bar_3 = x_bar_2 + t_1
            return x_bar_3
        """,
        after="""
        def f(x, y, x_bar):
            x_bar_3 = x_bar + 3.0 * x * y
            return x_bar_3
        """,
    )


def test_integers_are_not_doubled_by_a_float():
    check(
        renest_to_read,
        before="""
        def f(a, i):
            n = i + i
            t = a[n]
            return t
        """,
        after="""
        def f(a, i):
            return a[i + i]
        """,
    )


def test_what_is_kept_has_a_name():
    unchanged(
        renest_to_read,
        """
        def f(a, i, x):
            t = x + 1.0
            a[i] = t
            return t
        """,
    )


def test_a_following_index_may_have_a_name_and_be_written_out():
    """Which has no end if it is asked for again until it is one or the other."""
    check(
        renest_to_read,
        before="""
        def f(a, number_of_values_in_front):
            j = number_of_values_in_front + 1
            a[j] = 1.0
            return j
        """,
        after="""
        def f(a, number_of_values_in_front):
            j = number_of_values_in_front + 1
            a[j] = 1.0
            return number_of_values_in_front + 1
        """,
        words="number_of_values_in_front: int64",
    )
