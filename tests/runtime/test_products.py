"""Products with a factor in columns."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import tapec
import tapec_runtime
from tests.oracles import interpreted


@pytest.mark.slow
@pytest.mark.parametrize("columns", [3, 30])
def test_the_product_is_that_of_numpy(rng: np.random.Generator, columns: int):
    @njit
    def both(x, w):
        return tapec_runtime.product(x, w.T)

    x, w = rng.normal(size=(5, columns)), rng.normal(size=(columns, columns))
    np.testing.assert_allclose(both(x, w), x @ w.T, rtol=1e-13)
    np.testing.assert_allclose(tapec_runtime.product(x, w.T), x @ w.T, rtol=1e-13)
    with pytest.raises(ValueError):
        both(x[:, 1:].copy(), w)


def through_layers(x, w):
    for k in range(w.shape[0]):
        x = np.tanh(x @ w[k].T)
    return x.sum()


def test_loops_use_it_and_give_the_same_gradient(rng: np.random.Generator):
    args = rng.normal(size=(4, 3)), rng.normal(size=(2, 3, 3))
    with interpreted():
        fast, plain = (tapec.grad(through_layers, (0, 1), opt_level=level) for level in (2, 1))
        for one, other in zip(fast(*args), plain(*args), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        assert "tapec_runtime.product(" in fast.source() and "tapec_runtime.product(" not in plain.source()
