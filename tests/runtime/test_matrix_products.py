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


SIZES = ((2, 2, 300), (3, 5, 129), (10, 10, 1000), (7, 4, 131), (20, 20, 128), (1, 4, 700), (2, 0, 200), (21, 3, 150))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_few_long_rows(rng: np.random.Generator, dtype: type):
    @njit
    def sums(x, y):
        return tapec_runtime.product(x, y.T)

    @njit
    def combined(w, y):
        return tapec_runtime.product_in_rows(w, y)

    rounding = 1e-12 if dtype is np.float64 else 1e-4
    for rows, columns, terms in SIZES:
        x, y, w = (rng.normal(size=(n, m)).astype(dtype) for n, m in ((rows, terms), (columns, terms), (rows, columns)))
        cases = [(sums(x, y), x @ y.T), (combined(w, y), w @ y)]
        # machine code for another layout: of double precision alone
        cases += [(sums(np.asfortranarray(x), y), x @ y.T)] if dtype is np.float64 else []
        for found, wanted in cases:
            assert found.dtype == dtype and found.flags.c_contiguous
            np.testing.assert_allclose(found, wanted, rtol=rounding, atol=rounding, strict=True)
    for call, factors in ((sums, ((3, 200), (4, 300))), (combined, ((3, 4), (5, 300)))):
        with pytest.raises(ValueError, match=r"incompatible array sizes for np.dot\(a, b\)"):
            call(*(np.ones(shape, dtype) for shape in factors))


def through_layers(x, w):
    for k in range(w.shape[0]):
        x = np.tanh(x @ w[k].T)
    return x.sum()


@pytest.mark.slow
def test_loops_use_it_and_give_the_same_gradient(rng: np.random.Generator):
    args = rng.normal(size=(4, 3)), rng.normal(size=(2, 3, 3))
    with interpreted():
        fast, plain = (tapec.grad(through_layers, (0, 1), opt_level=level) for level in (2, 1))
        for one, other in zip(fast(*args), plain(*args), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        assert "tapec_runtime.product(" in fast.source() and "tapec_runtime.product(" not in plain.source()
