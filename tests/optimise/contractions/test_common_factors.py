"""Two products that are added up and share a factor are one."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.contractions.common_factors import factor_out_products
from tests.optimise.reading import read
from tests.oracles import interpreted

PROGRAM = """
def f(n, m, x):
    A = np.zeros((n, n))
    B = np.zeros((n, {extent}))
    C = np.zeros((n, n))
    P = np.dot({first})
    {between}
    Q = np.dot({second})
    for i in range(n):
        for j in range(n):
            t = Q[i, j]
            P[{row}, j] += t
    {after}
    return P
"""


def program(first="A, B", second="A, C", between="pass", after="pass", extent="n", row="i"):
    text = PROGRAM.format(first=first, second=second, between=between, after=after, extent=extent, row=row)
    return read("\n".join(line for line in text.splitlines() if line.strip() != "pass"))


def test_the_factors_are_added_up_before():
    joined = printer.function(factor_out_products(program()), quote=False)
    assert joined.count("np.dot") == 1 and "P = np.dot(A, t_1)" in joined
    assert "t_2 = B[i_1, j_1]" in joined and "t_3 = C[i_1, j_1]" in joined


def test_so_are_first_factors():
    joined = printer.function(factor_out_products(program("B, A", "C, A")), quote=False)
    assert joined.count("np.dot") == 1 and "P = np.dot(t_1, A)" in joined


@pytest.mark.parametrize(
    "parts",
    [
        {"second": "B, C"},
        {"extent": "m"},
        {"between": "C[0, 0] = x"},
        {"between": "s = P[0, 0]\n    C[0, 0] = s"},
        {"after": "s = Q[0, 0]\n    P[0, 0] = s"},
        {"row": "j"},
    ],
)
def test_what_stays(parts):
    function = program(**parts)
    assert printer.function(factor_out_products(function)).count("np.dot") == 2


def gram(x, w):
    g = x.T @ x
    h = x @ (w @ x.T)
    k = x @ x.T
    return (g * g * g).sum() + np.sum(h * h) + np.tanh(k).sum()


@pytest.mark.slow
def test_derivatives_are_right(rng: np.random.Generator):
    source = tapec.emit(gram, (0, 1), signature="f8[:, :], f8[:, :]", opt_level=2)
    # four products of the function, one for the adjoints of each of `g` and `k`, four for those of the others
    assert source.count("np.dot") == 10
    args = rng.normal(size=(7, 3)), rng.normal(size=(3, 3))
    with interpreted():
        one, other = (tapec.value_and_grad(gram, (0, 1), opt_level=level)(*args) for level in (1, 2))
    assert one[0] == pytest.approx(other[0], rel=1e-12)
    for mine, wanted in zip(other[1], one[1], strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-10, atol=1e-12)
