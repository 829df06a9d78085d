"""`debug_nans`: derivatives that are called inside test their values, and no others do."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.backend.dispatcher import Derivative
from tapec.backend.interpreted import Interpreted
from tapec_runtime import NonFiniteValue
from tests.typed import interpreted

X = np.array([2.0, 1.0, 3.0])


def logs(x):
    return np.sum(np.log(x - 1.0))


def in_a_tape(v):
    with tapec.GradientTape() as tape:
        y = logs(v)
    return tape.gradient(y, v)


@pytest.fixture
def without_machine_code():
    with interpreted():
        yield


@pytest.mark.usefixtures("without_machine_code")
def test_what_was_made_before_and_what_is_made_inside():
    gradient, hessian, variable = tapec.grad(logs), tapec.hessian(logs), tapec.Variable(X)
    for call in (
        lambda: gradient(X),
        lambda: gradient(x=X),
        lambda: hessian(X),
        lambda: tapec.function(logs)(X),
        lambda: tapec.grad(logs, opt_level=2)(X),
        lambda: tapec.jvp(logs, (X,), (X,)),
        lambda: tapec.vjp(logs, X),
        lambda: in_a_tape(variable),
    ):
        call()
        with tapec.debug_nans(), pytest.raises(NonFiniteValue, match=r"x(_dot)?\[i\]|v\[i\]"):
            call()
        call()


@pytest.mark.usefixtures("without_machine_code")
def test_what_is_finite_is_as_before():
    gradient = tapec.grad(logs)
    with tapec.debug_nans():
        np.testing.assert_array_equal(gradient(X + 1.0), gradient(X + 1.0))
    np.testing.assert_allclose(gradient(X + 1.0), 1.0 / X)


@pytest.mark.usefixtures("without_machine_code")
def test_the_halves_of_one_pullback_belong_together():
    _, pullback = tapec.vjp(lambda x: x * x, X)
    with tapec.debug_nans():
        np.testing.assert_array_equal(pullback(X)[0], 2.0 * X * X)


def test_contexts_inside_one_another():
    gradient = tapec.grad(lambda x: np.log(x - 1.0))
    with tapec.debug_nans():
        with tapec.debug_nans():
            pass
        with pytest.raises(NonFiniteValue):
            gradient(1.0)
    assert gradient(1.0) == np.inf
    assert "__call__" not in vars(Derivative) and Interpreted.__call__.__name__ == "__call__"
