"""Four iterations of a loop around lanes run at once."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.vectors.unroll_and_jam import unroll_and_jam
from tests.optimise.reading import check, read
from tests.oracles import interpreted
from tests.sampling import sampled

SUMS = """
def f(A, a, w, k, n):
    a_lanes = np.empty(64)
    a_part = a_lanes[1:]
    for j in range({start}, {stop}, {step}):
        {before}
        for i in range(n):
            s = a_lanes[i]
            t = {value}
            {sum} = {first} + t
            {store} = {stored}
        {behind}
    return a_lanes
"""


def sums(**changed: str) -> str:
    given = {"start": "0", "stop": "k", "step": "1", "before": "w = a[j]", "value": "A[j, i] * w"}
    given |= {"sum": "s", "first": "s", "store": "a_lanes[i]", "stored": "s", "behind": "pass"}
    return SUMS.format(**{**given, **changed})


def test_what_iterations_hand_on_stays_in_a_register():
    before = """
    def f(A, a, k, n):
        a_lanes = np.empty(64)
        for j in range(1, k):
            w = a[j]
            for i in range(n):
                s = a_lanes[i]
                t = A[j, i]
                u = w * t
                v = s + u
                a_lanes[i] = v
        return a_lanes
    """
    after = """
    def f(A, a, k, n):
        a_lanes = np.empty(64)
        size = k - 1
        size_1 = max(size, 0)
        size_2 = size_1 // 4
        size_3 = size_2 * 4
        size_4 = 1 + size_3
        for j in range(1, size_4, 4):
            w = a[j]
            j_1 = j + 1
            w_1 = a[j_1]
            j_2 = j + 2
            w_2 = a[j_2]
            j_3 = j + 3
            w_3 = a[j_3]
            for i in range(n):
                s = a_lanes[i]
                t = A[j, i]
                u = w * t
                v = s + u
                t_1 = A[j_1, i]
                u_1 = w_1 * t_1
                v_1 = v + u_1
                t_2 = A[j_2, i]
                u_2 = w_2 * t_2
                v_2 = v_1 + u_2
                t_3 = A[j_3, i]
                u_3 = w_3 * t_3
                v_3 = v_2 + u_3
                a_lanes[i] = v_3
        for j_4 in range(size_4, k):
            w_4 = a[j_4]
            for i_1 in range(n):
                s_4 = a_lanes[i_1]
                t_4 = A[j_4, i_1]
                u_4 = w_4 * t_4
                v_4 = s_4 + u_4
                a_lanes[i_1] = v_4
        return a_lanes
    """
    check(unroll_and_jam, before, after, again=False)


@pytest.mark.parametrize(
    "changed",
    [
        {"step": "2"},
        {"stop": "3"},
        {"before": "w = a_lanes[j]"},
        {"value": "a_lanes[j] * w"},
        {"store": "a_lanes[j]"},
        {"store": "A[j, i]"},
        {"store": "a[i]"},
        {"sum": "w", "first": "w"},
        {"value": "np.exp(s)"},
        {"behind": "a[j] = w"},
        # another name for the same memory, one element on
        {"value": "a_part[i] * w"},
        # draws come in the order of iterations
        {"value": "np.random.random()"},
    ],
)
def test_others_run_one_by_one(changed):
    assert ", 4):" in printer.function(unroll_and_jam(read(sums())), quote=False)
    assert ", 4):" not in printer.function(unroll_and_jam(read(sums(**changed))), quote=False)


def weighted(x, w):
    """Sums of products for each row, with a triangle of weights, forwards and backwards."""
    total = 0.0
    for i in range(x.shape[0]):
        y = np.zeros(w.shape[0])
        for c in range(w.shape[0]):
            for k in range(c + 1):
                y[c] += w[c, k] * x[i, k]
        for c in range(w.shape[0]):
            total += y[c] * y[c] * x[i, c]
    return total


@pytest.mark.parametrize("size", sampled([1, 3, 4, 5, 8, 11], 3))
@pytest.mark.parametrize("rows", [0, 1, 65])
def test_gradients_are_what_they_were(rng: np.random.Generator, size, rows):
    args = rng.normal(size=(rows, size)), rng.normal(size=(size, size))
    with interpreted():
        value, made = tapec.value_and_grad(weighted, (0, 1))(*args)
        plain, expected = tapec.value_and_grad(weighted, (0, 1), opt_level=0)(*args)
    assert value == pytest.approx(plain, rel=1e-12, abs=1e-12)
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-11)


def test_the_triangle_is_jammed():
    text = tapec.emit(weighted, (0, 1), signature="f8[:, ::1], f8[:, ::1]", opt_level=2)
    assert text.count("4):") >= 2
