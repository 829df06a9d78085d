"""A subscript out of range is an IndexError wherever a derivative would write there, and where one test before all
loops can tell: Python says where that is."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import tapec
from tapec_runtime import IndexOutOfRange
from tests.oracles import interpreted
from tests.sampling import sampled
from tools.fuzz import subscripts

pytestmark = pytest.mark.compiled
ROOT = Path(__file__).resolve().parents[2]
A = np.arange(12.0).reshape(3, 4) + 1.0
X = np.arange(1.0, 5.0)


def element(x, i):
    return x[i] ** 3


def row(a, i, v):
    return a[i] @ v


def row_sum(a, i):
    return a[i].sum()


def from_behind(x):
    return x[-1] * x[-2]


def in_a_branch(x, mask, n):
    s = 0.0
    for i in range(n):
        if mask[i]:
            s += x[i] ** 2
    return s


def counted(x, n):
    i, s = 0, 0.0
    while i < n:
        s += x[i] ** 2
        i += 2
    return s


def in_steps(x, n):
    s = 0.0
    for i in range(0, n, 3):
        s += x[i] ** 2
    return s


def downwards(x, n):
    s = 0.0
    for i in range(n, 0, -1):
        s += x[i] * x[i - 1]
    return s


def gathered(x, index):
    return np.sum(x[index] ** 2)


def gathered_points(a, i, j):
    return np.sum(a[i, j] ** 2)


def in_a_triangle(a, n):
    s = 0.0
    for i in range(n):
        for j in range(i, n):
            s += a[i, j] * a[j, i]
    return s


def of_an_expression(x, i):
    return (x * x)[i]


def of_a_slice(x, k):
    y = x[k:]
    return y[0] * y[1]


def of_a_row_of_a_slice(a, i, j):
    return a[i][j] * a[i, 1:][j]


def left_in_time(x, n):
    s = 0.0
    for i in range(n):
        if i == len(x):
            break
        s += x[i] ** 2
    return s


def asked_before(x, n):
    s = 0.0
    for i in range(n):
        if i < x.shape[0]:
            s += x[i] ** 2
    return s


def refused_before(x, n):
    if n > len(x):
        return 0.0
    s = 0.0
    for i in range(n):
        s += x[i] ** 2
    return s


def looked_up(x, places):
    s = 0.0
    for place in places:
        s += x[place] ** 2
    return s


def in_a_function(x, n):
    s = 0.0
    for i in range(n):
        s += element(x, i)
    return s


def in_a_comprehension(x, n):
    s = 0.0
    for one in [x[i] for i in range(n)]:
        s += one * one
    return s


def divided(x, n):
    s = 0.0
    for i in range(n):
        s += x[i % len(x)] * x[i // 2]
    return s


def recursive(x, i):
    if i <= 0:
        return x[0]
    return x[i] * recursive(x, i - 1)


def changing_places(x, steps, n):
    now, old = x.copy(), np.zeros(len(x))
    for _ in range(steps):
        for i in range(1, n):
            old[i] = now[i - 1] * now[i]
        now, old = old, now
    return now.sum()


def stored(x, i):
    y = np.zeros(3)
    y[i] = x[0] * x[1]
    return y.sum()


def stored_in_a_loop(x, n):
    y = np.zeros(3)
    for i in range(n):
        y[i] = x[i] ** 2
    return y.sum()


def stored_column(x, i):
    y = np.zeros((4, 3))
    y[:, i] = x
    return (y * y).sum()


def stored_part_of_a_row(x, i):
    y = np.zeros((3, 4))
    y[i, 1:] += x[1:]
    return (y * y).sum()


def stored_through_a_row(x, index):
    y = np.zeros((3, 4))
    for k in range(len(index)):
        into = y[index[k]]
        into[:] = x
    return (y * y).sum()


def stored_where_nobody_reads(x, index):
    y = np.zeros(3)
    for k in range(len(index)):
        y[index[k]] = x[k]
    return x.sum() + 0.0 * y[0]


def stored_by_index_arrays(x, index):
    y = np.zeros((3, 4))
    y[index] = x
    return (y * y).sum()


def added_at(x, index):
    y = np.zeros((3, 4))
    np.add.at(y, index, x)
    return (y * y).sum()


def counted_up(x, index):
    seen = np.zeros(4)
    for k in range(len(index)):
        seen[index[k]] += 1.0
    return (x * seen).sum()


def swapped(x, index):
    y = x.copy()
    y[index[0]], y[index[1]] = y[index[1]], y[index[0]]
    return y[0] ** 2


def round_a_ring(x, steps):
    y = np.zeros(3)
    for i in range(steps):
        y[i % 3] += x[i % len(x)] ** 2
    return (y * y).sum()


def shorter_weights(x, w):
    return sum([x[i] * w[i] for i in range(len(x))])


def of_a_constant(x, i):
    w = np.ones((3, 4))
    return (x * w[i]).sum()


def taken(x, index):
    return (np.take(x, index) ** 2).sum()


def taken_rows(a, index):
    return (np.take(a, index, axis=0) ** 2).sum()


def taken_along_an_axis(x, index):
    return (np.take_along_axis(x, index, 0) ** 2).sum()


YES, NO = np.array([True, False, True, False, False]), np.array([True, False, True, False, True])
CALLS = [
    (element, (X, 3)), (element, (X, 4)), (element, (X, -4)), (element, (X, -5)), (element, (X[:0], 0)),
    (row, (A, 1, X)), (row, (A, 3, X)), (row, (A, -4, X)), (row_sum, (A, -3)), (row_sum, (A, 5)),
    (from_behind, (X,)), (from_behind, (X[:1],)), (in_a_branch, (X, YES, 5)), (in_a_branch, (X, NO, 5)),
    (counted, (X, 4)), (counted, (X, 5)), (in_steps, (X, 6)), (in_steps, (X, 7)), (downwards, (X, 3)),
    (downwards, (X, 4)), (gathered, (X, np.array([0, -4]))), (gathered, (X, np.array([0, 4]))),
    (gathered, (X, np.array([-5]))), (gathered_points, (A, np.array([0, 2]), np.array([3, 3]))),
    (gathered_points, (A, np.array([0, 2]), np.array([3, 4]))), (in_a_triangle, (A, 3)), (in_a_triangle, (A, 4)),
    (of_an_expression, (X, 3)), (of_an_expression, (X, 4)), (of_a_slice, (X, 2)), (of_a_slice, (X, 3)),
    (of_a_slice, (X, 9)), (of_a_row_of_a_slice, (A, 1, 2)), (of_a_row_of_a_slice, (A, 1, 3)),
    (of_a_row_of_a_slice, (A, 3, 0)), (left_in_time, (X, 9)), (asked_before, (X, 9)), (refused_before, (X, 9)),
    (looked_up, (X, np.array([1, 3]))), (looked_up, (X, np.array([1, 4]))), (in_a_function, (X, 4)),
    (in_a_function, (X, 5)), (in_a_comprehension, (X, 4)), (in_a_comprehension, (X, 6)), (divided, (X, 8)),
    (divided, (X, 9)), (recursive, (X, 3)), (recursive, (X, 4)), (changing_places, (X, 2, 4)),
    (changing_places, (X, 0, 9)), (changing_places, (X, 2, 5)), (stored, (X, 2)), (stored, (X, 3)), (stored, (X, -4)),
    (stored_in_a_loop, (X, 3)), (stored_in_a_loop, (X, 4)), (stored_column, (X, -3)), (stored_column, (X, 3)),
    (stored_part_of_a_row, (X, 2)), (stored_part_of_a_row, (X, -4)), (stored_through_a_row, (X, np.array([0, -3]))),
    (stored_through_a_row, (X, np.array([0, 3]))), (stored_where_nobody_reads, (X, np.array([0, 2]))),
    (stored_where_nobody_reads, (X, np.array([0, 3]))), (stored_by_index_arrays, (X, np.array([0, 2]))),
    (stored_by_index_arrays, (X, np.array([0, -4]))), (added_at, (X, np.array([1, 1]))),
    (added_at, (X, np.array([1, 3]))), (counted_up, (X, np.array([1, 1]))), (counted_up, (X, np.array([1, 4]))),
    (swapped, (X, np.array([0, 3]))), (swapped, (X, np.array([0, 4]))), (round_a_ring, (X, 9)),
    (shorter_weights, (X, X)), (shorter_weights, (X, X[:3])), (of_a_constant, (X, 2)), (of_a_constant, (X, 3)),
    (taken, (X, np.array([0, 3]))), (taken, (X, np.array([0, 4]))), (taken_rows, (A, np.array([0, -3]))),
    (taken_rows, (A, np.array([0, 3]))), (taken_along_an_axis, (X, np.array([0, 3]))),
    (taken_along_an_axis, (X, np.array([0, -5]))),
]  # fmt: skip


@pytest.mark.parametrize("f", sampled(dict.fromkeys(f for f, _ in CALLS), 4), ids=lambda f: f.__name__)
def test_python_says_where(f):
    counts = Counter()
    calls = [given for g, given in CALLS if g is f]
    assert not subscripts.check(f, calls, counts, wrt=0)
    assert counts.total()
    with interpreted():
        for given in calls:
            tangents = (np.ones_like(given[0]), *(None for _ in given[1:]))
            found = subscripts.outcome(lambda *args, t=tangents: tapec.jvp(f, args, t)[0], given)
            assert (found is IndexError) == (subscripts.outcome(f, given) is IndexError), given


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"opt_level": 0}, {"opt_level": 1}, {"parallel": True}], ids=str)
def test_options(options):
    for f, good, bad in ((in_a_branch, (X, YES, 5), (X, NO, 5)), (gathered, (X, [0, 3]), (X, [0, 4]))):
        derivative = tapec.grad(f, **options)
        assert np.all(np.isfinite(derivative(*map(np.asarray, good))))
        with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 of `x` with size 4"):
            derivative(*map(np.asarray, bad))


def scaled(x, i):
    return x * x[i]


@pytest.mark.slow
@pytest.mark.parametrize("i", [4, -5])
def test_every_derivative(i):
    calls = [
        lambda: tapec.hessian(element)(X, i),
        lambda: tapec.hvp(element)(X, i, X),
        lambda: tapec.jacrev(scaled)(X, i),
        lambda: tapec.jacfwd(scaled)(X, i),
        lambda: tapec.vjp(element, X, i),
        lambda: tapec.grad(lambda x, i: tapec.grad(looked_up)(x, np.array([0, i])).sum())(X, i),
        lambda: _in_a_tape(tapec.Variable(X), i),
        lambda: tapec.function(_in_a_tape)(tapec.Variable(X), i),
    ]
    for call in calls:
        with pytest.raises(IndexError, match=f"index {i} is out of bounds"):
            call()


def _in_a_tape(v, i):
    with tapec.GradientTape() as tape:
        y = looked_up(v, np.array([0, i]))
    return tape.gradient(y, v)


def test_the_error_names_the_line():
    with pytest.raises(IndexOutOfRange) as told:
        tapec.grad(in_a_triangle)(A, 4)
    assert str(told.value) == "index 3 is out of bounds for axis 0 of `a` with size 3: s += a[i, j] * a[j, i]"


def test_one_test_before_all_loops():
    text = tapec.emit(in_a_triangle, signature="f8[:,:],i8", opt_level=2)
    loops = text.index("for i in")
    assert "raise" in text[:loops] and "raise" not in text[loops:]


def test_a_test_stands_where_its_names_are_set():
    def chosen(x, d, u):
        if d <= 0:
            return x[d % 5]
        return u

    def total(x, d):
        s = 0.1
        for _ in range(2):
            s += chosen(x, d, x[0])
        return s

    # the first sweep has the subscript in one branch, and the second one asks for it in another
    for d, place in ((0, 0), (-2, 3), (2, 0)):
        with interpreted():
            gradient, pullback = tapec.vjp(tapec.grad(total), np.ones(5), d)
        assert gradient[place] == 2.0
        np.testing.assert_array_equal(pullback(np.ones(5))[0], np.zeros(5))


def test_what_is_proved_is_not_tested():
    assert "IndexOutOfRange" not in tapec.emit(asked_before, signature="f8[:],i8", opt_level=2)
    assert "IndexOutOfRange" not in tapec.emit(refused_before, signature="f8[:],i8", opt_level=2)
    assert "IndexOutOfRange" not in tapec.emit(round_a_ring, signature="f8[:],i8", opt_level=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled(range(6), 3, default=3))
def test_random_programs(seed: int, tmp_path: Path):
    assert not subscripts.checked(seed, tmp_path, Counter())


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled(range(6), 3, default=3))
def test_random_array_subscripts(seed: int, tmp_path: Path):
    assert not subscripts.checked(seed, tmp_path, Counter(), "arrays")


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize(("grammar", "count"), [("elements", 15), ("arrays", 8)])
def test_many_random_programs(grammar: str, count: int):
    command = [sys.executable, "-m", "tools.fuzz.subscripts", "--seed", "100", "--count", str(count)]
    command += ["--grammar", grammar]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout
