"""Functions that are called as they are, in custom gradients and beside derivatives."""

from __future__ import annotations

import ctypes
import math
import operator
from typing import Any

import numba
import numpy as np
import pytest
import scipy.special as sp

import tapec

pytestmark = pytest.mark.compiled
X = np.arange(1.0, 4.0)
COSINE = ctypes.CDLL(None).cos
LAMBERT = tapec.opaque(lambda x: sp.lambertw(x).real)
COSINE.restype, COSINE.argtypes = ctypes.c_double, [ctypes.c_double]


class Cumulative:
    """No function, and nothing that may be read."""

    def __call__(self, a: Any) -> Any:
        try:
            return np.cumsum(a)
        finally:
            pass


CUMULATIVE = tapec.opaque(Cumulative())
AIRY, AIRY_SLOPE = tapec.opaque(lambda x: sp.airy(x)[0]), tapec.opaque(lambda x: sp.airy(x)[1])


@tapec.custom_gradient
def summed(x):
    def gradient(dy):
        return CUMULATIVE(dy[::-1].copy())[::-1].copy()

    return CUMULATIVE(x), gradient


@tapec.custom_gradient
def airy(x):
    return AIRY(x), lambda dy: dy * AIRY_SLOPE(x)


@tapec.custom_gradient
def cubed(x):
    # neither has source, nor a rule
    return operator.pow(x, 3), lambda dy: 3.0 * dy * operator.pow(x, 2)


@tapec.custom_gradient
def by_c(x):
    return COSINE(x), lambda dy: -dy * LAMBERT(math.sin(x) * math.exp(math.sin(x)))


def of_sums(x):
    return np.sum(summed(x) ** 2)


EXPECTED = np.array([20.0, 18.0, 12.0])


@pytest.mark.slow
def test_what_cannot_be_read_is_called():
    assert np.array_equal(tapec.grad(of_sums)(X), EXPECTED)
    assert tapec.grad(airy)(1.0) == sp.airy(1.0)[1]
    assert tapec.grad(cubed)(2.0) == 12.0
    assert tapec.value_and_grad(by_c)(0.3) == pytest.approx((math.cos(0.3), -math.sin(0.3)))


@pytest.mark.slow
def test_in_tapes_and_compiled_functions():
    v = tapec.Variable(X)
    with tapec.GradientTape() as tape:
        y = of_sums(v)
    assert np.array_equal(tape.gradient(y, v), EXPECTED)

    @tapec.function
    def step(v):
        with tapec.GradientTape() as tape:
            y = of_sums(v)
        return tape.gradient(y, v)

    assert np.array_equal(step(v), EXPECTED)


@pytest.mark.slow
def test_from_jitted_code_and_in_loops():
    slope = tapec.grad(airy)

    @numba.njit
    def twice(x):
        return 2.0 * slope(x)

    assert twice(1.0) == 2.0 * sp.airy(1.0)[1]

    def total(x, n):
        s = 0.0
        for i in range(n):
            s += airy(x[i]) * x[i]
        return s

    expected = sp.airy(X)[1] * X + sp.airy(X)[0]
    np.testing.assert_allclose(tapec.grad(total)(X, 3), expected, rtol=1e-14)
    np.testing.assert_allclose(tapec.grad(total, parallel=True)(X, 3), expected, rtol=1e-14)


def test_a_rule_that_is_read_is_differentiated():
    @tapec.custom_gradient
    def lgamma(x):
        return tapec.opaque(sp.gammaln)(x), lambda dy: dy * sp.psi(x)

    assert tapec.hessian(lgamma)(2.5) == pytest.approx(sp.polygamma(1, 2.5))
    with pytest.raises(tapec.errors.NotDifferentiable, match="`function` is called as it is, and has no derivative"):
        tapec.hessian(airy)(1.0)


@pytest.mark.slow
def test_beside_derivatives():
    assert np.array_equal(tapec.grad(lambda x: np.sum(x * CUMULATIVE(tapec.stop_gradient(x))))(X), np.cumsum(X))
    with pytest.raises(tapec.errors.NotDifferentiable, match="called as it is, and has no derivative"):
        tapec.grad(lambda x: np.sum(CUMULATIVE(x)))(X)
    with pytest.raises(tapec.errors.NotDifferentiable, match="called as it is, and has no derivative"):
        tapec.jvp(lambda x: CUMULATIVE(x), (X,), (X,))


