"""Recursive functions: each closure is a function of its own, and a refusal leaves nothing behind."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tapec
from tapec.errors import RecursionUnsupported
from tests.oracles import check

X = np.array([0.7, 1.3, 2.1])


def power(k):
    def inner(n, z):
        return 1.0 if n == 0 else k * z * inner(n - 1, z)

    return inner


def defaulted(k):
    def inner(n, z, k=k):
        return 1.0 if n == 0 else k * z * inner(n - 1, z)

    return inner


class Model:
    def __init__(self, k):
        self.k = k

    def __repr__(self):
        return "Model"

    def power(self, n, z):
        return 1.0 if n == 0 else self.k * z * self.power(n - 1, z)


def of_model(model, n, z):
    return z if n == 0 else model.k * of_model(model, n - 1, z)


def of_number(k, n, z):
    return z if n == 0 else k * of_number(k, n - 1, z)


SQUARE, CUBE = power(2.0), power(3.0)
SMALL, LARGE = Model(2.0), Model(3.0)


def redefined(x):
    total = 0.0
    for k in (2.0, 3.0):

        def inner(n):
            return 1.0 if n == 0 else k * inner(n - 1)

        total += inner(3) * x[0]
    return total


def rebound(x):
    k = 2.0

    def inner(n, z):
        return 1.0 if n == 0 else k * z * inner(n - 1, z)

    first = inner(2, x[0])
    k = 3.0
    return first + inner(2, x[1])


def signed(x):
    zero = 0.0

    def inner(n, z):
        return np.copysign(z, zero) if n == 0 else inner(n - 1, z) * z

    first = inner(2, x[0])
    zero = -0.0
    return first * inner(1, x[1])


def behind_a_helper(x):
    k = 2.0

    def scaled(z):
        return k * z

    def inner(n, z):
        return z if n == 0 else scaled(inner(n - 1, z))

    first = inner(2, x[0])
    k = 3.0
    return first + inner(2, x[1])


def made_inside(x):
    return power(2.0)(2, x[0]) * power(3.0)(2, x[1]) + power(2.0)(2, x[2])


def made_with_defaults(x):
    return defaulted(2.0)(2, x[0]) + defaulted(3.0)(2, x[1])


def of_the_module(x):
    return SQUARE(2, x[0]) + CUBE(2, x[1])


def of_objects(x):
    return SMALL.power(2, x[0]) + LARGE.power(2, x[1])


def of_known_arguments(x):
    return of_model(SMALL, 2, x[0]) + of_model(LARGE, 2, x[1])


def of_partials(x):
    return functools.partial(of_number, 2.0)(2, x[0]) + functools.partial(of_number, 3)(2, x[1])


def one_calls_the_other(x):
    def calling(k, other):
        def inner(n, z):
            if n < 0:
                return inner(-n, z)
            return z if n == 0 else k * other(n - 1, z)

        return inner

    return calling(2.0, calling(3.0, lambda n, z: z * z))(1, x[0])


PROGRAMS = [
    redefined,
    rebound,
    signed,
    behind_a_helper,
    made_inside,
    made_with_defaults,
    of_the_module,
    of_objects,
    of_known_arguments,
    of_partials,
    one_calls_the_other,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_each_closure_is_a_function_of_its_own(program):
    check(program, (X,))


def test_closures_that_are_the_same_are_written_once():
    text = tapec.emit(made_inside, signature="float64[::1]", opt_level=2)
    assert "def inner_1_" in text and "inner_2" not in text


def around(x):
    def inner(n, z):
        return 1.0 if n == 0 else x[0] * z * inner(n - 1, z)

    total = 1.0
    if x[1] > 5.0:
        # lowered in more than one way, of which the first is refused
        total = sum(inner(2, x[i]) for i in range(3))
    return total * x[0]


def raising(x):
    def inner(n):
        if n == 0:
            raise ValueError("no")
        return 2.0 * inner(n - 1)

    total = 1.0
    if x[1] > 5.0:
        total = inner(3)
    return total * x[0]


@pytest.mark.parametrize("program", [around, raising], ids=lambda f: f.__name__)
def test_a_branch_with_a_refused_call_is_not_dropped(program):
    with pytest.raises(RecursionUnsupported):
        tapec.grad(program)(X)
