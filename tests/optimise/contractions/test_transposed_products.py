"""Products that are added to a transposed array, taken in transpose."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

import tapec
from tapec.optimise.contractions.transposed_products import transpose_products
from tests.optimise.reading import check, open_axes, opened, read
from tests.oracles import check as check_derivative
from tests.oracles import interpreted

PROGRAM = """
def f(W, A, B, n, k, z):
    V = W.T
    P = np.dot(A, B)
    {before}
    for i in range(n):
        for j in range({stop}):
            {body}
    {after}
    return W
"""
LONG = """x = V[i, j]
            y = P[i, j]
            t = x + y
            V[i, j] = t"""
SHORT = """y = P[i, j]
            V[i, j] += y"""
TURNED = """
def f(W, A, B, n, k, z):
    {first} = A.T
    {second} = B.T
    P = np.dot({second}, {first})
    n = k
    for j in range(k):
        for i in range(n):
            {body}
    return W
"""


def program(body: str, before: str = "n = k", stop: str = "k", after: str = "n = k") -> str:
    return PROGRAM.format(body=body, before=before, stop=stop, after=after)


@pytest.mark.parametrize(("body", "names"), [(LONG, ("t_1", "t_2")), (SHORT, ("t", "t_1"))], ids=["long", "short"])
def test_a_product_is_turned(body, names):
    turned = body.replace("V[i, j]", "W[j, i]").replace("P[i, j]", "P[j, i]")
    first, second = names
    check(transpose_products, program(body), TURNED.format(body=turned, first=first, second=second))


def test_open_axes_change_places():
    changed = transpose_products(opened(read(program(LONG)), V=(0,), P=(1,)))
    assert open_axes(changed, "W") == [(1,), (1,)] and open_axes(changed, "P") == [(0,)]


@pytest.mark.parametrize(
    "text",
    [
        program(SHORT, before="z = P[0, 0]"),
        program(SHORT, after="z = P[0, 0]"),
        program(SHORT, stop="i"),
        program(SHORT.replace("P[i, j]", "P[j, i]")),
        program(SHORT.replace("V[i, j]", "W[i, j]")),
        program(SHORT.replace("+=", "=")),
        program(SHORT + "\n            z = y"),
        program(SHORT, before="V = A.T"),
        program(SHORT, before="W = A"),
    ],
    ids=["read before", "read after", "triangle", "turned", "no transpose", "set", "kept", "two views", "two arrays"],
)
def test_other_sums_stay(text):
    check(transpose_products, text, textwrap.dedent(text))


def gram(x):
    """Of a factor in transpose, in another order of rows, and both factors."""
    s = x.T @ x
    return (s * s).sum() + (s @ x.T)[0, 1]


def layer(x, w):
    """Rows times the rows of a matrix, in a loop."""
    y = x
    for _ in range(2):
        y = np.tanh(y @ w.T)
    return y.sum()


@pytest.mark.slow
def test_derivatives_are_right():
    rng = np.random.default_rng(2)
    with interpreted():
        check_derivative(gram, (rng.normal(size=(4, 3)),))
        check_derivative(layer, (rng.normal(size=(4, 3)), rng.normal(size=(3, 3))), wrt=(0, 1))
    assert "x_bar.T" not in tapec.emit(gram, 0, "f8[:, ::1]", opt_level=2)
