"""Copies, constants and repeated work."""

from __future__ import annotations

from tapec.optimise.simplify.dead_code import drop_dead_code
from tapec.optimise.simplify.value_numbering import number_values
from tests.optimise.reading import check


def test_copies_vanish():
    check(
        number_values,
        before="""
        def f(x):
            t = x
            u = t * t
            v = u
            return v
        """,
        after="""
        def f(x):
            u = x * x
            return u
        """,
    )


def test_an_adjoint_begins_with_its_first_contribution():
    check(
        number_values,
        before="""
        def f(x):
            t = x * x
            x_bar = 0.0
            x_bar += t
            x_bar += t
            return x_bar
        """,
        after="""
        def f(x):
            t = x * x
            x_bar = t + t
            return x_bar
        """,
    )


def test_a_sum_of_the_users_keeps_the_sign_of_zero():
    check(
        number_values,
        before="""
        def f(x):
            s = 0.0
            s += x
            return s
        """,
        after="""
        def f(x):
            s = 0.0 + x
            return s
        """,
    )


def test_work_is_done_once():
    check(
        number_values,
        before="""
        def f(a, i):
            t = a[i]
            u = a[i]
            s = t * u
            return s
        """,
        after="""
        def f(a, i):
            u = a[i]
            s = u * u
            return s
        """,
    )


def test_a_store_may_change_what_a_load_finds():
    text = """
        def f(a, i, j, x):
            t = a[i]
            a[j] = x
            u = a[i]
            s = t * u
            return s
        """
    check(number_values, text, text)


def test_a_store_into_a_view_changes_its_owner():
    text = """
        def f(a, i, x):
            t = a[i]
            a_1 = a[1:]
            a_1[i] = x
            u = a[i]
            s = t * u
            return s
        """
    check(number_values, text, text)


def test_a_load_finds_what_was_stored():
    check(
        number_values,
        before="""
        def f(a, i, x):
            a[i] = x
            t = a[i]
            s = t * t
            return s
        """,
        after="""
        def f(a, i, x):
            a[i] = x
            s = x * x
            return s
        """,
    )


def test_what_an_element_is_already_is_not_stored():
    text = """
        def f(a, a_1, i, j):
            t = a[i]
            a_1[i] = t
            {between}
            a[i] = t
            a_1[i] = t
            return t
        """
    check(
        number_values, text.format(between="pass"), "def f(a, a_1, i, j):\n    t = a[i]\n    a_1[i] = t\n    return t\n"
    )
    other = text.format(between="a[j] = 1.0")
    check(number_values, other, other.replace("            a_1[i] = t\n            return", "            return"))


def test_a_loop_carries_what_changes():
    check(
        number_values,
        before="""
        def f(a, x):
            s = x
            w = x
            n = a.shape[0]
            for i in range(n):
                s = s + w
                w = x
            return s
        """,
        after="""
        def f(a, x):
            n = a.shape[0]
            s = x
            for i in range(n):
                s_2 = s + x
                s = s_2
            return s
        """,
    )


def test_values_that_change_places_are_kept_apart():
    check(
        number_values,
        before="""
        def f(x, y, n):
            u = x
            v = y
            for i in range(n):
                w = u
                u = v
                v = w
            return u
        """,
        after="""
        def f(x, y, n):
            u = x
            v = y
            for i in range(n):
                u, v = v, u
            return u
        """,
        again=False,  # the name of the value that is kept gets another number
    )


def test_a_known_condition_leaves_one_branch():
    check(
        number_values,
        before="""
        def f(x):
            c = True
            if c:
                y = x
            else:
                y = x * x
            return y
        """,
        after="""
        def f(x):
            return x
        """,
    )


def test_a_condition_on_sums_of_numbers_is_known():
    check(
        number_values,
        before="""
        def f(x):
            s = 0.0
            s = s + 1.0
            c = s < 2.0
            if c:
                y = x + s
            else:
                y = x * s
            return y
        """,
        after="""
        def f(x):
            y = x + 1.0
            return y
        """,
    )


def test_branches_are_merged_where_they_differ():
    check(
        number_values,
        before="""
        def f(c, x):
            if c:
                y = x * x
                z = x
            else:
                y = x + x
                z = x
            w = y * z
            return w
        """,
        after="""
        def f(c, x):
            if c:
                y = x * x
                y_3 = y
            else:
                y_2 = x + x
                y_3 = y_2
            w = y_3 * x
            return w
        """,
    )


def test_the_same_test_again_tells_which_value_it_is():
    check(
        lambda function: drop_dead_code(number_values(function)),
        before="""
        def f(c, x):
            if c:
                y = x * x
            else:
                y = x + x
            z = x
            if c:
                z = y * y
            return z
        """,
        after="""
        def f(c, x):
            if c:
                y = x * x
            if c:
                z = y * y
                z_2 = z
            else:
                z_2 = x
            return z_2
        """,
    )


def test_the_values_at_each_exit_are_copied():
    check(
        number_values,
        before="""
        def f(x, n):
            s = x
            for i in range(n):
                s = s * x
                c = s > x
                if c:
                    s = x + x
                    break
            return s
        """,
        after="""
        def f(x, n):
            s = x
            for i in range(n):
                s_2 = s * x
                c = s_2 > x
                if c:
                    s_3 = x + x
                    s = s_3
                    break
                s = s_2
            return s
        """,
    )


def test_a_test_made_again_inside_its_branch_is_known():
    check(
        number_values,
        before="""
        def f(i, j, x):
            c = i != j
            if c:
                c_1 = j == i
                if c_1:
                    x = x * x
                else:
                    x = x + x
            return x
        """,
        after="""
        def f(i, j, x):
            c = i != j
            if c:
                x_2 = x + x
                x_3 = x_2
            else:
                x_3 = x
            return x_3
        """,
    )
