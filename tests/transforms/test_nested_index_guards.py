"""A subscript out of range is an IndexError in products inside of other derivatives, before anything is read."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec_runtime import IndexOutOfRange
from tests.oracles import interpreted

X = np.ones(3)
BAD = np.array([0, 7, 1])


def squares(x, places):
    found = np.zeros(places.size)
    for i in range(places.size):
        found[i] = x[places[i]] ** 2
    return found


def doubled(x, places):
    total = 0.0
    for i in range(places.size):
        total += 2.0 * x[places[i]]
    return total


def pushed(x, places):
    return np.sum(tapec.jvp(lambda y: squares(y, places), (x,), (np.ones(3),))[1])


def pushed_by(v, places):
    return np.sum(tapec.jvp(lambda y: squares(y, places), (np.ones(3),), (v,))[1])


# Python tests what it subscripts itself, by another error
@pytest.mark.parametrize("f", [squares, doubled])
def test_a_gauss_newton_product_tests_before_it_reads(f):
    with interpreted(), pytest.raises(IndexOutOfRange, match="index 7 is out of bounds for axis 0"):
        tapec.gnvp(f)(X, BAD, np.ones(3))


@pytest.mark.parametrize("f", [pushed, pushed_by])
def test_loads_stay_tested_in_an_outer_reverse_sweep(f):
    with interpreted():
        derivative = tapec.grad(f)
        assert np.all(np.isfinite(derivative(X, np.array([0, 2, 1]))))
        with pytest.raises(IndexOutOfRange, match="index 7 is out of bounds"):
            derivative(X, BAD)


def linear(x, places):
    total = 0.0
    for i in range(places.size):
        total += x[places[i]]
    return total


def partly_linear(x, places):
    return linear(x, places) + np.sum(x**2)


def linear_in_rows(x, places):
    rows, total = x.reshape(3, 1), 0.0
    for i in range(places.size):
        total += rows[places[i]] @ np.array([2.0])
    return total


def searched(x, places):
    total, i = 0.0, 0
    while i < places.size:
        total += x[places[i]]
        i += 1
    return total


SECOND = {
    "hvp": lambda f: tapec.hvp(f)(X, BAD, X),
    "hessian": lambda f: tapec.hessian(f)(X, BAD),
    "grad of grad": lambda f: tapec.grad(lambda x: np.sum(tapec.grad(f)(x, BAD)))(X),
    "grad of jvp": lambda f: tapec.grad(lambda x: tapec.jvp(lambda y: f(y, BAD), (x,), (X,))[1])(X),
}


@pytest.mark.parametrize("f", [linear, partly_linear, linear_in_rows, searched])
@pytest.mark.parametrize("order", SECOND)
def test_a_second_derivative_of_what_is_linear_tests_the_subscripts_that_it_drops(f, order):
    with interpreted(), pytest.raises(IndexOutOfRange, match="index 7 is out of bounds"):
        SECOND[order](f)
