"""`custom_gradient` and `stop_gradient`."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tapec
from tapec import GradientTape, constant, custom_gradient, stop_gradient
from tapec.errors import NotDifferentiable, NoTranspose, UsageError


@custom_gradient
def log1pexp(x):
    """log(1 + exp(x))"""
    e = np.exp(x)

    def gradient(dy):
        return dy * (1.0 - 1.0 / (1.0 + e))

    return np.log(1.0 + e), gradient


@custom_gradient
def scaled(x, y):
    def gradient(dy):
        return 10.0 * dy * y, None

    return x * y, gradient


@custom_gradient
def clipped(x):
    def gradient(dy):
        return np.clip(dy, -1.0, 1.0)

    return x * 1.0, gradient


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


def test_it_is_an_ordinary_function():
    assert log1pexp(2.0) == math.log(1.0 + math.exp(2.0))
    assert log1pexp.__name__ == "log1pexp" and log1pexp.__doc__ == "log(1 + exp(x))"


def test_the_given_derivative_is_used():
    assert tapec.grad(log1pexp)(100.0) == 1.0
    assert tapec.grad(lambda x: log1pexp(x) * x)(2.0) == pytest.approx(log1pexp(2.0) + 2.0 * sigmoid(2.0))
    assert tapec.grad(lambda x, y: scaled(x, y) * 2.0, (0, 1))(2.0, 3.0) == (60.0, 0.0)


def test_arrays_and_rules_that_are_not_linear():
    def loss(x):
        return np.sum(clipped(x) ** 2)

    np.testing.assert_array_equal(tapec.grad(loss)(np.array([0.25, 3.0, -4.0])), [0.5, 1.0, -1.0])


def test_in_loops():
    def total(x):
        s = 0.0
        for i in range(x.shape[0]):
            s += log1pexp(x[i]) * s + x[i]
        return s

    def plain(x):
        s = 0.0
        for i in range(x.shape[0]):
            s += np.log(1.0 + np.exp(x[i])) * s + x[i]
        return s

    x = np.array([0.1, 0.7, -0.4])
    np.testing.assert_allclose(tapec.grad(total)(x), tapec.grad(plain)(x), rtol=1e-12)


def test_second_order():
    def loss(x):
        return log1pexp(x) * x

    def slope(x):
        return tapec.grad(loss)(x)

    s = sigmoid(1.0)
    assert tapec.grad(slope)(1.0) == pytest.approx(2.0 * s + s * (1.0 - s))


def test_under_a_tape():
    x = constant(100.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = log1pexp(x)
    assert tape.gradient(y, x) == 1.0


def test_what_it_refuses():
    with pytest.raises(NoTranspose, match="`clipped` has no forward mode"):
        tapec.jvp(lambda x: clipped(x) * 2.0, (1.0,), (1.0,))
    with pytest.raises(UsageError, match="parameter"):
        custom_gradient(lambda **args: (args, None))
    with pytest.raises(UsageError, match="must return"):
        custom_gradient(lambda x: x)(1.0)

    @custom_gradient
    def wrong(x, y):
        def gradient(dy):
            return dy

        return x * y, gradient

    with pytest.raises(NotDifferentiable, match="1 value for 2 arguments"):
        tapec.grad(lambda x: wrong(x, x))(1.0)


def test_stop_gradient():
    assert stop_gradient(2.0) == 2.0
    x = np.array([1.0, 2.0])
    assert stop_gradient(x) is not x
    assert stop_gradient({"a": (1.0, [2.0])}) == {"a": (1.0, [2.0])}
    assert tapec.grad(lambda x: stop_gradient(x * x) * x)(3.0) == 9.0
    np.testing.assert_array_equal(tapec.grad(lambda x: np.sum(stop_gradient(x) * x))(x), x)


def test_functions_inside_differentiated_code():
    def loss(x):
        @custom_gradient
        def scaled(z):
            def gradient(up):
                return up * 10.0 * x[0]

            return z * 2.0, gradient

        return scaled(x[1]) + x[0]

    np.testing.assert_allclose(tapec.grad(loss)(np.array([1.5, 2.0])), [1.0, 15.0])


def test_functions_inside_compiled_code():
    @tapec.function
    def run(x):
        @custom_gradient
        def doubled(z):
            e = np.exp(z)

            def gradient(up):
                return up * e * 10.0

            return e, gradient

        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = doubled(x) * 2.0
        return tape.gradient(y, x)

    np.testing.assert_allclose(run(0.5), 20.0 * np.exp(0.5))
