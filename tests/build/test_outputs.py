"""Gradients that generated functions write into the caller's memory."""

from __future__ import annotations

import numba
import numpy as np

from tapec.backend.jit import load
from tapec.build.build_target import DerivedTarget, Target, derive_function
from tapec.build.interface import gradient_sources
from tapec.build.outputs import WrittenOutputs, with_outputs

VECTOR, MATRIX = numba.float64[:], numba.float64[:, :]


def derived(f, *signature, **target) -> DerivedTarget:
    return derive_function(Target("", **target), f, signature)


def written(f, *signature, **target) -> WrittenOutputs:
    one = derived(f, *signature, **target)
    return with_outputs(one.program, gradient_sources(one))


def squares(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            total += x[i] ** 2 * y[j, 0]
    return total


def test_gradients_are_written_in_place():
    found = written(squares, VECTOR, MATRIX, wrt=(0, 1))
    assert found.leaves == (1, 2)
    assert found.program.params == ("x", "y", "x_bar_out", "y_bar_out")
    x, y, x_bar, y_bar = np.array([1.0, 2.0]), np.array([[3.0]]), np.full(2, np.nan), np.full((1, 1), np.nan)
    value, gradients = load(found.program)(x, y, x_bar, y_bar)
    assert value == 15.0 and gradients[0] is x_bar and gradients[1] is y_bar
    np.testing.assert_array_equal(x_bar, [6.0, 12.0])
    np.testing.assert_array_equal(y_bar, [[5.0]])


def test_a_name_that_is_taken_is_left_alone():
    def f(x, x_bar_out):
        return x[0] * x_bar_out

    found = written(f, VECTOR, numba.float64)
    assert len(set(found.program.params)) == 3


def test_a_result_that_is_another_result_is_copied():
    def f(x, y):
        return np.sum(x + y)

    found = written(f, VECTOR, VECTOR, wrt=(0, 0))
    assert found.leaves == ()


def test_numbers_and_other_results_are_not_written_in_place():
    assert written(lambda x: x * x, numba.float64).leaves == ()
    assert written(lambda x: 2.0 * x, VECTOR, mode="primal").leaves == ()
    assert written(lambda x: np.sum(x * x), VECTOR, mode="hessian").leaves == ()


def test_a_gradient_in_fortran_order_is_copied():
    fortran = numba.types.Array(numba.float64, 2, "F")
    assert written(lambda a: np.sum(a * a), fortran).leaves == ()
    assert written(lambda a: np.sum(a * a), MATRIX).leaves == (1,)
