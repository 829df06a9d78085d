"""Iterations of a loop side by side, so that what they do runs on vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.vectors import outer_vectorisation as pass_
from tapec.optimise.vectors.outer_vectorisation import vectorise_outer_loops
from tests.optimise.reading import check, read
from tests.oracles import check as check_derivative
from tests.oracles import interpreted
from tests.programs.objectives import gmm_loops, make_mixture
from tests.sampling import sampled
from tools.fuzz.conditions import harsh

MIXTURE = "f8[:], f8[:, :], f8[:, :], f8[:, :], f8, f8"


@pytest.fixture
def everywhere(monkeypatch):
    """Lanes wherever they are proved to be right, worth it or not."""
    monkeypatch.setattr(pass_, "gains", lambda lanes, packed: True)
    monkeypatch.setattr(pass_, "few", lambda loop, iterations: False)


def test_memory_of_an_iteration_gets_an_axis_of_lanes():
    check(
        vectorise_outer_loops,
        before="""
        def f(a, n, n_1, k, x, y):
            s = 0.0
            for i in range(n):
                a_2 = np.empty(n_1)
                y_1 = y
                for j in range(k):
                    for j_1 in range(j, n_1):
                        i_1 = j_1 - j
                        x_1 = a[i_1]
                        x_2 = a[i]
                        x_3 = x_1 * x_2
                        a_2[j_1] = x_3
                        y_2 = y_1 * x_3
                        y_1 = y_2
                a_1[i] = y_1
                t = a_2[0]
                s_1 = s + t
                s = s_1
            return s
        """,
        after="""
        def f(a, n, n_1, k, x, y):
            s = 0.0
            size = n - 0
            size_1 = min(size, 64)
            room = max(size_1, 0)
            y_1_lanes = np.empty(64)
            for i_first in range(0, n, 64):
                size_2 = n - i_first
                lanes = min(size_2, 64)
                a_2 = np.empty((n_1, room))
                for lane in range(lanes):
                    y_1_1 = y
                    y_1_lanes[lane] = y_1_1
                for j in range(k):
                    for j_1 in range(j, n_1):
                        i_1 = j_1 - j
                        x_1 = a[i_1]
                        for lane_1 in range(lanes):
                            i_3 = i_first + lane_1
                            y_1_2 = y_1_lanes[lane_1]
                            size_3 = np.uint64(i_3)
                            x_2 = a[size_3]
                            x_3 = x_1 * x_2
                            a_2[j_1, lane_1] = x_3
                            y_2 = y_1_2 * x_3
                            y_1_2 = y_2
                            y_1_lanes[lane_1] = y_1_2
                for lane_2 in range(lanes):
                    i_4 = i_first + lane_2
                    y_1_3 = y_1_lanes[lane_2]
                    size_4 = np.uint64(i_4)
                    a_1[size_4] = y_1_3
                    t = a_2[0, lane_2]
                    s += t
            return s
        """,
        again=False,
    )


def test_what_all_lanes_add_to_one_element_is_added_up_first():
    check(
        vectorise_outer_loops,
        before="""
        def f(a, a_bar, n, k):
            for i in range(n):
                x = a[i]
                for j in range(k):
                    for j_1 in range(j, k):
                        y = x * x
                        a_bar[j_1] += y
        """,
        after="""
        def f(a, a_bar, n, k):
            x_lanes = np.empty(64)
            for i_first in range(0, n, 64):
                size = n - i_first
                lanes = min(size, 64)
                for lane in range(lanes):
                    i_1 = i_first + lane
                    size_1 = np.uint64(i_1)
                    x_1 = a[size_1]
                    x_lanes[lane] = x_1
                for j in range(k):
                    for j_1 in range(j, k):
                        a_bar_sum = 0.0
                        for lane_1 in range(lanes):
                            x_2 = x_lanes[lane_1]
                            y = x_2 * x_2
                            a_bar_sum += y
                        a_bar[j_1] += a_bar_sum
        """,
        again=False,
    )


def test_what_an_iteration_adds_to_a_row_again_and_again_is_added_up_with_lanes_last():
    check(
        vectorise_outer_loops,
        before="""
        def f(A_bar, a, n, k):
            for i in range(n):
                for j in range(k):
                    for j_1 in range(j, k):
                        t = a[j_1]
                        A_bar[i, j_1] += t
        """,
        after="""
        def f(A_bar, a, n, k):
            size_1 = A_bar.shape[1]
            size_2 = k
            size_3 = min(size_1, size_2)
            size_4 = max(size_3, 0)
            size_5 = A_bar.shape[0]
            t_1 = size_5 >= n
            size_6 = size_4 if t_1 else 0
            A_bar_lanes = np.empty((size_6, 64))
            for i_first in range(0, n, 64):
                size = n - i_first
                lanes = min(size, 64)
                for j_3 in range(size_6):
                    for lane_1 in range(lanes):
                        t_3 = 0.0
                        A_bar_lanes[j_3, lane_1] = t_3
                for j in range(k):
                    for j_1 in range(j, k):
                        t = a[j_1]
                        for lane_2 in range(lanes):
                            A_bar_lanes[j_1, lane_2] += t
                for j_2 in range(size_6):
                    for lane in range(lanes):
                        i_1 = i_first + lane
                        size_7 = np.uint64(i_1)
                        t_2 = A_bar_lanes[j_2, lane]
                        A_bar[size_7, j_2] += t_2
        """,
        again=False,
    )


@pytest.mark.parametrize(
    "other",
    [
        "x = A_bar[i, j]",  # read in the iteration
        "A_bar[i, j] = t",  # set in the iteration
        "A_bar[i, 0] += t",  # an element that no loop counts
        "A_bar[j, i] += t",  # elements of other iterations
    ],
)
def test_rows_that_are_more_than_added_to_stay(other):
    program = f"""
        def f(A_bar, n, k, t):
            for i in range(n):
                for j in range(k):
                    {other}
                    for j_1 in range(j, k):
                        A_bar[i, j_1] += t
    """
    check(vectorise_outer_loops, program, program)


@pytest.mark.parametrize(
    "iteration",
    [
        "t = a[i]\nfor j in range(k):\n    a_bar[j] += t",  # a loop that runs on vectors by itself
        "for j in range(k):\n    for j_1 in range(j):\n        a_bar[j] = x",  # iterations write the same
        "for j in range(k):\n    for j_1 in range(i):\n        a_bar[i] += x",  # how long differs
        "for j in range(k):\n    for j_1 in range(j):\n        t = a[j_1]\n        a_1[i] = t\n    print(i)",
        "for j in range(k):\n    for j_1 in range(j):\n        j_2 = j_1 * i\n        t = a[j_2]\n        a_1[i] = t",
        "for j in range(k):\n    for j_1 in range(j):\n        s_1 = s * x\n        s = s_1",  # not a sum
    ],
)
def test_what_is_not_proved_or_not_worth_it_stays(iteration):
    lines = "\n".join(f"        {line}" for line in iteration.splitlines())
    program = f"def f(a, a_1, a_bar, n, k, x, s):\n    for i in range(n):\n{lines}\n    return s\n"
    check(vectorise_outer_loops, program, program)


def test_a_number_that_some_lanes_set():
    before = read("""
        def f(a, a_1, n, k, x):
            for i in range(n):
                t = a[i]
                y = t
                for j in range(k):
                    for j_1 in range(j, k):
                        c = t > x
                        if c:
                            y = x
                a_1[i] = y
        """)
    results = []
    for function in (before, vectorise_outer_loops(before)):
        space = {"np": np}
        exec(printer.function(function, quote=False), space)
        results.append(np.zeros(70))
        space["f"](np.sin(np.arange(70.0)), results[-1], 70, 3, 0.3)
    assert "lane" in printer.function(vectorise_outer_loops(before))
    assert np.array_equal(*results)


@pytest.mark.slow
def test_a_mixture_by_any_number_of_points():
    assert "lane" in tapec.emit(gmm_loops, (0, 1, 2), signature=MIXTURE, opt_level=2)
    in_strips = tapec.value_and_grad(gmm_loops, wrt=(0, 1, 2))
    plain = tapec.value_and_grad(gmm_loops, wrt=(0, 1, 2), opt_level=1)
    for n in (1, 2, 63, 64, 65, 130):
        arguments = make_mixture(np.random.default_rng(n), n, 3, 4)
        value, gradients = in_strips(*arguments)
        expected, others = plain(*arguments)
        assert value == pytest.approx(expected, rel=1e-12)
        for one, other in zip(gradients, others, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
    # the same bits in every run
    again, gradients_again = in_strips(*arguments)
    assert again == value
    assert all(np.array_equal(one, other) for one, other in zip(gradients_again, gradients, strict=True))


def scattered(x, w, owner):
    """Several iterations add to one element; one of two sums is of every other iteration."""
    total, odd = 0.0, 0.0
    for i in range(x.shape[0]):
        row = x[i]
        for j in range(w.shape[0]):
            for c in range(j, w.shape[0]):
                total += row[c] * w[owner[i]] * w[j]
                if i % 2 == 1:
                    odd += row[j] * w[c]
    return total * odd


def swapped(x, steps):
    """Each iteration has two arrays that change places."""
    total = 0.0
    for i in range(x.shape[0]):
        old, new = np.empty(4), np.zeros(4)
        for c in range(4):
            old[c] = x[i] * (c + 1)
        for s in range(steps):
            for c in range(4):
                new[c] = 0.5 * old[c] + 0.1 * old[(c + s) % 4] * x[i]
            old, new = new, old
        total += old[1] * old[3]
    return total


def iterated(x):
    """How many steps an iteration makes depends on its number."""
    total = 0.0
    for i in range(x.shape[0]):
        y = x[i]
        for j in range(3):
            while y > 1.0:
                y = 0.5 * y
            y += 0.3 * x[i] * j
        total += y * y
    return total


def nested_sums(x, w):
    """The sum of all iterations is handed down two loops and back."""
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            total += x[i]
        for j in range(w.shape[0]):
            for c in range(j):
                total -= math.sin(x[i] * w[c]) * w[j]
            total += w[j]
    return total


def remembered(x, steps):
    """A truth and a whole number of an iteration are needed after an inner loop; the numbers are of single
    precision.
    """
    total = np.float32(0.0)
    for i in range(x.shape[0]):
        large = x[i] > 1.0
        place = i % 3
        y = x[i]
        for s in range(steps):
            y = y * x[s] * np.float32(0.3)
        if large:
            total += y * x[place]
        else:
            total -= y
    return total


def overwritten(x, w):
    """A table that is the same in all iterations is read at another place in each, by another name, and then
    changes.
    """
    total = 0.0
    for i in range(x.shape[0]):
        table = np.empty(4)
        part = table[1:]
        for c in range(4):
            table[c] = w[c]
        y = x[i] * part[i % 3]
        for c in range(4):
            table[c] = 2.0 * w[c]
        total += y * part[i % 3]
    return total


def products_of_columns(x, w):
    """What belongs to an element of a sample's row is added up over a triangle of its elements."""
    m = w.shape[0]
    found = np.zeros(m)
    for i in range(x.shape[0]):
        row = x[i]
        for j in range(m):
            d = row[j] - w[j]
            for k in range(j + 1):
                found[j] += d * (row[k] + 0.5) * w[k]
    total = 0.0
    for j in range(m):
        total += found[j] * found[j]
    return total


