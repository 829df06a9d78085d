"""Rows that every iteration of a loop would keep are kept once, before it."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.buffers.row_store_hoisting import hoist_row_stores
from tests.optimise.reading import check, read
from tests.oracles import interpreted

NEST = """
def f(A, B, a, n):
    for k in range(n):
        n_1 = k + 1
        for i in range({start}, n):
            r = A[i, k]
            {first}
            for j in range({low}, n):
                n_2 = j - n_1
                s = {loaded}
                B[{kept}] = s
                t = r * s
                {last}
    return n
"""


def nest(**changed: str) -> str:
    given = {"start": "n_1", "first": "pass", "low": "n_1", "loaded": "A[k, j]", "kept": "k, n_2"}
    return NEST.format(**{**given, "last": "A[i, j] += t", **changed})


def test_a_pivots_row_is_kept_before_the_rows_below_it():
    after = """
    def f(A, B, a, n):
        for k in range(n):
            n_1 = k + 1
            some = n_1 < n
            if some:
                for j_1 in range(n_1, n):
                    n_2_1 = j_1 - n_1
                    s_1 = A[k, j_1]
                    B[k, n_2_1] = s_1
            for i in range(n_1, n):
                r = A[i, k]
                for j in range(n_1, n):
                    n_2 = j - n_1
                    s = A[k, j]
                    t = r * s
                    A[i, j] += t
        return n
    """
    check(hoist_row_stores, nest(), after)


@pytest.mark.parametrize(
    "changed",
    [
        {"start": "k"},
        {"low": "i"},
        {"loaded": "A[i, j]"},
        {"loaded": "a[j] * r"},
        {"kept": "i, n_2"},
        {"first": "r = B[k, k]"},
        {"last": "A[k, j] += t"},
        {"last": "A[n_2, j] += t"},
        {"first": "break"},
    ],
)
def test_what_iterations_change_or_use_stays_in_the_loop(changed):
    function = read(nest(**changed))
    assert printer.function(hoist_row_stores(function), quote=False) == printer.function(function, quote=False)


def eliminated(matrix):
    """The logarithm of a determinant by elimination with pivots, and the sum of what is left."""
    n = matrix.shape[0]
    a = matrix.copy()
    total = 0.0
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[best, k]):
                best = i
        if best != k:
            for j in range(n):
                a[k, j], a[best, j] = a[best, j], a[k, j]
        total += np.log(abs(a[k, k]))
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return total + a[n - 1, 0]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_gradients_of_eliminations(rng: np.random.Generator, size):
    matrix = rng.normal(size=(size, size))
    with interpreted():
        made = tapec.grad(eliminated)(matrix)
        expected = tapec.grad(eliminated, opt_level=0)(matrix)
    np.testing.assert_allclose(made, expected, rtol=1e-10, atol=1e-12)