@pytest.mark.slow
def test_types_of_results():
    halves = tapec.opaque(lambda x: np.asarray(x)[::2], "f8[:]")
    assert np.array_equal(tapec.grad(lambda x: np.sum(x * halves(np.ones(6))))(X), np.ones(3))
    counted = tapec.opaque(lambda x: len(x))
    assert np.array_equal(tapec.grad(lambda x: np.sum(x) * counted(np.ones(5)))(X), 5.0 * np.ones(3))
    assert tapec.grad(lambda x: x + tapec.opaque(math.erf, "f8")(2.0))(1.0) == 1.0


@pytest.mark.slow
def test_registered_functions():
    cosine = ctypes.CDLL(None).cosh
    cosine.restype, cosine.argtypes = ctypes.c_double, [ctypes.c_double]
    tapec.register(cosine, lambda dy, y, x: dy * math.sinh(x))
    assert tapec.grad(lambda x: cosine(x) * x)(0.3) == pytest.approx(math.cosh(0.3) + 0.3 * math.sinh(0.3))

    class Model:
        def __init__(self):
            self.weights = np.arange(3.0)

        def predict(self, a):
            return float(np.dot(self.weights, np.tanh(a)))

    model = Model()
    predict = model.predict
    tapec.register(predict, lambda dy, y, a: dy * model.weights * (1.0 - np.tanh(a) ** 2))
    expected = 2.0 * model.predict(X) * model.weights * (1.0 - np.tanh(X) ** 2)
    np.testing.assert_allclose(tapec.grad(lambda a: predict(a) ** 2)(X), expected, rtol=1e-14)
    for wrong in (np.sin, tapec.grad(of_sums), np.sum):
        with pytest.raises(tapec.errors.UsageError, match="has a derivative"):
            tapec.register(wrong, lambda dy, y, x: dy)
    with pytest.raises(tapec.errors.UsageError, match="needs a function, and one that computes adjoints"):
        tapec.register(1.0, lambda dy, y, x: dy)
    with pytest.raises(tapec.errors.UsageError, match="cannot be called"):
        tapec.opaque(1.0)


def test_it_is_no_module():
    with pytest.raises(tapec.errors.UnsupportedType, match="is called as it is, and cannot be printed"):
        tapec.emit(airy, signature="f8", opt_level=2)


@pytest.mark.slow
def test_the_hint_of_a_refusal_is_a_way_out():
    with pytest.raises(tapec.errors.UnsupportedFunction) as told:
        tapec.grad(lambda x: sp.mathieu_cem(2, 0.5, x)[0])(1.0)
    assert "wrap it in tapec.custom_gradient" in told.value.hint
    # as it says
    assert tapec.grad(lambda x: airy(x) ** 2)(1.0) == pytest.approx(2.0 * sp.airy(1.0)[0] * sp.airy(1.0)[1])


@pytest.mark.slow
def test_arguments_are_read_only_and_results_are_copied():
    def written(x):
        x[0] = 5.0
        return x.sum()

    same, writes = tapec.opaque(lambda x: x), tapec.opaque(written, "f8")
    jitted = tapec.opaque(numba.njit(lambda x: x))

    def changed(x, same):
        y = same(tapec.stop_gradient(x))
        y[0] = 7.0
        return np.sum(x * y)

    for function in (same, jitted):
        x = X.copy()
        assert np.array_equal(tapec.grad(lambda x, function=function: changed(x, function))(x), [7.0, 2.0, 3.0])
        assert np.array_equal(x, X)
    with pytest.raises(ValueError, match="read-only"):
        tapec.grad(lambda x: np.sum(x) * writes(tapec.stop_gradient(x)))(X)
    with pytest.raises(TypeError, match="returned 1 axes, not 0"):
        tapec.grad(lambda x: np.sum(x) * tapec.opaque(np.cumsum, "f8")(np.ones(2)))(X)
