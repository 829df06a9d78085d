"""Additions to neighbours that become one loop over the elements that receive them."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.loops.loop_distribution import distribute
from tapec.optimise.vectors.hidden_iteration_counts import hide_iteration_counts
from tests.optimise.reading import check, read
from tests.oracles import check as check_derivative
from tests.oracles import clone, interpreted
from tests.sampling import sampled


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
            size = n - 1
            size_1 = max(size, 0)
            size_2 = size_1 + 3
            t_kept = np.zeros(size_2)
            size_3 = n - 1
            size_4 = size_3 > 1
            size_5 = n if size_4 else 0
            for k in range(n):
                for i in range(1, n_1):
                    u = a_1[i]
                    t = u * s
                    a[i] += u
                    i_1 = i - 1
                    t_1 = i + 1
                    t_kept[t_1] = t
                    i_2 = i + 1
                for i_3 in range(size_5):
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
            size = n - 1
            size_1 = max(size, 0)
            t_kept = np.empty(size_1)
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


def test_elements_counted_from_the_other_end_have_a_loop_of_their_own():
    check(
        distribute,
        before="""
        def f(a, a_1, n, s):
            for k in range(n):
                for i in range(k):
                    t = a_1[i]
                    i_1 = k - i
                    i_2 = i_1 - 1
                    a[i_2] += t
                    a[i] += t
            return s
        """,
        after="""
        def f(a, a_1, n, s):
            size = n - 1
            size_1 = max(size, 0)
            t_kept = np.empty(size_1)
            for k in range(n):
                for i in range(k):
                    t = a_1[i]
                    i_1 = k - i
                    i_2 = i_1 - 1
                    t_kept[i] = t
                    a[i] += t
                for i_3 in range(k):
                    t_1 = t_kept[i_3]
                    t_2 = k - 1
                    t_3 = t_2 - i_3
                    a[t_3] += t_1
            return s
        """,
    )


@pytest.mark.parametrize(
    "stores",
    [
        # halves that never meet
        "i_1 = n + k; i_2 = i_1 - i; a[i_2] += t; a[i] += t",
        # an element that a later iteration reads
        "i_1 = k - i; i_2 = i_1 - 1; a[i_2] += t; s = a[i]",
        "i_1 = k - i; i_2 = i_1 - 1; s = a[i]; a[i_2] += t",
    ],
)
def test_mirrored_additions_that_stay(stores):
    lines = stores.replace("; ", "\n" + " " * 20)
    before = f"""
        def f(a, a_1, n, s):
            for k in range(n):
                for i in range(k):
                    t = a_1[i]
                    {lines}
            return s
        """
    check(distribute, before, before)


def mirrored(x, w, steps):
    for t in range(steps):
        y = np.zeros_like(x)
        for i in range(x.shape[0]):
            y[i] = x[i] * w[i] + np.sin(x[x.shape[0] - 1 - i]) - w[t] * x[max(0, x.shape[0] - 2 - i)]
        x = y + y[::-1]
    return (x * x).sum()


@pytest.mark.slow
def test_gradients_of_programs_that_read_from_both_ends(rng):
    with interpreted():
        for size in (1, 4, 5):
            check_derivative(mirrored, (*rng.normal(size=(2, size)), min(size, 3)))


def test_a_number_of_iterations_that_was_chosen_is_hidden():
    check(
        hide_iteration_counts,
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
            i_1 = tapec_runtime.opaque(i_1_1)
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
            size = max(n, 0)
            t_kept = np.empty(size)
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


PARTS = """
    def f(a, a_1, n, m, s):
        n_1 = n - 1
        for k in range(m):
            for i in range(1, n_1):
                j = n + i
                t = a_1[i]
                u = a[j]
                i_1 = i - 1
                a[i_1] += t
                i_2 = i + 1
                a[i_2] += t
                a[i] += u
        return s
    """


def test_a_part_of_an_array_that_is_read_is_not_the_one_that_is_added_to():
    changed = printer.function(distribute(read(PARTS)), quote=False)
    assert "t_kept" in changed
    # nobody knows how far the parts are apart
    before = PARTS.replace("m, s)", "m, n_9, s)").replace("j = n + i", "j = n_9 + i")
    check(distribute, before=before, after=before)


def reaction(y, n, steps, d):
    z = y.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            a = y[i]
            b = y[n + i]
            z[i] = a + d * (y[i - 1] - 2.0 * a + y[i + 1]) - 0.1 * a * b * b
            z[n + i] = b + d * (y[n + i - 1] - 2.0 * b + y[n + i + 1]) + 0.1 * a * b * b
        for i in range(2 * n):
            y[i] = z[i]
    return np.sum(y * y * y)


def parts_that_overlap(y, n, steps, d):
    z = y.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            b = y[n - 2 + i]
            z[i] = d * (y[i - 1] + y[i + 1]) * b
            z[n - 2 + i] = b + d * (y[n - 3 + i] + y[n - 1 + i])
        for i in range(2 * n):
            y[i] = z[i] * z[i]
    return np.sum(y * y * y)


def three_parts(y, n, steps, d):
    for _ in range(steps):
        for i in range(1, n - 1):
            y[2 * n + i] = y[2 * n + i] + d * (y[i - 1] * y[i + 1] + y[n + i - 1] * y[n + i + 1])
        for i in range(1, n - 1):
            y[i] += d * (y[2 * n + i - 1] + y[2 * n + i + 1])
    return np.sum(y * y * y)


@pytest.mark.parametrize("program", sampled([reaction, parts_that_overlap, three_parts], 3), ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", sampled([5, 0, 2, 3], 4))
def test_neighbours_in_parts_of_one_array(program, n):
    check_derivative(program, (np.linspace(0.5, 1.4, 3 * max(n, 1)), n, 2, 0.3), (0, 3))


def grid_in_place(y, n, m):
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            below = y[(i + 1) * m + j] * y[i * m + j - 1]
            y[i * m + j] = 0.3 * y[i * m + j] + 0.1 * (y[(i - 1) * m + j] + below + y[i * m + j + 1])
    return np.sum(y * y)


def grid_shifted(y, n, m):
    for j in range(m):
        for i in range(n - 1):
            y[j * n + i] = np.sin(y[j * n + i + 1])
    return np.sum(y * y)


def grid_beside(y, n, m):
    z = y.copy()
    for i in range(n):
        for j in range(m - 1):
            z[i * m + j] = y[i * m + j + 1] ** 2 * y[i * m + j]
    return np.sum(z * z)


@pytest.mark.parametrize("program", [grid_in_place, grid_shifted, grid_beside], ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", sampled(map(pytest.param, [(2, 5), (1, 1), (4, 5)]), 3), ids=str)
def test_grids_in_one_dimension(program, shape):
    # where a row begins is a product of two numbers
    check_derivative(program, (np.linspace(0.5, 1.4, shape[0] * shape[1]), *shape), (0,))
