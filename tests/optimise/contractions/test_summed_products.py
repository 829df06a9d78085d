"""Rows that are summed before a product, instead of the product's rows."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import tapec
from tapec.optimise.contractions.summed_products import sum_before_products
from tests.optimise.reading import check
from tests.oracles import check as check_derivative
from tests.oracles import interpreted


def test_rows_are_summed_before_they_are_multiplied():
    check(
        sum_before_products,
        before="""
        def f(n, k, a):
            M = np.empty((n, k))
            W = np.empty((k, k))
            P = np.dot(M, W)
            for i in range(n):
                for j in range(k):
                    y = P[i, j]
                    P[i, j] = 0.0
                    z = -y
                    a[j] += z
            return a
        """,
        after="""
        def f(n, k, a):
            M = np.empty((n, k))
            W = np.empty((k, k))
            n_1 = M.shape[1]
            r = np.zeros(n_1)
            for i_1 in range(n):
                for k_1 in range(n_1):
                    t_1 = M[i_1, k_1]
                    r[k_1] += t_1
            q = np.dot(r, W)
            t = n > 0
            if t:
                for j in range(k):
                    y = q[j]
                    z = -y
                    a[j] += z
            return a
        """,
    )


@pytest.mark.parametrize(
    ("before", "iteration", "after"),
    [
        ("", "a[i] += y", ""),  # other elements for other rows
        ("", "z = y * y\n            a[j] += z", ""),
        ("", "z = y + x\n            a[j] += z", ""),
        ("", "z = a[i]\n            z_1 = y * z\n            a[j] += z_1", ""),  # other multiples
        ("", "a[j] = y", ""),
        ("", "a[j] += y\n            a[0] += x", ""),
        ("", "if c:\n                a[j] += y", ""),
        ("", "a[j] += y", "x = P[0, 0]"),  # something else reads the product
        ("", "a[j] += y", "x = y"),
        ("x = P[0, 0]", "a[j] += y", ""),
        ("P[0, 0] = x", "a[j] += y", ""),
        ("n_1 = k", "a[j] += y", ""),  # perhaps not all rows
    ],
)
def test_products_that_are_needed_stay(before: str, iteration: str, after: str):
    lines = [f"    {line}" for line in (before, after)]
    text = f"""
def f(x, n, k, c, a):
    n_1 = n
    M = np.empty((n_1, k))
    P = np.dot(M, M)
{lines[0]}
    for i in range(n_1):
        for j in range(k):
            y = P[i, j]
            {iteration}
{lines[1]}
    return x
"""
    text = "\n".join(line for line in text.splitlines() if line.strip()) + "\n"
    check(sum_before_products, text, text)


def shifted(x, m, w):
    return (((x - m) @ w.T) ** 2).sum()


@pytest.mark.slow
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_the_gradient_of_what_is_taken_from_all_rows_stays_the_same(rng: np.random.Generator, rows: int):
    args = rng.normal(size=(rows, 3)), rng.normal(size=3), rng.normal(size=(2, 3))
    with interpreted():
        gradients = [tapec.grad(shifted, (1, 2), opt_level=level)(*args) for level in (1, 2)]
        check_derivative(shifted, args, wrt=(1, 2))
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.compiled
def test_an_infinite_factor_of_no_rows_leaves_the_gradient_zero():
    with interpreted():
        found = tapec.grad(shifted, 1)(np.empty((0, 2)), np.ones(2), np.full((2, 2), np.inf))
    np.testing.assert_array_equal(found, np.zeros(2))


def test_the_generated_gradient_sums_first():
    matrix = numba.float64[:, ::1]
    source = tapec.grad(shifted, 1).source(matrix, numba.float64[::1], matrix).split("\n    else:\n")[0]
    assert "q = np.dot(r, " in source and source.count("np.dot(") == 2
