"""Inner loops of a loop whose iterations nobody knows beforehand keep their values in a buffer per iteration, on a
stack.
"""

from __future__ import annotations

import numba
import numpy as np
import pytest

import tapec
from tests.oracles import check, interpreted
from tests.sampling import sampled


def relaxed(u, f, limit):
    u = u.copy()
    error, iterations = 1.0, 0
    while error > 1e-3 and iterations < limit:
        error = 0.0
        for i in range(1, u.shape[0] - 1):
            new = 0.5 * (u[i - 1] + u[i + 1]) - f[i]
            error += (new - u[i]) ** 2
            u[i] = new * np.exp(-u[i] * new)
        iterations += 1
    return np.sum(u * u)


def rows_of_a_sparse_matrix(x, first, column, steps):
    total = 0.0
    for _ in range(steps):
        for i in range(first.shape[0] - 1):
            s = 1.0
            for p in range(first[i], first[i + 1]):
                s = np.sin(s * x[column[p]])
            x[i] += s
            total += s * x[i]
    return total


def fewer_in_each_iteration(x, least):
    x = x.copy()
    n = x.shape[0]
    total = 0.0
    while n > least:
        for i in range(n):
            x[i] = np.sin(x[i]) * (1.0 + 0.1 * total)
            total += x[i] * x[i]
        n -= 2
    return total


def triangles(a, limit):
    a = a.copy()
    total, iterations = 1.0, 0
    while total < limit and iterations < 3:
        for i in range(a.shape[0]):
            for j in range(i, -1, -1):
                a[i, j] = np.cos(a[i, j] * (1.0 + 0.05 * total))
                total += a[i, j] ** 2
        iterations += 1
    return total


def left_early(x, limit):
    x = x.copy()
    total, iterations = 0.0, 0
    while iterations < limit:
        iterations += 1
        for i in range(x.shape[0]):
            x[i] = np.exp(-x[i] * x[i])
            total += x[i] ** 3
            if total > 2.5:
                break
        if total > 2.0:
            break
        total *= 0.5
    return total


def one_in_the_other(x, limit):
    x = x.copy()
    total, outer = 0.0, 0
    while outer < limit:
        inner = 0
        while inner < outer + 1:
            for i in range(x.shape[0]):
                x[i] = np.sin(x[i] + 0.1 * total)
            inner += 1
        for i in range(x.shape[0] - 1):
            total += x[i] * x[i + 1]
        outer += 1
    return total


def three_at_a_time(x, limit):
    y = np.zeros(3)
    iterations = 0
    while iterations < limit:
        for i in range(3):
            y[i] = np.sin(y[i] + x[i])
        iterations += 1
    return y[0] * y[1] * y[2]


X = np.linspace(0.2, 0.9, 6)
CASES = (
    (relaxed, (X, 0.1 * X, 4)),
    (fewer_in_each_iteration, (X, 1)),
    (triangles, (np.linspace(0.1, 0.8, 9).reshape(3, 3), 100.0)),
    (left_early, (X, 5)),
    (one_in_the_other, (X, 3)),
)


@pytest.mark.slow
@pytest.mark.parametrize(("function", "args"), sampled(CASES, 5), ids=[case[0].__name__ for case in CASES])
def test_values_of_inner_loops_are_in_buffers(function, args):
    source = tapec.value_and_grad(function).source(*[numba.typeof(arg) for arg in args])
    assert "_store_stack.append(" in source
    with interpreted():
        check(function, args, wrt=(0,), forward_level=0)
        # no iterations at all, or none of an inner loop
        check(function, (*args[:-1], 100 if function is fewer_in_each_iteration else 0), wrt=(0,), forward_level=0)


@pytest.mark.parametrize(("function", "args"), sampled(CASES, 2))
def test_at_every_level_and_as_a_pullback(function, args):
    with interpreted():
        expected = tapec.grad(function)(*args)
        for level in (0, 1):
            np.testing.assert_allclose(tapec.grad(function, opt_level=level)(*args), expected, rtol=1e-12)
        value, pullback = tapec.vjp(function, *args)
        np.testing.assert_allclose(pullback(1.0)[0], expected, rtol=1e-12)


def test_few_values_known_in_number_stay_on_lists():
    assert "_store_stack" not in tapec.emit(three_at_a_time, signature="f8[::1], i8", opt_level=2)


def test_short_loops_of_counted_ones_have_no_buffers_of_their_own():
    """An array for each row of a sparse matrix took three times as long as numbers on a list."""
    text = tapec.emit(rows_of_a_sparse_matrix, signature="f8[::1], i8[::1], i8[::1], i8", opt_level=2)
    assert "_store_stack" not in text and "_stack[" in text


def test_explain_counts_a_buffer_for_each_iteration():
    told = str(tapec.explain(relaxed, signature="f8[::1], f8[::1], i8"))
    assert "8 * (u.shape[0] - 2) bytes for each iteration of line" in told
    assert told.count("stored: `new`") == 1


def neighbours(x, thr):
    """Four neighbours of each place, in two loops once those along either axis are told apart."""
    queue = np.zeros(x.shape[0], dtype=np.int64)
    level = x.copy()
    head, tail, total = 0, 1, 0.0
    while head < tail:
        here = queue[head]
        head += 1
        total += np.log1p(level[here] ** 2)
        for k in range(4):
            there = here + (1 if k == 0 else (-1 if k == 1 else k))
            if there <= here or there >= x.shape[0] or tail >= x.shape[0] or level[there] > thr:
                continue
            level[there] = max(level[here], x[there])
            queue[tail] = there
            tail += 1
    return total


@pytest.mark.slow
def test_a_few_iterations_that_formulas_count_stay_on_lists():
    """Two iterations are `4 - 2` of them, at least none."""
    assert "_store_stack" not in tapec.emit(neighbours, signature="f8[::1], f8", opt_level=2)
    with interpreted():
        x = np.random.default_rng(3).uniform(0.1, 0.9, 9)
        check(neighbours, (x, 2.0), wrt=(0,), forward_level=0)
