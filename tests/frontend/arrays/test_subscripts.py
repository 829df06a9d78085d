"""Subscripts of lists and tuples that only the run knows: in range as Python has it, or IndexError."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.oracles import interpreted


def from_a_list(x, n, i):
    values = []
    for k in range(n):
        values.append(x[k] * 2.0)
    return values[i] * values[-1]


def into_a_list(x, n, i):
    values = [x[0]]
    for k in range(n):
        values.append(x[k] * 2.0)
    values[i] = x[0] * 7.0
    return sum(values) * values[-2]


def popped(x, n, i):
    values = [x[0]]
    for k in range(n):
        values.append(x[k] * 2.0)
    total = 0.0
    for k in range(i):
        total += values.pop() * k
    return total


def from_a_tuple(x, n, i):
    three, two = (x[0], x[1], x[2]), [x[0], x[1]]
    total = 0.0
    for k in range(n):
        total += three[k] * (k + 1)
    return three[i] * total + two[i]


def into_a_known_list(x, n, i):
    values = [x[0], x[1]]
    values[i] = n * x[2]
    return values[0] + values[1]


FUNCTIONS = (from_a_list, into_a_list, popped, from_a_tuple, into_a_known_list)


def outcome(f, *args):
    try:
        return f(*args)
    except IndexError:
        return "IndexError"


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_subscripts_are_pythons_or_an_error(f):
    x = np.array([1.0, 2.0, 3.0, 4.0])
    with interpreted():
        derivative = tapec.value_and_grad(f)
        for i in (-5, -4, -3, -1, 0, 1, 2, 3, 4, 5, 9):
            assert outcome(lambda i=i: derivative(x, 3, i)[0]) == outcome(f, x, 3, i), i


def test_loops_over_a_list_ask_nothing():
    def squares(x):
        values = []
        for k in range(x.shape[0]):
            values.append(x[k])
        total = 0.0
        for k in range(len(values)):
            total += values[k] * values[k]
        for v in values:
            total += v
        return total

    assert "IndexError" not in tapec.emit(squares, signature="float64[::1]", opt_level=2)


def items(x):
    z = x[0] * (1.0 + 2.0j)
    return x[1].item() ** 2 + np.sum(x).item() + z.item().imag


def test_a_number_is_its_item():
    with interpreted():
        np.testing.assert_allclose(tapec.grad(items)(np.array([1.0, 3.0])), [3.0, 7.0])
