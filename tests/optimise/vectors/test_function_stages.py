"""Loops that are cut so that the elementary functions in them run on vectors."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import tapec
from tapec.optimise.vectors.function_stages import stage_functions
from tests.optimise.reading import check, read
from tests.oracles import check as check_derivative


def test_a_function_gets_a_loop_of_its_own():
    check(
        stage_functions,
        before="""
        def f(a, a_1, a_2, a_3, a_4, n, w):
            for i in range(n):
                x = a[i]
                y = x * w
                z = math.exp(y)
                a_1[i] = z
                u = z + x
                a_2[i] = u
                v = a_3[i]
                r = u * v
                a_3[i] = r
                a_4[i] = y
            return w
        """,
        after="""
        def f(a, a_1, a_2, a_3, a_4, n, w):
            size = max(n, 0)
            z_kept = np.empty(size)
            for i_1 in range(n):
                x_1 = a[i_1]
                y_1 = x_1 * w
                a_4[i_1] = y_1
                z_kept[i_1] = y_1
            for i_2 in range(n):
                t = z_kept[i_2]
                t_1 = math.exp(t)
                z_kept[i_2] = t_1
            for i_3 in range(n):
                z_1 = z_kept[i_3]
                x_2 = a[i_3]
                v_1 = a_3[i_3]
                a_1[i_3] = z_1
                u_1 = z_1 + x_2
                a_2[i_3] = u_1
                r_1 = u_1 * v_1
                a_3[i_3] = r_1
            return w
        """,
        again=False,
    )


def same(text: str) -> None:
    """The pass leaves a function as it is."""
    check(stage_functions, text, text)


def test_a_loop_with_few_arrays_stays():
    same("""
        def f(a, a_1, n):
            for i in range(n):
                x = a[i]
                y = math.exp(x)
                a_1[i] = y
            return n
        """)


def test_a_loop_whose_iterations_depend_on_each_other_stays():
    same("""
        def f(a, a_1, a_2, a_3, a_4, n):
            for i in range(1, n):
                j = i - 1
                x = a[j]
                y = math.exp(x)
                a[i] = y
                a_1[i] = y
                a_2[i] = y
                a_3[i] = y
                a_4[i] = y
            return n
        """)


def test_a_loop_whose_iterations_run_at_the_same_time_stays():
    function = read("""
        def f(a, a_1, a_2, a_3, a_4, n):
            for i in range(n):
                x = a[i]
                y = math.exp(x)
                a_1[i] = y
                a_2[i] = y
                a_3[i] = y
                a_4[i] = y
            return n
        """)
    assert stage_functions(function).body != function.body
    (loop, end) = function.body
    together = replace(function, body=(replace(loop, parallel=True), end))
    assert stage_functions(together).body == together.body


def cells(x, y, z, u, v):
    """Reads and writes in place around functions, views, sums, functions of functions."""
    total = 0.0
    steps = np.zeros_like(x)
    for t in range(3):
        row = steps[t]
        for b in range(x.shape[1]):
            bend = math.tanh(x[t, b] * y[b] + z[b])
            old = y[b]
            y[b] = bend * u[b] + old
            soft = math.exp(-y[b] * v[b])
            row[b] = soft + old * bend
            u[b] = math.sin(row[b]) + soft
            v[b] += y[b] * 0.5
            total += u[b] * v[b] + row[b]
    return total + (steps * steps).sum()


@pytest.mark.slow
@pytest.mark.parametrize("width", [0, 1, 7])
def test_the_derivative_is_right(width):
    rng = np.random.default_rng(4)
    args = (rng.normal(size=(3, width)), *rng.normal(size=(4, width)))
    check_derivative(cells, args, (0, 1, 2, 3, 4))


@pytest.mark.slow
def test_the_cut_makes_no_difference():
    rng = np.random.default_rng(5)
    args = (rng.normal(size=(3, 6)), *rng.normal(size=(4, 6)))
    assert "tanh(bend_kept" in tapec.emit(cells, wrt=(0, 1), signature="f8[:, ::1]" + ", f8[::1]" * 4, opt_level=2)
    results = []
    for options in ({}, {"math": "libm"}, {"opt_level": 0}):
        mine = [arg.copy() for arg in args]
        value, gradients = tapec.value_and_grad(cells, wrt=(0, 1, 2, 3, 4), **options)(*mine)
        results.append([value, *gradients, *mine])
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-13)
