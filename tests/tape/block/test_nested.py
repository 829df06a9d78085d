"""Derivatives of derivatives with tapes, and tapes inside functions that are differentiated."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant


def test_second_order():
    x = constant(3.0)
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = x * x * x
        slope = inner.gradient(y, x)
    assert slope == 27.0
    assert outer.gradient(slope, x) == 18.0


def test_third_order():
    x = constant(2.0)
    with GradientTape() as a:
        a.watch(x)
        with GradientTape() as b:
            b.watch(x)
            with GradientTape() as c:
                c.watch(x)
                y = x**4 + np.sin(x)
            first = c.gradient(y, x)
        second = b.gradient(first, x)
    assert a.gradient(second, x) == pytest.approx(48.0 - math.cos(2.0))


def test_a_gradient_penalty():
    w, x = Variable([1.0, 2.0]), np.array([0.3, -0.2])
    with GradientTape() as outer:
        with GradientTape() as inner:
            inner.watch(x)
            y = np.sum(np.tanh(w * x))
        slope = inner.gradient(y, x)
        penalty = np.sum(slope**2)

    def reference(w):
        return np.sum((w * (1.0 - np.tanh(w * x) ** 2)) ** 2)

    step = 1e-6
    expected = [
        (reference(w.numpy() + step * e) - reference(w.numpy() - step * e)) / (2 * step) for e in np.eye(2)
    ]
    np.testing.assert_allclose(outer.gradient(penalty, w), expected, rtol=1e-7)


def test_mixed_derivatives_of_a_persistent_inner_tape():
    x, y = constant(2.0), constant(3.0)
    with GradientTape(persistent=True) as outer:
        outer.watch([x, y])
        with GradientTape(persistent=True) as inner:
            inner.watch([x, y])
            z = x * x * y * y * y
        by_x, by_y = inner.gradient(z, [x, y])
        again = inner.gradient(z, x)
    assert outer.gradient(by_x, [x, y]) == [54.0, 108.0]
    assert outer.gradient(by_y, [x, y]) == [108.0, 72.0]
    assert outer.gradient(again, y) == 108.0


def test_an_inner_gradient_outside_the_outer_block_is_constant():
    x = constant(3.0)
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = x * x
    slope = inner.gradient(y, x)
    assert slope == 6.0
    assert outer.gradient(slope, x) is None


def test_a_loss_after_an_inner_step():
    w = constant(1.0)
    with GradientTape() as outer:
        outer.watch(w)
        with GradientTape() as inner:
            inner.watch(w)
            loss = (w - 3.0) ** 2
        stepped = w - 0.1 * inner.gradient(loss, w)
        final = (stepped - 3.0) ** 2
    assert outer.gradient(final, w) == pytest.approx(2 * 0.8 * 0.8 * (1.0 - 3.0))


def test_unconnected_inner_gradients_are_none():
    x, c = constant(3.0), constant(1.0)
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = x * x
        slope, missing = inner.gradient(y, [x, c])
        total = slope * (1.0 if missing is None else 100.0)
    assert missing is None
    assert outer.gradient(total, x) == 2.0


def slope_of_a_cube(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = x**3
    return tape.gradient(y, x)


def test_a_tape_inside_a_differentiated_function():
    assert slope_of_a_cube(2.0) == 12.0
    assert tapec.grad(slope_of_a_cube)(2.0) == 12.0
    assert tapec.grad(slope_of_a_cube)(3.0) == 18.0


def test_a_helper_with_a_tape_inside_a_block():
    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = slope_of_a_cube(x) * x
    assert tape.gradient(y, x) == 36.0