@pytest.mark.slow
def test_rows_of_samples_have_gradients():
    rng = np.random.default_rng(3)
    with interpreted():
        for samples in (0, 3, 64, 70):
            check_derivative(products_of_columns, (rng.normal(size=(samples, 4)), rng.normal(size=4)), (0, 1))
    assert "x_bar_lanes" in tapec.emit(products_of_columns, (0, 1), "f8[:, ::1], f8[::1]", opt_level=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "rest"),
    [
        (remembered, (3,)),
        (overwritten, (np.linspace(0.5, 1.5, 4),)),
        (scattered, (np.linspace(0.5, 1.5, 4), np.arange(70) * 7 % 4)),
        pytest.param(swapped, (5,), marks=pytest.mark.compiled),
        (iterated, ()),
        (nested_sums, (np.linspace(-1.0, 1.0, 5),)),
    ],
)
def test_lanes_change_nothing(everywhere, function, rest):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(70, 4)) if function is scattered else rng.normal(size=70) * 2
    rounding = 1e-4 if function is remembered else 1e-9
    x = x.astype(np.float32) if function is remembered else x
    value, gradient = tapec.value_and_grad(function)(x, *rest)
    expected, other = tapec.value_and_grad(function, opt_level=1)(x, *rest)
    assert value == pytest.approx(expected, rel=rounding)
    np.testing.assert_allclose(gradient, other, rtol=rounding, atol=rounding)


