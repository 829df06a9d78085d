"""Derivatives inside lowered code: where the inner call stands, and which are refused."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.errors import TapecError


def cube(x, k=1.0):
    return k * x**3


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x: tapec.grad(cube)(x), 12.0),
        (lambda x: tapec.grad(cube)(x, k=x), 18.0 * 2.0),
        (lambda x: tapec.grad(cube, wrt="k")(x, 1.0), 12.0),
        (lambda x: tapec.value_and_grad(cube)(x)[1], 12.0),
        (lambda x: tapec.grad(lambda y: x * y * y)(x), 8.0),
        (lambda x: tapec.grad(lambda y: tapec.grad(lambda z: y * z * z)(y))(x), 4.0),
    ],
    ids=["alone", "by name", "by a name", "beside its value", "a closure over the outer source", "twice"],
)
def test_the_outer_derivative_sees_the_inner_one(f, expected):
    assert tapec.grad(f)(2.0) == expected


def test_arrays_have_gradients_of_their_own():
    def outer(x):
        inner = tapec.grad(lambda y: np.sum(y**3))(x)
        return np.sum(inner * x)

    x = np.array([1.0, -2.0])
    np.testing.assert_allclose(tapec.grad(outer)(x), 9.0 * x**2)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: tapec.grad(lambda y: y.sum(), wrt=3)(x),
        lambda x: tapec.grad(lambda y: y > 1.0)(x[0]),
    ],
    ids=["no such argument", "no float"],
)
def test_calls_that_cannot_stand_there_are_refused(f):
    with pytest.raises(TapecError):
        tapec.grad(lambda x: np.sum(f(x)))(np.array([2.0, 3.0]))
