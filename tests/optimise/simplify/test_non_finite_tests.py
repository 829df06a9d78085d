"""`debug="nan"` raises where the first value that is not finite appears, and nowhere else."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tapec
import tapec_runtime
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


def helper(u):
    return np.log(u)


def with_a_helper(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += helper(x[i] - 1.0)
    return total


def whole(x):
    return np.sum(np.log(x - 1.0) ** 2)


def recursive(x, n):
    if n == 0:
        return np.log(x)
    return recursive(x - 1.0, n - 1) * 2.0


def raised(call, *args) -> NonFiniteValue:
    with pytest.raises(NonFiniteValue) as found:
        call(*args)
    return found.value


@pytest.mark.parametrize("opt_level", [0, 1, 2])
def test_where_it_is_born(opt_level: int):
    gradient = tapec.value_and_grad(misfit, debug="nan", opt_level=opt_level)
    error = raised(gradient, np.array([2.0, 0.5, 3.0]), ONES)
    assert math.isnan(error.args[0]) and error.operands == {"u": -0.5, "i": 1} and not error.arrives
    text = str(error)
    assert text.startswith("nan comes out of `np.sqrt(u)`, where u = -0.5, i = 1\n")
    assert "test_non_finite_tests.py:" in text and text.endswith(", in misfit: total += w[i] * np.sqrt(u)")
    # an infinite partial derivative, which only the reverse sweep meets
    assert "inf comes out of" in str(raised(gradient, X, ONES)) and "reverse sweep" in str(raised(gradient, X, ONES))
    assert gradient(X + 1.0, ONES)[0] == misfit(X + 1.0, ONES)


def test_where_it_arrives():
    gradient = tapec.value_and_grad(misfit, debug="nan")
    error = raised(gradient, np.array([2.0, math.nan, 3.0]), ONES)
    assert str(error).startswith("nan arrives in `x[i] - 1.0`, where x[i] = nan, i = 1") and error.arrives
    error = raised(gradient, X + 1.0, np.array([1.0, 1.0, math.nan]))
    assert str(error).startswith("nan arrives in `w[i] * np.sqrt(u)`, where w[i] = nan")
    assert "x = nan" in str(raised(tapec.grad(lambda x, y: x * y, wrt=1, debug="nan"), math.nan, 1.0))
    assert "nan is returned as `x[0]`" in str(raised(tapec.grad(lambda x: x[0], debug="nan"), np.array([math.nan])))


def test_lines_of_calls():
    for made in (tapec.grad, tapec.value_and_grad, tapec.hessian):
        first, line, call = str(raised(made(with_a_helper, debug="nan"), X)).split("\n")
        assert first == "-inf comes out of `np.log(x[i] - 1.0)`, where x[i] - 1.0 = 0.0, i = 1"
        assert line.endswith("in helper: return np.log(u)")
        assert call.endswith("in with_a_helper: total += helper(x[i] - 1.0)")


def test_the_value_is_tested_though_the_derivative_does_not_need_it():
    error = raised(tapec.grad(lambda x: np.log(x - 1.0), debug="nan"), 0.5)
    assert str(error).startswith("nan comes out of `np.log(x - 1.0)`, where x - 1.0 = -0.5\n")
    assert tapec.grad(lambda x: [np.log(x), 2.0 * x][1], debug="nan")(-1.0) == 2.0


def test_recursive_functions():
    assert "nan comes out of `np.log(x" in str(raised(tapec.grad(recursive, debug="nan"), 2.0, 3))
    assert tapec.grad(recursive, debug="nan")(5.0, 3) == tapec.grad(recursive)(5.0, 3)


def test_whole_arrays():
    error = raised(tapec.grad(whole, debug="nan"), X)
    assert error.operands == {"x[i] - 1.0": 0.0, "i": 1}
    solved = tapec.grad(lambda a, b: np.sum(np.linalg.solve(a, b)), debug="nan")
    error = raised(solved, np.array([[1.0, 2.0], [0.0, math.nan]]), np.ones(2))
    assert error.arrives and error.operands["the element"] == 3 and "np.linalg.solve(a, b)" in str(error)
    error = raised(tapec.grad(lambda a, b: np.sum(a @ b), debug="nan"), np.full((2, 2), 1e200), np.full((2, 2), 1e200))
    assert not error.arrives and error.operands == {"the element": 0, "max(abs(a))": 1e200, "max(abs(b))": 1e200}


def test_largest_and_first_of_an_array():
    for array, largest, first in (
        (np.array([[1.0, -3.0]]), 3.0, -1),
        (np.array([1.0, -math.inf, 2.0]), math.inf, 1),
        (np.array([-math.inf, math.nan], dtype=np.float32), math.nan, 1),
        (np.zeros((0, 2)), 0.0, -1),
    ):
        np.testing.assert_equal(tapec_runtime.largest(array), largest)
        assert tapec_runtime.first_not_finite(array) == first


@pytest.mark.slow
def test_every_derivative():
    for call in (
        lambda: tapec.jvp(quotient, (1.0, 0.0), (1.0, 0.0), debug="nan"),
        lambda: tapec.vjp(quotient, 1.0, 0.0, debug="nan")[1](1.0),
        lambda: tapec.hessian(quotient, debug="nan")(1.0, 0.0),
        lambda: tapec.hvp(quotient, debug="nan")(1.0, 0.0, 1.0),
        lambda: tapec.jacrev(lambda x: x / np.zeros(3), debug="nan")(ONES),
        lambda: _in_a_tape(tapec.Variable(0.0)),
        lambda: tapec.function(overflow, debug="nan")(1000.0),
        lambda: tapec.grad(lambda z: (z / (z - z)).real, debug="nan")(1.0 + 2.0j),
    ):
        raised(call)
    assert raised(tapec.grad(overflow, debug="nan"), 1000.0).args[0] == math.inf


@pytest.mark.compiled
@pytest.mark.slow
def test_compiled():
    error = raised(tapec.grad(with_a_helper, debug="nan"), X)
    assert error.operands == {"x[i] - 1.0": 0.0, "i": 1}
    error = raised(tapec.grad(lambda a, b: np.sum(a @ b), debug="nan"), np.full((2, 2), 1e200), np.full((2, 2), 1e200))
    assert error.operands == {"the element": 0, "max(abs(a))": 1e200, "max(abs(b))": 1e200}


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


def left_out(x):
    total = 0.0
    for i in range(len(x)):
        if not np.isnan(x[i]):
            total += x[i] ** 2
    return total + np.nansum(x) + np.where(np.isnan(x), 0.0, x).sum()


def log_sum_exp(x):
    largest = -np.inf
    for i in range(len(x)):
        largest = max(largest, x[i])
    return largest + np.log(np.exp(x - largest).sum())


def test_what_the_program_asks_for_may_be_nan_or_infinite():
    x = np.array([1.0, math.nan, 4.0])
    value, gradient = tapec.value_and_grad(left_out, debug="nan")(x)
    assert value == 27.0
    np.testing.assert_array_equal(gradient, [4.0, 0.0, 10.0])
    value, gradient = tapec.value_and_grad(log_sum_exp, debug="nan")(np.array([1.0, -math.inf, 1.0]))
    np.testing.assert_allclose(gradient, [0.5, 0.0, 0.5])


def test_nothing_is_tested_without_it():
    assert "NonFinite" not in tapec.emit(misfit, signature="f8[::1], f8[::1]", opt_level=2)
    assert "NonFinite" in tapec.emit(misfit, signature="f8[::1], f8[::1]", debug="nan", opt_level=2)


def test_other_values_of_the_option():
    with pytest.raises(UsageError, match='debug must be "nan" or None'):
        tapec.grad(misfit, debug="inf")
