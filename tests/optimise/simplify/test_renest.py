"""Temporaries back in the expressions that use them."""

from __future__ import annotations

from tapec.optimise.simplify.renest import renest
from tests.optimise.reading import check


def test_a_temporary_goes_into_its_only_use():
    check(
        renest,
        before="""
        def f(a, x, i):
            t = a[i]
            t_1 = t * x
            t_2 = t_1 + x
            return t_2
        """,
        after="""
        def f(a, x, i):
            return a[i] * x + x
        """,
    )


def test_a_variable_of_the_users_stays():
    check(
        renest,
        before="""
        def f(x):
            y = x * x
            t = y + x
            return t
        """,
        after="""
        def f(x):
            y = x * x
            return y + x
        """,
        words="y = x * x",
    )


def test_what_is_used_twice_stays():
    check(
        renest,
        before="""
        def f(x):
            t = x * x
            return t, t + x
        """,
        after="""
        def f(x):
            t = x * x
            return t, t + x
        """,
    )


def test_a_load_does_not_move_past_a_store():
    check(
        renest,
        before="""
        def f(a, x, i, j):
            t = a[i]
            a[j] = x
            return t + x
        """,
        after="""
        def f(a, x, i, j):
            t = a[i]
            a[j] = x
            return t + x
        """,
    )


def test_nothing_moves_past_a_new_value_of_an_operand():
    check(
        renest,
        before="""
        def f(x):
            s = x
            t = s * s
            s = x + x
            return t + s
        """,
        after="""
        def f(x):
            s = x
            t = s * s
            s = x + x
            return t + s
        """,
    )


def test_nothing_moves_into_a_loop():
    check(
        renest,
        before="""
        def f(x, n):
            t = x * x
            s = x
            for i in range(n):
                s = s + t
            return s
        """,
        after="""
        def f(x, n):
            t = x * x
            s = x
            for i in range(n):
                s += t
            return s
        """,
    )


def test_neighbouring_subscripts_are_written_in_place():
    check(
        renest,
        before="""
        def f(a, n, x):
            for i in range(n):
                k = i + 1
                a[k] += x
                a[i] += x
                a[k] += x
            return x
        """,
        after="""
        def f(a, n, x):
            for i in range(n):
                a[i + 1] += x
                a[i] += x
                a[i + 1] += x
            return x
        """,
    )


def test_minus_signs_stand_where_a_person_puts_them():
    check(
        renest,
        before="""
        def f(a, x, y, i):
            t = -x
            t_1 = t * y
            t_2 = t_1 / x
            t_3 = y + t_2
            t_4 = -y
            a[i] += t_4
            return t_3
        """,
        after="""
        def f(a, x, y, i):
            a[i] -= y
            return y - x * y / x
        """,
    )
    check(
        renest,
        before="""
        def f(x, y):
            t = -x
            t_1 = -y
            t_2 = t * t_1
            t_3 = -x
            t_4 = t_3 / y
            t_5 = -t_4
            t_6 = t_2 + t_5
            return t_6
        """,
        after="""
        def f(x, y):
            return x * y + x / y
        """,
    )


def test_an_update_of_an_element_is_written_as_one():
    check(
        renest,
        before="""
        def f(a, x, i):
            t = a[i]
            t_1 = t + x
            a[i] = t_1
            return x
        """,
        after="""
        def f(a, x, i):
            a[i] += x
            return x
        """,
    )
