"""Blocks of derivatives, by rows and by columns, on core text; the reference is the formula of each."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.errors import NotDifferentiable
from tapec.transforms.jacobian import blocks_of, directed
from tests.optimise.comparison import run
from tests.optimise.reading import read

SCALED = """
def f(a, n):
    a_y = np.zeros(n)
    for i in range(n):
        t = a[i]
        s = a[0]
        u = t * s
        a_y[i] = u
    return a_y
"""
ENERGY = """
def f(a, n):
    s = 0.0
    for i in range(n):
        t = a[i]
        u = t * t
        v = u * t
        w = s + v
        s = w
    return s
"""
DRAWN = """
def f(a, n):
    t = np.random.random()
    s = a[0]
    u = s * t
    return u
"""


def scaled(x):
    """The Jacobian of `x * x[0]`."""
    found = np.diag(np.full(len(x), x[0]))
    found[:, 0] += x
    return found


@pytest.mark.parametrize("kind", ["jacobian", "jacfwd", "jacrev"])
@pytest.mark.parametrize("length", [1, 2, 9])
def test_rows_and_columns_give_the_same_block(kind, length):
    x = np.arange(1.0, length + 1.0)
    (block, *_) = run(blocks_of(kind, read(SCALED), ("a",), frozenset()), (x, length))
    np.testing.assert_allclose(block, scaled(x), rtol=1e-15)


def test_second_derivatives_and_their_products():
    x, vector = np.array([1.0, -2.0, 0.5]), np.array([1.0, 2.0, 3.0])
    (block, *_) = run(blocks_of("hessian", read(ENERGY), ("a",), frozenset()), (x, 3))
    np.testing.assert_allclose(block, np.diag(6.0 * x), rtol=1e-15)
    (product, *_) = run(directed(read(ENERGY), ("a",), frozenset()), (x, 3, vector))
    np.testing.assert_allclose(product, 6.0 * x * vector, rtol=1e-15)


def test_a_vector_of_another_length_is_refused():
    assert run(directed(read(ENERGY), ("a",), frozenset()), (np.ones(3), 3, np.ones(2))) == (ValueError,)


@pytest.mark.parametrize("kind", ["jacfwd", "hessian"])
def test_runs_that_would_draw_other_numbers_are_refused(kind):
    with pytest.raises(NotDifferentiable, match="random"):
        blocks_of(kind, read(DRAWN), ("a",), frozenset())
