"""Elements that tie for an extreme share its derivative, wherever the extreme is taken."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.oracles import interpreted


def once(x):
    return 3.0 * np.max(x) + np.min(x)


def in_a_loop(x):
    total = 0.0
    for _ in range(1):
        total += 3.0 * np.max(x) + np.min(x)
    return total


@pytest.mark.slow
@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([1.0, 4.0, 2.0], [1.0, 3.0, 0.0]),
        ([4.0, 1.0, 4.0, 1.0], [1.5, 0.5, 1.5, 0.5]),
        ([2.0, 2.0], [2.0, 2.0]),
        ([5.0], [4.0]),
        ([-0.0, 0.0], [2.0, 2.0]),
        ([1.0, np.inf, 0.0], [0.0, 3.0, 1.0]),
        ([-np.inf, 1.0, 1.0], [1.0, 1.5, 1.5]),
    ],
)
def test_ties_share_the_derivative(x, expected):
    x = np.array(x)
    with interpreted():
        for f in (once, in_a_loop):
            for options in ({}, {"opt_level": 0}, {"parallel": True}):
                value, gradient = tapec.value_and_grad(f, **options)(x)
                np.testing.assert_array_equal(value, once(x))
                np.testing.assert_array_equal(gradient, expected)
            # the derivative along a direction is the same
            direction = np.arange(1.0, x.size + 1.0)
            assert tapec.jvp(f, (x,), (direction,))[-1] == np.dot(expected, direction)


def test_nan_is_every_element():
    x = np.array([1.0, np.nan, 2.0, np.nan])
    with interpreted():
        for f in (once, in_a_loop):
            value, gradient = tapec.value_and_grad(f)(x)
            assert np.isnan(value)
            np.testing.assert_array_equal(gradient, np.ones(4))


def test_outside_of_loops_a_single_one_is_not_looked_for_again():
    text = tapec.emit(once, signature="f8[::1]", opt_level=2)
    assert "x_bar[place] +=" in text
    assert "place" not in tapec.emit(in_a_loop, signature="f8[::1]", opt_level=2)
