"""`try` in compiled functions: what the body itself raises is a branch, and nothing else that is raised is missed."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

import tapec
from tapec.errors import UnsupportedSyntax
from tests.oracles import check

X = np.array([0.7, 1.3, 2.1, 0.4])


class Own(Exception):
    pass


class Derived(ValueError):
    pass


def in_a_loop(x):
    total = 0.0
    for i in range(x.shape[0]):
        try:
            if x[i] > 1.0:
                raise ValueError("large")
            total += x[i] ** 3
        except ValueError:
            total += x[i] ** 2
    return total


@numba.njit
def as_numba_takes_it(x):
    total = 0.0
    try:
        total = x[0] / x[1]
        if total > 0.1:
            raise ValueError
        total = total * 100.0
    except Exception:
        total = x[1] ** 2 * total
    return total


def out_of_two_loops(x):
    total = 1.0
    try:
        for i in range(len(x)):
            for j in range(i):
                if x[i] * x[j] > 1.5:
                    raise OverflowError
                total *= x[i] + x[j]
            total += x[i]
        total = total * total
    except (ValueError, ArithmeticError):
        total = total * x[3]
    else:
        total = 3.0 * total
    finally:
        total = total + x[0]
    return total


def raised_again(x):
    t = x[0]
    try:
        try:
            if t > 0.5:
                raise KeyError
            t = t * 2
        except KeyError:
            t = t * t
            if x[1] > 1:
                raise
        t = t * 10
    except LookupError:
        t = t * x[2]
    return t


def returned_from(x):
    for i in range(len(x)):
        try:
            if x[i] > 2:
                return x[i] ** 3
            if x[i] > 1:
                raise Own
        except Own:
            continue
    return 0.0 * x[0]


def of_a_library(x):
    try:
        low = np.linalg.cholesky(np.diag(x))
    except np.linalg.LinAlgError:
        return 0.0
    return low[0, 0] * low[1, 1]


FUNCTIONS = [in_a_loop, as_numba_takes_it, out_of_two_loops, raised_again, returned_from, of_a_library]


@pytest.mark.parametrize("factor", [1.0, 0.3])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_raise_leads_to_its_handler(function, factor):
    check(function, (factor * X,), original=getattr(function, "py_func", function), compiled="")


def test_second_derivatives_of_both_ways():
    for x in (X, 0.3 * X):
        hessian = tapec.hessian(in_a_loop)(x)
        np.testing.assert_allclose(hessian, np.diag(np.where(x > 1.0, 2.0, 6.0 * x)))


def quotient(a, b):
    try:
        return a / b
    except ZeroDivisionError:
        return 3.0 * a


def root(a, b):
    try:
        return math.sqrt(a * b)
    except ValueError:
        return -a


def element(a, b):
    x = np.array([a, a * a])
    try:
        return x[int(b)]
    except IndexError:
        return a


def whole(a, b):
    try:
        return int(b) * a
    except (ValueError, OverflowError):
        return a


@pytest.mark.parametrize(
    ("function", "good", "bad", "raised"),
    [
        (quotient, 2.0, 0.0, ZeroDivisionError),
        (root, 2.0, -2.0, ValueError),
        (element, 1.0, 2.0, IndexError),
        (whole, 2.5, math.nan, ArithmeticError),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_what_python_raises_elsewhere_is_an_error_not_another_value(function, good, bad, raised):
    gradient = tapec.grad(function)
    step = 1e-6
    expected = (function(1.5 + step, good) - function(1.5 - step, good)) / (2 * step)
    assert gradient(1.5, good) == pytest.approx(expected, rel=1e-7)
    with pytest.raises(raised):
        gradient(1.5, bad)


def named(x):
    try:
        if x[0] > 0:
            raise ValueError("positive")
    except ValueError as error:
        print(error)
    return x[0]


def left_through_finally(x):
    total = x[0]
    try:
        if total > 0:
            return total
    finally:
        total = total + 1.0
    return total


def of_unknown_classes(x):
    y = x[0]
    try:
        if y > 0.5:
            raise Derived
    except ValueError:
        y = y * y
    return y


@pytest.mark.parametrize(
    ("function", "reason"),
    [(named, "reads `error`"), (left_through_finally, "through its `finally`"), (of_unknown_classes, "Python's own")],
)
def test_other_forms_are_refused_with_the_reason(function, reason):
    with pytest.raises(UnsupportedSyntax, match="cannot differentiate this `try`") as caught:
        tapec.grad(function)(X)
    assert reason in str(caught.value)
    with tapec.GradientTape() as tape:
        x = tapec.Variable(X)
        y = function(x)
    assert tape.gradient(y, x) is not None
