"""One name for the values of one variable."""

from __future__ import annotations

from tapec.optimise.simplify.variable_names import coalesce, coalesce_carried
from tests.optimise.reading import check


def test_a_loop_updates_its_variable():
    check(
        coalesce,
        before="""
        def f(x, n):
            s = 0.0
            for i in range(n):
                s_1 = s + x
                s = s_1
            return s
        """,
        after="""
        def f(x, n):
            s = 0.0
            for i in range(n):
                s += x
            return s
        """,
        words="s = s + x",
    )


def test_values_needed_together_keep_two_names():
    check(
        coalesce,
        before="""
        def f(x, n):
            s = 0.0
            r = 0.0
            for i in range(n):
                s_1 = s + x
                r = r + s
                s = s_1
            return s, r
        """,
        after="""
        def f(x, n):
            s = 0.0
            r = 0.0
            for i in range(n):
                s_1 = s + x
                r += s
                s = s_1
            return s, r
        """,
        words="s r",
    )


def test_branches_set_one_variable():
    check(
        coalesce,
        before="""
        def f(c, x):
            if c:
                y = x * x
                y_2 = y
            else:
                y_1 = x + x
                y_2 = y_1
            return y_2
        """,
        after="""
        def f(c, x):
            if c:
                y = x * x
            else:
                y = x + x
            return y
        """,
        words="y",
    )


def test_two_variables_of_the_users_stay_two():
    check(
        coalesce,
        before="""
        def f(x, n):
            y = x
            for i in range(n):
                z = y * x
                y = z
            return y
        """,
        after="""
        def f(x, n):
            y = x
            for i in range(n):
                z = y * x
                y = z
            return y
        """,
        words="y z",
    )


def test_temporaries_are_called_after_what_they_hold():
    check(
        coalesce,
        before="""
        def f(x):
            t_7 = x * x
            t_3 = t_7 + x
            return t_3, t_7
        """,
        after="""
        def f(x):
            product = x * x
            total = product + x
            return total, product
        """,
    )


def test_a_loop_that_only_leaves_its_variable_stays():
    check(
        coalesce,
        before="""
        def f(n):
            k = 0
            for k_1 in range(n):
                k = k_1
            return k
        """,
        after="""
        def f(n):
            k = 0
            for k in range(n):
                pass
            return k
        """,
        words="k",
        again=False,
    )


def test_what_loops_in_loops_take_and_hand_on_has_one_name():
    check(
        coalesce_carried,
        before="""
        def f(a, A, n, m):
            s = 0.0
            for j in range(n):
                s_1 = s
                for i in range(m):
                    t = A[j, i]
                    s_2 = s_1 + t
                    s_1 = s_2
                s = s_1
            return s
        """,
        after="""
        def f(a, A, n, m):
            s = 0.0
            for j in range(n):
                for i in range(m):
                    t = A[j, i]
                    s_2 = s + t
                    s = s_2
            return s
        """,
    )


def test_a_value_that_is_needed_after_the_loop_inside_keeps_its_name():
    text = """
    def f(a, A, n, m):
        s = 0.0
        for j in range(n):
            s_1 = s
            for i in range(m):
                t = A[j, i]
                s_2 = s_1 + t
                s_1 = s_2
            a[j] = s
            s = s_1
        return s
    """
    check(coalesce_carried, text, text)
