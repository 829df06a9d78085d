"""`a, *b = array`: what a starred name takes is a list of numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.errors import TypeMismatch
from tests.typed import interpreted

X = np.array([2.0, 3.0, 5.0, 7.0])


def first_and_rest(x):
    a, *b = x
    return a * b[0] + len(b) * b[-1]


def around(x):
    a, *b, c = x * x
    b.append(a)
    total = 0.0
    for k, v in enumerate(b):
        total += k * v
    return total * c


def nothing_between(x):
    a, b, c, *d, e = x[:4]
    return a * b * c * e + len(d)


def listed(x):
    rows = list(x)
    return np.sum(rows[0])


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (first_and_rest, [3.0, 2.0, 0.0, 3.0]),
        (around, [8 * 49.0, 0.0, 10 * 49.0, 14 * (25.0 + 2 * 4.0)]),
        (nothing_between, [105.0, 70.0, 42.0, 30.0]),
    ],
)
def test_derivatives_go_through_lists(function, wanted):
    with interpreted():
        value, by = tapec.value_and_grad(function)(X)
        assert (value, by.tolist()) == (function(X), wanted)
        with tapec.GradientTape() as tape:
            x = tapec.Variable(X)
            y = function(x)
        assert tape.gradient(y, x).tolist() == wanted


def test_too_few_items_raise():
    with interpreted(), pytest.raises(ValueError, match="cannot unpack"):
        tapec.grad(nothing_between)(X[:3])


def test_a_list_of_rows_is_refused_where_its_length_is_not_known():
    """It was a list of numbers, and its items wrong."""
    with interpreted():
        with pytest.raises(TypeMismatch, match="rows"):
            tapec.grad(listed)(np.ones((2, 2)))
        assert tapec.function(listed)(np.ones((2, 2))) == 2.0