@pytest.mark.slow
def test_second_derivatives_stay_right(everywhere):
    x, w = np.random.default_rng(4).normal(size=70), np.linspace(-1.0, 1.0, 5)
    direction = np.cos(np.arange(70.0))
    product = tapec.hvp(nested_sums)(x, w, direction)
    step = 1e-5
    low, high = (tapec.grad(nested_sums, opt_level=1)(x + sign * step * direction, w) for sign in (-1, 1))
    np.testing.assert_allclose(product, (high - low) / (2 * step), rtol=1e-6, atol=1e-8)


def test_bounded_memory_is_not_multiplied():
    text = tapec.emit(gmm_loops, (0, 1, 2), signature=MIXTURE, memory="500MB", opt_level=2)
    assert "lane" not in text


@pytest.mark.slow
def test_explained():
    told = tapec.explain(gmm_loops, (0, 1, 2), MIXTURE)
    (note,) = [note for note in told.notes if note.by == "outer_vectorisation"]
    assert str(note).startswith("64 iterations side by side")


def rows_behind(x, w):
    """Rows by a number that is computed before the loop over their elements."""
    n, m = x.shape
    out = np.empty((n, m))
    for i in range(n):
        for c in range(m):
            out[i, c] = x[i, c] * w[c]
    for i in range(n - 1):
        x[i] = out[i + 1]
    return (x * out).sum()


