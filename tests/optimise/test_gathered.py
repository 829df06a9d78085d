"""Additions to neighbours that become one loop over the elements that receive them."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.chosen import hide_choices
from tapec.optimise.distribute import distribute
from tests.optimise.reading import check
from tests.oracles import clone


def test_neighbours_are_gathered_from_a_buffer_with_zeros_at_its_ends():
    check(
        distribute,
        before="""
        def f(a, a_1, n, s):
            n_1 = n - 1
            for k in range(n):
                for i in range(1, n_1):
                    u = a_1[i]
                    t = u * s
                    a[i] += u
                    i_1 = i - 1
                    a[i_1] += t
                    i_2 = i + 1
                    a[i_2] += t
            return s
        """,
        after="""
        def f(a, a_1, n, s):
            n_1 = n - 1
            n_2 = n - 1
            n_3 = max(n_2, 0)
            n_4 = n_3 + 3
            t_kept = np.zeros(n_4)
            n_5 = n - 1
            n_6 = n_5 > 1
            n_7 = n if n_6 else 0
            for k in range(n):
                for i in range(1, n_1):
                    u = a_1[i]
                    t = u * s
                    a[i] += u
                    i_1 = i - 1
                    t_1 = i + 1
                    t_kept[t_1] = t
                    i_2 = i + 1
                for i_3 in range(n_7):
                    t_2 = i_3 + 2
                    t_3 = t_kept[t_2]
                    t_4 = t_kept[i_3]
                    t_5 = t_3 + t_4
                    a[i_3] += t_5
            return s
        """,
    )


def test_where_bounds_change_each_neighbour_keeps_a_loop_of_its_own():
    check(
        distribute,
        before="""
        def f(a, a_1, n, s):
            for k in range(n):
                for i in range(1, k):
                    t = a_1[i]
                    a[i] += t
                    i_1 = i - 1
                    a[i_1] += t
                    i_2 = i + 1
                    a[i_2] += t
            return s
        """,
        after="""
        def f(a, a_1, n, s):
            n_1 = n - 1
            n_2 = max(n_1, 0)
            t_kept = np.empty(n_2)
            for k in range(n):
                for i in range(1, k):
                    t = a_1[i]
                    a[i] += t
                    i_1 = i - 1
                    t_kept[i] = t
                    i_2 = i + 1
                for i_3 in range(1, k):
                    t_1 = t_kept[i_3]
                    t_2 = i_3 - 1
                    a[t_2] += t_1
                for i_4 in range(1, k):
                    t_3 = t_kept[i_4]
                    t_4 = i_4 + 1
                    a[t_4] += t_3
            return s
        """,
    )


def test_a_number_of_trips_that_was_chosen_is_hidden():
    check(
        hide_choices,
        before="""
        def f(a, n, k, c):
            i_1 = n if c else 0
            j = k if c else 0
            for i in range(i_1):
                a[i] += 1.0
            return j
        """,
        after="""
        def f(a, n, k, c):
            i_1_1 = n if c else 0
            i_1 = tapec_runtime.unforeseen(i_1_1)
            j = k if c else 0
            for i in range(i_1):
                a[i] += 1.0
            return j
        """,
    )


def smooth(u, w, first, last, steps):
    new = np.empty_like(u)
    for _ in range(steps):
        for i in range(first, last):
            new[i] = u[i] + w[i] * (u[i - 1] * u[i] + 2.0 * u[i + 1] - 0.5 * u[i + 3])
        for i in range(first, last):
            u[i] = new[i]
    total = 0.0
    for i in range(u.shape[0]):
        total += u[i] * u[i]
    return total


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "last"),
    [pytest.param(1, 13, marks=pytest.mark.compiled), (2, 5), (4, 5), (1, 1), (6, 3), (15, 1), (30, 12)],
)
def test_gathered_gradients_are_those_of_the_textbook_adjoint(first, last):
    def inner(u, w, last, steps):
        return smooth(u, w, 1, last, steps)

    rng = np.random.default_rng(3)
    u, w = rng.normal(size=16), rng.normal(size=16)
    for f, bounds in ((smooth, (first, last)), (inner, (last,))):
        found, expected = (
            tapec.value_and_grad(f, wrt=(0, 1), opt_level=level)(*clone((u, w)), *bounds, 3) for level in (2, 0)
        )
        for mine, wanted in zip(found[1], expected[1], strict=True):
            np.testing.assert_allclose(mine, wanted, rtol=1e-12, atol=1e-12)
        assert found[0] == pytest.approx(expected[0], rel=1e-13)


def test_branches_that_choose_between_values():
    check(
        distribute,
        before="""
        def f(a, a_1, n, s):
            for k in range(n):
                for i in range(1, n):
                    u = a_1[i]
                    c = u > s
                    if c:
                        t = u * s
                    else:
                        t = s
                    a[i] += u
                    i_1 = i - 1
                    a[i_1] += t
            return s
        """,
        after="""
        def f(a, a_1, n, s):
            n_1 = max(n, 0)
            t_kept = np.empty(n_1)
            for k in range(n):
                for i in range(1, n):
                    u = a_1[i]
                    c = u > s
                    if c:
                        t = u * s
                    else:
                        t = s
                    a[i] += u
                    i_1 = i - 1
                    t_kept[i] = t
                for i_2 in range(1, n):
                    t_1 = t_kept[i_2]
                    t_2 = i_2 - 1
                    a[t_2] += t_1
            return s
        """,
        again=False,
    )


def test_stores_in_branches_stay():
    before = """
    def f(a, a_1, n, s):
        for i in range(1, n):
            u = a_1[i]
            c = u > s
            a[i] += u
            i_1 = i - 1
            if c:
                a[i_1] += u
        return s
    """
    check(distribute, before, before)
