"""Pullbacks of one number: gradients, scaled."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

import tapec
from tapec import custom_gradient
from tests.oracles import interpreted, same

Pair = collections.namedtuple("Pair", "weights bias")


def loss(pair: Any, x: Any, n: int, unused: Any) -> Any:
    total = 0.0
    for i in range(n):
        total += np.tanh(pair.weights[i] * x[i] + pair.bias) ** 2
    return total


def single(x: Any) -> Any:
    return np.float32(2.0) * x[0] * x[1]


@custom_gradient
def clipped(x: Any) -> Any:
    def gradient(dy: Any) -> Any:
        return min(max(dy, -1.0), 1.0)

    return 3.0 * x, gradient


def through_clipped(x: Any) -> Any:
    return clipped(x) * 1.0


@custom_gradient
def clipped_pair(x: Any) -> Any:
    def gradient(dy: Any, dz: Any) -> Any:
        return min(max(dy, -1.0), 1.0)

    return (3.0 * x, 2.0 * x), gradient


def through_clipped_pair(x: Any) -> Any:
    return clipped_pair(x)[0] * 1.0


def filled(x: Any) -> Any:
    x[0] = x[1] * x[1]
    return x[0] + x[2]


def test_a_pull_scales_the_gradient():
    pair, x, unused = Pair(np.array([0.1, 0.4, -0.3]), 0.2), np.array([1.0, 2.0, 3.0]), np.ones(2)
    with interpreted():
        value, pullback = tapec.vjp(loss, pair, x, 3, unused)
        wanted_value, wanted = tapec.value_and_grad(loss, wrt=(0, 1))(pair, x, 3, unused)
        x[:] = 0.0
        for seed in (1.0, -2.5, 0.0):
            (weights, bias), by_x, by_n, by_unused = pullback(seed)
            same("gradients", (weights, bias, by_x), (*(seed * one for one in wanted[0]), seed * wanted[1]), 1e-15)
            assert by_n is None and not by_unused.any() and by_unused.shape == (2,)
            # each pull has arrays of its own
            weights[:] = np.nan
    assert value == wanted_value


def test_what_the_number_does_not_depend_on_has_no_derivative():
    with interpreted():
        _, pullback = tapec.vjp(lambda x, y: 3.0 * x, 2.0, 5.0)
        assert pullback(np.inf) == (np.inf, 0.0)
        assert not np.signbit(pullback(-1.0)[1])


def test_single_precision_stays():
    with interpreted():
        value, pullback = tapec.vjp(single, np.array([1.5, 2.0], np.float32))
        (found,) = pullback(3.0)
    assert value.dtype == found.dtype == np.float32
    np.testing.assert_array_equal(found, np.array([12.0, 9.0], np.float32))


def test_a_custom_gradient_gets_the_cotangent():
    with interpreted():
        for f in (through_clipped, through_clipped_pair):
            _, pullback = tapec.vjp(f, 2.0)
            assert [pullback(seed) for seed in (0.5, 4.0, -4.0)] == [(0.5,), (1.0,), (-1.0,)]


def test_a_cotangent_of_zero_gives_zero_beside_a_pole():
    x = np.array([0.0, 1.0])
    with interpreted():
        logarithms = lambda x: np.log(x).sum()  # noqa: E731
        _, pullback = tapec.vjp(logarithms, x)
        assert not pullback(0.0)[0].any() and pullback(2.0)[0].tolist() == [np.inf, 2.0]
        assert tapec.vjp(lambda x: np.log(x), 0.0)[1](0.0) == (0.0,)
        assert np.isnan(tapec.vjp(logarithms, x, strong_zero=False)[1](0.0)[0][0])


def test_arguments_that_are_written():
    x = np.array([1.0, 2.0, 3.0])
    with interpreted():
        value, pullback = tapec.vjp(filled, x)
        assert value == 7.0 and x[0] == 4.0
        same("gradient", pullback(2.0)[0], np.array([0.0, 8.0, 2.0]), 0.0)


def test_empty_arrays_and_constants():
    with interpreted():
        _, pullback = tapec.vjp(lambda x, y: np.sum(x) + 2.0, np.empty(0), 1.0)
        by_x, by_y = pullback(2.0)
    assert by_x.shape == (0,) and by_y == 0.0