@pytest.mark.slow
def test_the_number_of_a_row_belongs_to_its_lane(everywhere):
    with interpreted():
        check_derivative(rows_behind, (np.linspace(0.1, 2.0, 15).reshape(5, 3), np.array([0.3, -0.4, 0.5])))


def by_two_names(x, c):
    """The iterations of the outer loop add to one array's derivative by two names, so threads are given the inner
    ones.
    """
    t = 2.0 * x
    u = t
    if c > 1.0:
        u = t * t
    s = 0.0
    for i in range(u.shape[0]):
        for j in range(t.shape[0]):
            s += u[i] * t[j] / (1 + i + j)
    return s


def test_threads_do_not_share_lanes():
    x = np.linspace(0.1, 2.0, 7)
    with interpreted(), harsh():
        for c in (0.5, 2.0):
            plain = tapec.grad(by_two_names, opt_level=1)(x.copy(), c)
            np.testing.assert_allclose(tapec.grad(by_two_names, parallel=True)(x.copy(), c), plain, rtol=1e-12)


def likelihoods(x, label):
    """The negative logarithms of the labels' shares, by the exponentials of rows."""
    loss = 0.0
    for i in range(x.shape[0]):
        top = x[i, 0]
        for c in range(x.shape[1]):
            top = max(top, x[i, c])
        total = 0.0
        for c in range(x.shape[1]):
            total += math.exp(x[i, c] - top)
        loss += math.log(total) + top - x[i, label[i]]
    return loss


@pytest.mark.parametrize("shape", sampled(map(pytest.param, [(70, 3), (17, 1), (15, 3), (3, 30), (20, 25), (0, 3)]), 3))
def test_rows_have_a_second_form_for_few_columns(shape):
    x, label = np.sin(np.arange(shape[0] * shape[1])).reshape(shape), np.arange(shape[0]) % shape[1] - 1
    with interpreted():
        check_derivative(likelihoods, (x, label), (0,))


def test_rows_of_few_columns_are_told():
    told = tapec.explain(likelihoods, 0, "f8[:, :], i8[:]")
    (note,) = [note for note in told.notes if note.by == "outer_vectorisation"]
    assert "where its inner loops are short" in str(note)


def test_one_loop_from_element_to_element_has_one_form():
    def scaled(x, w):
        total = 0.0
        for i in range(x.shape[0]):
            for c in range(x.shape[1]):
                total += w[i, c] * math.exp(x[i, c])
        return total

    assert "lane" not in tapec.emit(scaled, (0, 1), "f8[:, :], f8[:, :]", opt_level=2)


def columns(start, w, steps):
    """A vector of logarithms of sums of exponentials down the columns of a matrix, again and again."""
    a = start.copy()
    for _ in range(steps):
        new = np.empty(a.size)
        for j in range(a.size):
            e = np.exp(a + w[:, j])
            new[j] = math.log(e.sum())
        a = new
    return a.sum()


@pytest.mark.slow
def test_columns_run_side_by_side_although_loops_fill_memory_of_the_iteration():
    with interpreted():
        check_derivative(columns, (np.array([0.1, -0.4, 0.3]), np.sin(np.arange(9.0)).reshape(3, 3), 3), (0, 1))
    assert "lanes" in tapec.emit(columns, (0, 1), "f8[:], f8[:, :], i8", opt_level=2)


def paths(x, drift):
    """The mean of random walks, whose steps wait for one another."""
    total = 0.0
    for p in range(x.shape[0]):
        s = 1.0
        mean = 0.0
        for t in range(x.shape[1]):
            s *= math.exp(drift + 0.1 * x[p, t])
            mean += s
        total += max(mean / x.shape[1] - 1.0, 0.0)
    return total


PATHS = [pytest.param(shape) for shape in ((70, 3), (16, 1), (15, 4), (3, 30), (64, 5), (0, 3))]


@pytest.mark.slow
@pytest.mark.parametrize("shape", sampled(PATHS, 6))
def test_paths_have_a_second_form_for_few_of_them(shape):
    x = np.sin(np.arange(shape[0] * shape[1])).reshape(shape)
    with interpreted():
        check_derivative(paths, (x, 0.05), (1,))
        check_derivative(paths, (x, 0.05), (0, 1))


def test_what_paths_read_is_copied_with_the_axis_of_lanes_last():
    text = tapec.emit(paths, 1, "f8[:, ::1], f8", opt_level=2)
    assert "if x_cols <= 512 and x_rows >= 16:" in text and "x_lanes[j, lane] = x[p, j]" in text
    (note,) = [note for note in tapec.explain(paths, 1, "f8[:, ::1], f8").notes if note.by == "outer_vectorisation"]
    assert "where there are many" in str(note)
