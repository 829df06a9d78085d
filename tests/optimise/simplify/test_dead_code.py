"""What nobody reads."""

from __future__ import annotations

from tapec.optimise.simplify.dead_code import drop_dead_code
from tests.optimise.reading import check


def test_an_update_does_not_keep_itself_alive():
    check(
        drop_dead_code,
        before="""
        def f(x, n):
            s = 0.0
            y = x * x
            for i in range(n):
                s = s + x
            return y
        """,
        after="""
        def f(x, n):
            y = x * x
            return y
        """,
    )


def test_stores_into_arguments_stay():
    check(
        drop_dead_code,
        before="""
        def f(a, x, n):
            a[0] = x
            a_1 = np.zeros(n)
            a_1[0] = x
            return x
        """,
        after="""
        def f(a, x, n):
            a[0] = x
            return x
        """,
    )


def test_a_store_through_a_view_of_something_read_stays():
    check(
        drop_dead_code,
        before="""
        def f(x, n):
            a = np.zeros(n)
            a_1 = a[1:]
            a_1[0] = x
            y = a[1]
            return y
        """,
        after="""
        def f(x, n):
            a = np.zeros(n)
            a_1 = a[1:]
            a_1[0] = x
            y = a[1]
            return y
        """,
    )


def test_what_an_iteration_stores_last_in_its_own_element_is_needed_after_the_loop_only():
    check(
        drop_dead_code,
        before="""
        def f(a, n):
            a_1 = np.zeros(n)
            s = 0.0
            for i in range(n):
                t = a_1[i]
                a_1[i] = 0.0
                s = s + t
            return s
        """,
        after="""
        def f(a, n):
            a_1 = np.zeros(n)
            s = 0.0
            for i in range(n):
                t = a_1[i]
                s += t
            return s
        """,
    )


def test_an_element_that_the_next_iteration_reads_is_kept():
    check(
        drop_dead_code,
        before="""
        def f(x, n):
            a_1 = np.zeros(n)
            s = 0.0
            for i in range(n):
                t = a_1[0]
                a_1[i] = x
                s = s + t
            return s
        """,
        after="""
        def f(x, n):
            a_1 = np.zeros(n)
            s = 0.0
            for i in range(n):
                t = a_1[0]
                a_1[i] = x
                s += t
            return s
        """,
    )


def test_popping_stays():
    check(
        drop_dead_code,
        before="""
        def f(x, n, u_stack):
            t = u_stack.pop()
            y = u_stack.pop()
            return y
        """,
        after="""
        def f(x, n, u_stack):
            t = u_stack.pop()
            y = u_stack.pop()
            return y
        """,
    )
