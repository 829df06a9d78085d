"""Factors of a product that compute the same are computed once."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.typed import interpreted

X = np.array([3.0, 4.0])


def length(x):
    return np.linalg.norm(x)


def counted(x, seen):
    seen[0] += 1.0
    return seen[0] * np.sum(x)


def twice_counted(x):
    seen = np.zeros(1)
    return counted(x, seen) * counted(x, seen)


def appended(x, seen):
    seen.append(np.sum(x))
    return seen[-1] * len(seen)


def twice_appended(x):
    seen = []
    product = appended(x, seen) * appended(x, seen)
    return product + len(seen)


def stored_between(x):
    y = x.copy()
    return np.sum(y) * halved(y) * np.sum(y)


def halved(y):
    y[0] /= 2.0
    return y[0]


def of_different_signs(x):
    total = 0.0
    for sign in (1.0, -1.0):
        total += np.sum(x * sign) * np.sum(x * x)
    return total


@pytest.mark.parametrize(
    ("function", "wanted", "by"),
    [
        (lambda x: length(x) * length(x), 25.0, [6.0, 8.0]),
        (lambda x: 2.0 * length(x) / 5.0 * length(x), 10.0, [2.4, 3.2]),
        # what a factor changes, the next one sees
        (twice_counted, 98.0, [28.0, 28.0]),
        (twice_appended, 100.0, [28.0, 28.0]),
        (stored_between, 57.75, [5.5 * (1.5 + 3.5) + 7 * 1.5 / 2, 1.5 * 5.5 + 7 * 1.5]),
        (of_different_signs, 0.0, [0.0, 0.0]),
    ],
)
def test_factors_mean_what_they_say(function, wanted, by):
    with interpreted():
        value, found = tapec.value_and_grad(function)(X)
        np.testing.assert_allclose(value, wanted, atol=1e-12)
        np.testing.assert_allclose(found, by, atol=1e-12)
        with tapec.GradientTape() as tape:
            v = tapec.Variable(X)
            tape.watch(v)
            y = function(v)
        np.testing.assert_allclose(tape.gradient(y, v), by, atol=1e-12)


def test_random_numbers_are_drawn_for_each_factor():
    def drawn(x):
        return np.sum(x) * np.random.normal() * np.random.normal()

    with interpreted():
        np.random.seed(1)
        value, by = tapec.value_and_grad(drawn)(X)
        np.random.seed(1)
        first, second = np.random.normal(), np.random.normal()
    assert value == 7.0 * first * second
    np.testing.assert_allclose(by, first * second)


def test_what_is_computed_twice_stands_once_in_the_text():
    text = tapec.emit(lambda x: length(x) * length(x), 0, "f8[::1]")
    once = tapec.emit(lambda x: length(x) ** 2, 0, "f8[::1]")
    assert text.count("np.sqrt(") == once.count("np.sqrt(")
