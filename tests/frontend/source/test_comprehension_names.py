"""A comprehension is a scope: its variables are its own, and functions outside of it read others of the same name."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.oracles import interpreted

X = np.array([0.3, -0.2, 0.7, 1.1])
k = 3.0


def read_by_a_function(x):
    v = x[0]

    def times(y):
        return v * y

    return sum([times(v) for v in x])


def read_by_a_lambda_in_a_generator(x):
    v = x[0]
    times = lambda y: v * y  # noqa: E731
    return sum(times(v) for v in x) + v


def global_read_by_a_function(x):
    def times(y):
        return k * y

    return sum([times(k) * k for k in x])


def of_another_type(x):
    v = x
    total = sum(v * v for v in x if v > 0.0)
    return total * v[1] + any(v > 1.0 for v in x)


def of_the_iterable(x):
    x = np.array([x * x for x in x])
    return x[0] * x[1]


def of_a_comprehension_inside(x):
    return sum([v * sum([v * v for v in x]) for v in x])


def keys(x):
    i = x[0]
    d = {i: x[i] * 2.0 for i in (0, 1, 2)}
    return d[2] * i + d[0]


def functions_made(x):
    scaled = [lambda y: v * y for v in (x[0], x[1], x[2])]
    plain = [lambda y: v + y for v in (x[0], x[1])]
    return scaled[0](x[3]) * plain[0](x[0])


def parameters_of_a_lambda(x):
    v = x
    shifted = [(lambda v, w=v: v * w)(2.0 * v) for v in x]
    return sum(shifted) * v[2]


def kept_by_an_assignment(x):
    total = 0.0
    powers = [total := total + v * v for v in x]
    return total * powers[1]


CASES = [
    read_by_a_function,
    read_by_a_lambda_in_a_generator,
    global_read_by_a_function,
    of_another_type,
    of_the_iterable,
    of_a_comprehension_inside,
    keys,
    functions_made,
    parameters_of_a_lambda,
    kept_by_an_assignment,
]


def along(f, step):
    return f(X + 1e-6 * step)


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_variables_of_comprehensions_are_their_own(f):
    with interpreted():
        value, slope = tapec.value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-13)
    expected = [(along(f, unit) - along(f, -unit)) / 2e-6 for unit in np.eye(len(X))]
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_and_so_they_are_in_tapes(f):
    w = tapec.Variable(X)
    with tapec.GradientTape() as tape:
        y = f(w)
    expected = [(along(f, unit) - along(f, -unit)) / 2e-6 for unit in np.eye(len(X))]
    np.testing.assert_allclose(tape.gradient(y, w), expected, rtol=1e-6, atol=1e-8)


def test_a_block_reads_its_own_variable():
    w, v = tapec.Variable(X), 2.0
    times = lambda y: v * y  # noqa: E731
    with tapec.GradientTape() as tape:
        y = sum(times(v) * v for v in w) * v
    np.testing.assert_allclose(tape.gradient(y, w), 8.0 * X)
