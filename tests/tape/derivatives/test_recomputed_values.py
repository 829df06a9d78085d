"""Sources whose values the derivative of an inner tape computes once more: both are counted."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant

pytestmark = pytest.mark.usefixtures("mostly_plainly")


@pytest.mark.slow
def test_an_array_between_two_tapes():
    x = Variable([2.0, 3.0])
    with GradientTape(persistent=True) as outer:
        with GradientTape() as inner:
            a = x * x
            c = a**3
        g = inner.gradient(c, a)
        s = g * a
    np.testing.assert_allclose(outer.gradient(g, a), 6 * a)
    np.testing.assert_allclose(outer.gradient(g, x), 6 * a * 2 * x.numpy())
    np.testing.assert_allclose(outer.gradient(s, a), 9 * a**2)
    np.testing.assert_allclose(outer.jacobian(g, a), np.diag(6 * a))


def test_a_variable_that_is_made_inside_both():
    with GradientTape(persistent=True) as outer:
        with GradientTape() as inner:
            x = Variable([2.0, 1.0])
            c = x**3
        g = inner.gradient(c, x)
        s = g * x
    np.testing.assert_allclose(outer.gradient(g, x), [12.0, 6.0])
    np.testing.assert_allclose(outer.gradient(s, x), [36.0, 9.0])


def test_a_constant_that_both_watch():
    with GradientTape() as outer:
        with GradientTape() as inner:
            x = constant([2.0, 1.0])
            inner.watch(x)
            outer.watch(x)
            c = x**3
        g = inner.gradient(c, x)
    np.testing.assert_allclose(outer.gradient(g, x), [12.0, 6.0])


@pytest.mark.slow
def test_a_layer_that_is_built_on_its_first_call():
    class Layer:
        w = None

        def __call__(self, x):
            if self.w is None:
                self.w = Variable([[0.1 * (i - j) + 0.05 for i in range(2)] for j in range(2)])
            return np.tanh(np.dot(x, self.w))

    layer, x = Layer(), constant([[0.5, 1.0]])
    for _ in range(3):
        with GradientTape() as outer:
            with GradientTape() as inner:
                loss = np.sum(layer(x) ** 2)
            g = inner.gradient(loss, layer.w)
        assert g.shape == (2, 2)

        def slope(w):
            h = np.tanh(x @ w)
            return x.T @ (2 * h * (1 - h**2))

        w, step = layer.w.numpy(), 1e-6
        differences = np.empty((2, 2, 2, 2))
        for k in np.ndindex(2, 2):
            shift = np.zeros((2, 2))
            shift[k] = step
            differences[(..., *k)] = (slope(w + shift) - slope(w - shift)) / (2 * step)
        np.testing.assert_allclose(outer.jacobian(g, layer.w), differences, atol=1e-9)


def test_states_of_a_recurrence():
    w = Variable(0.5)
    with GradientTape() as outer:
        with GradientTape() as inner:
            h, states = constant([0.5, 0.2]), []
            for _ in range(3):
                h = np.tanh(w * h + h)
                states.append(h)
            loss = np.sum(states[-1] ** 2)
        g = inner.gradient(loss, states[0])
        s = np.sum(g * g)

    def slope(h, v):
        total = 1.0
        for _ in range(2):
            h = np.tanh((v + 1) * h)
            total = total * (1 - h**2) * (v + 1)
        return np.sum((2 * h * total) ** 2)

    first = np.asarray(states[0])
    by_state, by_second, by_w = outer.gradient(s, [states[0], states[1], w])
    step = 1e-6
    shifts = np.eye(2) * step
    np.testing.assert_allclose(
        by_state, [(slope(first + d, 0.5) - slope(first - d, 0.5)) / (2 * step) for d in shifts], rtol=1e-6
    )
    assert by_second is not None

    def whole(v):
        return slope(np.tanh((v + 1) * np.array([0.5, 0.2])), v)

    np.testing.assert_allclose(by_w, (whole(0.5 + step) - whole(0.5 - step)) / (2 * step), rtol=1e-6)


@pytest.mark.slow
def test_in_compiled_code():
    @tapec.function
    def run(x):
        with GradientTape(persistent=True) as third:
            third.watch(x)
            with GradientTape() as outer:
                outer.watch(x)
                with GradientTape() as inner:
                    inner.watch(x)
                    a = x * 2.0
                    c = a**4
                g = inner.gradient(c, a)
            h = outer.gradient(g, a)
        return g, h, third.gradient(h, a)

    x = np.array([1.0, 0.5])
    first, second, third = run(x)
    a = 2 * x
    np.testing.assert_allclose(first, 4 * a**3)
    np.testing.assert_allclose(second, 12 * a**2)
    np.testing.assert_allclose(third, 24 * a)
