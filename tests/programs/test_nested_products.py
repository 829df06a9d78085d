"""`jvp` and `vjp` in functions that are differentiated themselves, by the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.oracles import interpreted

X = np.array([1.0, 2.0, 0.5])


def wave(x):
    return np.sin(x) * x


def power(x, n):
    return x if n == 0 else power(x * x, n - 1)


def raised(x, n):
    return x ** (n + 2)


def scaled(a, b, p):
    return a * b * p[1], a[0] * b


def product_and_sum(a, b):
    return a * b, a + b


def turned(z):
    return z * z * (1 + 2j)


def directional(x):
    value, tangent = tapec.jvp(wave, (x,), (np.ones(3),))
    return np.sum(value * tangent)


def partly_moved(x):
    value, tangent = tapec.jvp(scaled, (x, 2.0, (x, x)), (x[::-1], None, (x, x * 3)))
    return np.sum(value[0] * tangent[0]) + tangent[1] * value[1]


def pulled(x):
    value, pullback = tapec.vjp(product_and_sum, x, 2 * x)
    first, second = pullback((x, value[1]))
    again, _ = pullback((value[0], x))
    return np.sum(first * second) * again[0]


def pulled_in_a_loop(x):
    total = 0.0
    for k in range(3):
        value, pullback = tapec.vjp(raised, x, k)
        first, none = pullback(value)
        total += first[0] * k + (3.0 if none is None else 0.0)
    return total


def pulled_as_it_was(x):
    factor, terms = 2.0, [x * 1.0]
    value, pullback = tapec.vjp(lambda a: factor * np.sum(a * terms[0]) * a[1], x)
    factor = 5.0
    terms[0] = 100.0 * x
    return np.sum(pullback(1.0)[0] ** 2) + value * factor


def pulled_as_it_was_by_hand(x):
    slope = 2.0 * x * x[1]
    return slope[0] ** 2 + (slope[1] + 2.0 * np.sum(x * x)) ** 2 + slope[2] ** 2 + 10.0 * np.sum(x * x) * x[1]


def pulled_complex(x):
    value, pullback = tapec.vjp(turned, x + 1j)
    return np.sum(np.abs(pullback(value)[0]) ** 2)


def recursive(x):
    return tapec.vjp(power, x[0], 2)[1](x[1])[0] + tapec.jvp(power, (x[2], 2), (x[0], None))[1]


FUNCTIONS = (directional, partly_moved, pulled, pulled_in_a_loop, pulled_complex, recursive)


def differences(f, x, step=1e-6):
    return np.array([(f(x + one) - f(x - one)) / (2 * step) for one in step * np.eye(len(x))])


@pytest.mark.slow
def test_products_in_differentiated_code():
    with interpreted():
        for f in FUNCTIONS:
            value, gradient = tapec.value_and_grad(f)(X)
            assert np.isclose(value, f(X), rtol=1e-14), f.__name__
            assert np.allclose(gradient, differences(f, X), rtol=1e-6), f.__name__


@pytest.mark.slow
def test_products_in_tapes_and_of_higher_order():
    with interpreted():
        with tapec.GradientTape() as tape:
            tape.watch(X)
            y = pulled(X) + directional(X)
        assert np.allclose(tape.gradient(y, X), differences(lambda x: pulled(x) + directional(x), X), rtol=1e-6)
        assert np.allclose(tapec.hessian(directional)(X), differences(tapec.grad(directional), X), rtol=1e-6)


def test_a_pullback_belongs_to_the_moment_of_its_vjp():
    with interpreted():
        value, gradient = tapec.value_and_grad(pulled_as_it_was)(X)
        assert np.isclose(value, pulled_as_it_was_by_hand(X), rtol=1e-14)
        assert np.allclose(gradient, differences(pulled_as_it_was_by_hand, X), rtol=1e-6)


def test_a_cotangent_of_another_shape():
    with interpreted(), pytest.raises(ValueError, match="another shape"):
        tapec.grad(lambda x: tapec.vjp(wave, x)[1](x[:2])[0].sum())(X)
