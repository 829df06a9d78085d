"""Allocations and views where they are used."""

from __future__ import annotations

from tapec.optimise.simplify.allocation_sinking import sink_allocations
from tests.optimise.reading import check


def test_an_allocation_moves_down_to_its_first_use():
    check(
        sink_allocations,
        before="""
        def f(x, n):
            a = np.zeros(n)
            y = x * x
            for i in range(n):
                a[i] = y
            return a
        """,
        after="""
        def f(x, n):
            y = x * x
            a = np.zeros(n)
            for i in range(n):
                a[i] = y
            return a
        """,
    )


def test_a_view_takes_what_it_views_with_it():
    check(
        sink_allocations,
        before="""
        def f(x, n):
            a = np.zeros(n)
            a_1 = a[1:]
            y = x * x
            a_1[0] = y
            return a
        """,
        after="""
        def f(x, n):
            y = x * x
            a = np.zeros(n)
            a_1 = a[1:]
            a_1[0] = y
            return a
        """,
    )


def test_nothing_moves_past_a_change_of_its_operands():
    check(
        sink_allocations,
        before="""
        def f(x, n):
            k = n
            a = np.zeros(k)
            k = n + 1
            a[0] = x
            return a, k
        """,
        after="""
        def f(x, n):
            k = n
            a = np.zeros(k)
            k = n + 1
            a[0] = x
            return a, k
        """,
    )
