"""Which iteration took a branch last is kept, in place of which iterations did, where the reverse sweep asks for that
alone.
"""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.loops.last_branch import keep_last_branch
from tapec.syntax.types import Array
from tests.optimise.reading import read
from tests.oracles import check
from tests.sampling import sampled

# a maximum per row of a matrix, and the search for who was the largest
ROWS = """
def f(A, a, a_1, k, n):
    A_kept = np.empty((k, n))
    n_1 = n - 1
    n_2 = n - 2
    for j in range(k):
        top = 0.0
        for i in range({iterations}):
            x = A[j, i]
            c = x > top
            {store}
            {after}
        a[j] = top
    for j_1 in range(k):
        t = a_1[j_1]
        for i_1 in range({back}):
            c_1 = A_kept[j_1, {sought}]
            if c_1:
                a[i_1] += t
                {last}
    return {result}
"""
PLAIN = {
    "iterations": "n",
    "store": "A_kept[j, i] = c",
    "after": "top = x if c else top",
    "back": "n_1, -1, -1",
    "sought": "i_1",
    "last": "break",
    "result": "k",
}


def changed(text: str) -> str:
    function = read(text)
    kept = Array("bool", 2)
    return printer.function(keep_last_branch(replace(function, types={**function.types, "A_kept": kept})), quote=False)


def test_the_last_iteration_is_kept():
    wanted = """
def f(A, a, a_1, k, n):
    last_store = np.empty(k, dtype=np.int64)
    n_1 = n - 1
    n_2 = n - 2
    for j in range(k):
        top = 0.0
        last = -1
        for i in range(n):
            x = A[j, i]
            c = x > top
            last = i if c else last
            top = x if c else top
        last_store[j] = last
        a[j] = top
    for j_1 in range(k):
        t = a_1[j_1]
        i_1 = last_store[j_1]
        t_1 = i_1 >= 0
        if t_1:
            a[i_1] += t
    return k
"""
    assert changed(ROWS.format(**PLAIN)) == wanted.lstrip()


def test_iterations_that_begin_later_keep_their_place():
    text = ROWS.format(**PLAIN | {"iterations": "2, n", "back": "n_1, 1, -1"})
    assert "last = i if c else last" in changed(text) and "kept" not in changed(text)


@pytest.mark.parametrize(
    "other",
    [
        # other iterations, not all of them, upward, from below zero
        {"back": "n_2, -1, -1"},
        {"back": "n_1, 0, -1"},
        {"iterations": "0, n, 2"},
        {"back": "n"},
        {"iterations": "-3, n", "back": "n_1, -4, -1"},
        # another place, all that were taken, a record that is used otherwise, or that an iteration may not write
        {"sought": "0"},
        {"last": "a[i_1] = t"},
        {"result": "A_kept"},
        {"store": "A_kept[j, 0] = c"},
        {"store": "A_kept[i, i] = c"},
        {"after": "if c:\n                break"},
        {"store": "if c:\n                A_kept[j, i] = c"},
    ],
)
def test_other_searches_stay(other: dict[str, str]):
    text = ROWS.format(**PLAIN | other)
    assert "A_kept" in changed(text) and "last" not in changed(text)


def nearest(x, w):
    total = 0.0
    for j in range(x.shape[0]):
        best, place = np.inf, 0
        for i in range(w.shape[0]):
            cost = (x[j] - w[i]) ** 2
            if cost < best:
                best, place = cost, i
        total += best * (1 + place)
    return total


def likeliest(score, jump):
    best = score[0].copy()
    for t in range(1, score.shape[0]):
        new = np.empty(best.size)
        for j in range(best.size):
            top = -np.inf
            for i in range(best.size):
                value = best[i] * jump[i, j]
                if value >= top:
                    top = value
            new[j] = top + score[t, j]
        best = new
    return best.sum()


def largest(x):
    top = x[0]
    for i in range(1, x.shape[0]):
        if x[i] > top:
            top = x[i]
    return top * top


@pytest.mark.slow
@pytest.mark.parametrize("states", sampled([3, 1, 10, 70], 4))
def test_maxima_by_loops(rng: np.random.Generator, states: int):
    check(likeliest, (rng.uniform(1.0, 2.0, (4, states)), rng.uniform(1.0, 2.0, (states, states))), forward_level=0)
    check(nearest, (rng.normal(size=5), rng.normal(size=states)), forward_level=0)
    check(largest, (rng.normal(size=states),), forward_level=0)


def test_nothing_is_searched_for_in_the_end():
    vector, matrix = numba.float64[::1], numba.float64[:, ::1]
    assert "_store" not in tapec.value_and_grad(nearest, (0, 1)).source(vector, vector)
    text = tapec.value_and_grad(likeliest, (0, 1)).source(matrix, matrix)
    assert "bool" not in text and "break" not in text


def test_ties_nan_and_nothing_at_all():
    assert tapec.grad(largest)(np.array([1.0, 3.0, 3.0, np.nan, 2.0])).tolist() == [0.0, 6.0, 0.0, 0.0, 0.0]
    first, second = tapec.grad(nearest, (0, 1))(np.ones(2), np.zeros(0))
    assert first.tolist() == [0.0, 0.0] and second.size == 0
    first, second = tapec.grad(likeliest, (0, 1))(np.ones((3, 0)), np.ones((0, 0)))
    assert first.shape == (3, 0) and second.shape == (0, 0)
