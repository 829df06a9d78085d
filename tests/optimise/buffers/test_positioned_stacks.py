"""Lists that are kept from iteration to iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapec
from tapec.optimise.buffers import positioned_stacks
from tests.oracles import interpreted


def rays(x, n):
    """Each iteration has a loop of its own length, longer than the room that lists begin with."""
    total = 0.0
    for r in range(n):
        t, y = 0.0, x[r]
        while t < 10.0 * (r % 20):
            y = y + 0.01 * np.sin(y) * x[r]
            if y > 0.5:
                y *= 0.99 * y
            t += 1.0
        total += y * y
    return total


def searches(x, n):
    """Two loops after one another, of which one is in the other's way."""
    total = 0.0
    for r in range(n):
        a, b = x[r], 1.0 + x[r]
        while a < 3.0:
            a += 0.1 * a * b + 0.05
            while b < a:
                b += 0.2 * a * b
        while b > 1.0:
            b = 0.7 * b * a / (a + 1.0)
        total += a * b
    return total


def alone(x, n):
    """The list is made once."""
    y, t = x[0], 0
    while t < n:
        y = np.sin(y) * x[1]
        t += 1
    return y


@pytest.mark.parametrize("f", [rays, searches], ids=lambda f: f.__name__)
def test_gradients_are_the_same_on_and_off(f: Callable[..., Any]):
    x = np.random.default_rng(2).uniform(0.2, 0.9, 30)
    kept = tapec.emit(f, signature="f8[::1], i8", opt_level=2)
    assert "height" in kept
    assert ".append(" not in kept
    assert ".pop(" not in kept
    with interpreted():
        on = tapec.value_and_grad(f)(x, 30)
        off = tapec.value_and_grad(f, opt_level=1)(x, 30)
    assert on[0] == pytest.approx(off[0], rel=1e-14)
    np.testing.assert_allclose(on[1], off[1], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.compiled
def test_compiled():
    x = np.random.default_rng(2).uniform(0.2, 0.9, 30)
    value, x_bar = tapec.value_and_grad(rays)(x, 30)
    with interpreted():
        wanted, wanted_bar = tapec.value_and_grad(rays, opt_level=0)(x, 30)
    assert value == pytest.approx(wanted, rel=1e-13)
    np.testing.assert_allclose(x_bar, wanted_bar, rtol=1e-11)


def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)


def beside_recursion(x, n):
    return rays(x, n) * power(x[0], 3)


def test_lists_beside_a_recursive_function():
    # what makes room is no call of a function that has derivatives
    text = tapec.emit(beside_recursion, signature="f8[::1], i8", opt_level=2)
    assert "height" in text and "power_reverse" in text


def test_a_list_that_is_made_once_stays():
    text = tapec.emit(alone, signature="f8[::1], i8", opt_level=2)
    assert ".append(" in text
    assert "height" not in text


def test_there_is_nothing_to_do_without_lists():
    core = tapec.api.generate(lambda x: x * x, 0, "f8", "grad")[1].core
    assert positioned_stacks.stacks_by_position(core) is core
