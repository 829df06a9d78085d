"""`vmap`: a loop over examples."""

from __future__ import annotations

import doctest
import functools
import pickle
from collections import namedtuple

import numpy as np
import pytest
from numba import njit

import tapec
import tapec.batching
from tapec.errors import UsageError

pytestmark = pytest.mark.generated

Pair = namedtuple("Pair", "a b")
rng = np.random.default_rng(0)
W, X, Y = rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=5)


def loss(w, x, y):
    return (w @ x - y) ** 2


def losses():
    return tapec.vmap(loss, in_axes=(None, 0, 0))


@pytest.mark.slow
def test_values_and_derivatives_of_examples():
    np.testing.assert_allclose(losses()(W, X, Y), (X @ W - Y) ** 2)
    gradients = tapec.vmap(tapec.grad(loss), in_axes=(None, 1, 0))(W, X.T.copy(), Y)
    np.testing.assert_allclose(gradients, 2.0 * (X @ W - Y)[:, None] * X)
    blocks = tapec.vmap(tapec.jacobian(lambda x: np.array([x[0] * x[1], x[2]])))(X)
    assert blocks.shape == (5, 2, 3)
    np.testing.assert_allclose(blocks[:, 0, 0], X[:, 1])
    last = tapec.vmap(lambda x: 2.0 * x, out_axes=-1)(X)
    np.testing.assert_allclose(last, 2.0 * X.T)


def test_branches_and_loops_of_each_example():
    def root(x):
        y = x
        while abs(y * y - x) > 1e-12:
            y = 0.5 * (y + x / y)
        return y

    np.testing.assert_allclose(tapec.vmap(root)(np.array([1.0, 2.0, 9.0])), [1.0, np.sqrt(2.0), 3.0])


@pytest.mark.slow
def test_structures():
    def both(p, s):
        return p["a"] * s + np.sum(p["b"]), Pair(p["b"] * 2.0, 3)

    first, second = tapec.vmap(both, in_axes=(0, None))({"a": Y, "b": X}, 2.0)
    np.testing.assert_allclose(first, 2.0 * Y + np.sum(X, axis=1))
    assert type(second) is Pair and second.b.dtype == np.int64
    np.testing.assert_allclose(second.a, 2.0 * X)
    gradient = tapec.vmap(tapec.grad(lambda p: p["a"] ** 2 * np.sum(p["b"])))({"a": Y, "b": X})
    assert list(gradient) == ["a", "b"]
    np.testing.assert_allclose(gradient["b"], (Y**2)[:, None] * np.ones(3))


def test_what_an_example_writes_is_written_once():
    def doubled(x, count):
        x *= 2.0
        count[0] += 1.0
        return x * count[0]

    x, count = np.ones((3, 2)), np.zeros(1)
    np.testing.assert_array_equal(tapec.vmap(doubled, in_axes=(0, None))(x, count)[:, 0], [2.0, 4.0, 6.0])
    np.testing.assert_array_equal(x, 2.0)
    assert count[0] == 3.0


def test_dtypes_and_no_examples():
    assert tapec.vmap(lambda x: x * 2)(X.astype(np.float32)).dtype == np.float32
    squares, positive = tapec.vmap(lambda z: (z * z, z.real > 0))(np.array([1.0 + 1.0j, -2.0]))
    np.testing.assert_allclose(squares, [2.0j, 4.0])
    assert positive.tolist() == [True, False]
    assert tapec.vmap(lambda x: np.sum(x))(np.ones((0, 3))).shape == (0,)
    with pytest.raises(ValueError, match="no examples"):
        tapec.vmap(lambda x: x * 2)(np.ones((0, 3)))


def test_defaults_and_none():
    assert tapec.vmap(lambda x, a=2.0: x * a, in_axes=(0, None))(np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
    doubled, nothing = tapec.vmap(lambda x: (x * 2.0, None))(X)
    assert nothing is None and doubled.shape == X.shape
    assert tapec.vmap(lambda x: (x, None))(np.zeros(0))[1] is None


def test_it_is_differentiated():
    batch = losses()
    np.testing.assert_allclose(tapec.grad(lambda w: np.sum(batch(w, X, Y)))(W), 2.0 * (X @ W - Y) @ X)


def test_refusals():
    with pytest.raises(ValueError, match="different numbers of examples"):
        losses()(W, X, Y[:3])
    with pytest.raises(ValueError, match="a number has none"):
        losses()(W, X, 1.0)
    for axes in ((0,), (0, 0, "x"), 1.5):
        with pytest.raises(UsageError, match="in_axes of `loss`"):
            tapec.vmap(loss, in_axes=axes)
    with pytest.raises(UsageError, match="no argument"):
        tapec.vmap(loss, in_axes=None)
    with pytest.raises(UsageError, match="out_axes"):
        tapec.vmap(loss, out_axes=(0,))
    with pytest.raises(UsageError, match="arguments already"):
        tapec.vmap(functools.partial(loss, W))
    with pytest.raises(UsageError, match="any number of them"):
        tapec.vmap(lambda *x: x[0])


@pytest.mark.slow
@pytest.mark.compiled
def test_in_jitted_code_and_pickled():
    batch = losses()

    @njit
    def total(w, x, y):
        return batch(w, x, y).sum()

    assert np.isclose(total(W, X, Y), np.sum((X @ W - Y) ** 2))
    np.testing.assert_allclose(pickle.loads(pickle.dumps(batch))(W, X, Y), (X @ W - Y) ** 2)
    threads = tapec.vmap(loss, in_axes=(None, 0, 0), parallel=True)
    np.testing.assert_allclose(threads(W, X, Y), (X @ W - Y) ** 2)


@pytest.mark.slow
@pytest.mark.compiled
def test_docstrings():
    assert doctest.testmod(tapec.batching).failed == 0
