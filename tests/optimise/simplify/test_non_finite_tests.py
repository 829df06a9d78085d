"""`debug="nan"` raises where the first value that is not finite appears, and nowhere else."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tapec
from tapec.errors import UsageError
from tapec_runtime import NonFiniteValue

X, ONES = np.array([2.0, 1.0, 3.0]), np.ones(3)


def misfit(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        u = x[i] - 1.0
        total += w[i] * np.sqrt(u)
    return total


def masked(x):
    return np.where(x > 1.0, np.log(np.abs(x - 1.0)) * 2.0, 0.0).sum()


def with_a_sentinel(x):
    best = np.inf
    for i in range(len(x)):
        best = min(best, x[i] ** 2)
    return best


def quotient(x, y):
    return (x / y) ** 2


def overflow(x):
    return np.exp(x) - 1.0


def raised(call, *args) -> NonFiniteValue:
    with pytest.raises(NonFiniteValue) as found:
        call(*args)
    return found.value


@pytest.mark.parametrize("opt_level", [0, 1, 2])
def test_where_it_is_born(opt_level: int):
    gradient = tapec.value_and_grad(misfit, debug="nan", opt_level=opt_level)
    error = raised(gradient, np.array([2.0, 0.5, 3.0]), ONES)
    assert math.isnan(error.args[0]) and error.operands == {"u": -0.5}
    text = str(error)
    assert "nan comes out of `np.sqrt(u)` in the forward sweep, where u = -0.5" in text
    assert "test_non_finite_tests.py:" in text and text.endswith(": total += w[i] * np.sqrt(u)")
    # an infinite partial derivative, which only the reverse sweep meets
    assert "inf comes out of" in str(raised(gradient, X, ONES)) and "reverse sweep" in str(raised(gradient, X, ONES))
    assert gradient(X + 1.0, ONES)[0] == misfit(X + 1.0, ONES)


def test_where_it_arrives():
    gradient = tapec.value_and_grad(misfit, debug="nan")
    assert "nan is read from `x[i]`" in str(raised(gradient, np.array([2.0, math.nan, 3.0]), ONES))
    error = raised(gradient, X + 1.0, np.array([1.0, 1.0, math.nan]))
    assert "nan is read from `w[i" in str(error) and [*error.operands.values()] == [2]


@pytest.mark.slow
def test_every_derivative():
    for call in (
        lambda: tapec.jvp(quotient, (1.0, 0.0), (1.0, 0.0), debug="nan"),
        lambda: tapec.vjp(quotient, 1.0, 0.0, debug="nan")[1](1.0),
        lambda: tapec.hessian(quotient, debug="nan")(1.0, 0.0),
        lambda: tapec.hvp(quotient, debug="nan")(1.0, 0.0, 1.0),
        lambda: tapec.jacrev(lambda x: x / np.zeros(3), debug="nan")(ONES),
        lambda: _in_a_tape(tapec.Variable(0.0)),
    ):
        raised(call)
    assert raised(tapec.grad(overflow, debug="nan"), 1000.0).args[0] == math.inf


def _in_a_tape(v):
    with tapec.GradientTape(debug="nan") as tape:
        y = np.sqrt(v) * 2.0
    return tape.gradient(y, v)


@pytest.mark.parametrize("opt_level", [0, 1])
def test_what_is_not_chosen_may_be_anything(opt_level: int):
    x = np.array([1.0, 0.5, 3.0])
    np.testing.assert_array_equal(tapec.grad(masked, debug="nan", opt_level=opt_level)(x), [0.0, 0.0, 1.0])
    assert tapec.grad(with_a_sentinel, debug="nan", opt_level=opt_level)(x)[1] == 1.0
    root = tapec.grad(lambda x: np.where(x > 0.0, np.sqrt(x), 0.0).sum(), debug="nan", opt_level=opt_level)
    np.testing.assert_array_equal(root(np.array([0.0, 4.0])), [0.0, 0.25])


def test_nothing_is_tested_without_it():
    assert "NonFinite" not in tapec.emit(misfit, signature="f8[::1], f8[::1]")
    assert "NonFinite" in tapec.emit(misfit, signature="f8[::1], f8[::1]", debug="nan")


def test_other_values_of_the_option():
    with pytest.raises(UsageError, match='debug must be "nan" or None'):
        tapec.grad(misfit, debug="inf")
