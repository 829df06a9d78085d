"""Variables, and arrays that nobody may write, as states that loops bind anew, also in compiled functions."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import tapec
from tapec import GradientTape, Variable

pytestmark = pytest.mark.usefixtures("mostly_plainly")

W = np.eye(3) * 2.0


@njit
def doubled(x, n):
    for _ in range(n):
        x = x * 2.0
    return x


@njit
def multiplied(x, w, n):
    for _ in range(n):
        x = x @ w
    return x.sum()


def read_only(array):
    array = np.array(array)
    array.flags.writeable = False
    return array


@pytest.mark.slow
@pytest.mark.parametrize("value", [3.0, np.ones(3), np.ones((3, 3)), np.asfortranarray(np.ones((3, 3)))])
def test_a_jitted_function_binds_its_parameter_anew(value):
    x = Variable(value)
    with GradientTape(persistent=True) as tape:
        y = np.sum(doubled(x, 3))
        z = multiplied(x, W, 2) if np.ndim(value) == 2 else y
    assert np.array_equal(tape.gradient(y, x), np.full(np.shape(value), 8.0))
    assert np.array_equal(tape.gradient(z, x), np.full(np.shape(value), 4.0 if np.ndim(value) == 2 else 8.0))


def rolled(start, w, n):
    h = start
    for _ in range(n):
        h = h @ w
    return np.sum(h)


@pytest.mark.slow
@pytest.mark.parametrize("start", [np.ones(3), np.ones((2, 3)), np.ones((3, 2)).T])
@pytest.mark.parametrize("kind", [Variable, read_only, np.array])
def test_a_state_starts_as_what_nobody_may_write(kind, start):
    weights = Variable(W)

    def slopes(state, n):
        with GradientTape() as tape:
            tape.watch(state)
            h = state
            for _ in range(n):
                h = h @ weights
            loss = np.sum(h)
        return tape.gradient(loss, [state, weights])

    state, compiled = kind(start), tapec.function(slopes)
    for n in (0, 1, 3):
        by_state, by_weights = slopes(state, n)
        assert np.allclose(by_state, 2.0**n)
        again = compiled(state, n)
        assert np.array_equal(by_state, again[0])
        assert (by_weights is None) == (again[1] is None) == (n == 0)
        assert n == 0 or np.allclose(by_weights, again[1])
    if kind is read_only:
        plain = tapec.grad(rolled, (0, 1))(start, W, 3)
        for one, other in zip(tapec.grad(rolled, (0, 1))(state, W, 3), plain, strict=True):
            assert np.allclose(one, other)
