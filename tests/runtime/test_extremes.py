"""The larger and smaller of two numbers, on vectors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numba import njit

import tapec
import tapec_runtime
from tests.sampling import sampled

NUMBERS = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 1e-310]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_the_results_are_those_of_numpy(name, dtype):
    function, plain = getattr(tapec_runtime, name), getattr(np, name)

    @njit
    def each(x, y, out):
        for i in range(x.size):
            out[i] = function(x[i], y[i])

    x, y = np.array(list(itertools.product(NUMBERS, NUMBERS)), dtype=dtype).T.copy()
    out = np.empty_like(x)
    each(x, y, out)
    np.testing.assert_array_equal(out, plain(x, y))


@pytest.mark.parametrize("where", [0, 7, 99])
@pytest.mark.parametrize("name", sampled(["max", "min"], 3))
def test_a_nan_is_found_wherever_it_is(name, where):
    def extreme(x):
        return getattr(x, name)()

    x = np.linspace(-1.0, 1.0, 100)
    x[where] = np.nan
    value, gradient = tapec.value_and_grad(extreme)(x)
    assert np.isnan(value)
    np.testing.assert_array_equal(gradient, np.full(100, 0.01))


@pytest.mark.slow
def test_extremes_of_a_loop_can_run_on_vectors():
    def largest(x, y):
        return np.maximum(x, y).max()

    text = tapec.emit(largest, wrt=(0, 1), signature="f8[::1], f8[::1]", opt_level=2)
    assert "tapec_runtime.maximum(" in text
    assert "= np.maximum(" not in text
    assert "= np.maximum(" in tapec.emit(largest, wrt=(0, 1), signature="f8[::1], f8[::1]", math="libm", opt_level=2)


def test_a_float_of_single_precision_is_one_of_two_kinds():
    # for Numba, `float` leaves a number of single precision as it is
    @njit
    def clipped(x):
        return tapec_runtime.minimum(tapec_runtime.maximum(x, -0.5), 0.5)

    found = [clipped(np.float32(x)) for x in (-1.0, 0.25, 3.0)]
    assert found == [-0.5, 0.25, 0.5]
    assert [str(signature.return_type) for signature in clipped.nopython_signatures] == ["float64"]


def test_a_clipped_array_of_single_precision():
    def area(x):
        return np.sum(np.clip(x, -0.5, 0.5) * np.float32(3))

    found = tapec.grad(area)(np.linspace(-1, 1, 5).astype(np.float32))
    np.testing.assert_array_equal(found, np.array([0, 1.5, 3, 1.5, 0], np.float32))
