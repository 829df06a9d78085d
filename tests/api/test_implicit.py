"""Derivatives of solutions: by the implicit function theorem, against differences and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit
from scipy import optimize

import tapec
from tests.oracles import interpreted

P = np.array([0.7, 1.3])


def residual(x, p):
    return np.array([x[0] ** 3 + p[0] * x[1] - p[1], x[1] ** 3 + x[0] * p[1] - 2.0])


def solved(p):
    return optimize.root(lambda x: residual(x, p), np.ones(2), tol=1e-14).x


ROOT = tapec.implicit_root(residual, solved)


def loss(p):
    x = ROOT(p)
    return np.sum(x**2) + x[0] * p[1]


def slopes(f, p, h=1e-5):
    return np.array([(f(p + h * e) - f(p - h * e)) / (2 * h) for e in np.eye(len(p))])


@pytest.mark.slow
@interpreted()
def test_first_and_second_derivatives_of_a_system():
    first = tapec.grad(loss)(P)
    np.testing.assert_allclose(first, slopes(loss, P), rtol=1e-7)
    second = slopes(tapec.grad(loss), P)
    np.testing.assert_allclose(tapec.hessian(loss)(P), second, rtol=1e-6)
    np.testing.assert_allclose(tapec.jacrev(tapec.grad(loss))(P), second, rtol=1e-6)
    v = tapec.Variable(P)
    with tapec.GradientTape() as tape:
        y = loss(v)
    np.testing.assert_allclose(tape.gradient(y, v), first, rtol=1e-12)


@pytest.mark.slow
def test_a_number_and_several_parameters():
    def power(a, b, n):
        return (b / a) ** (1.0 / n)

    root = tapec.implicit_root(lambda x, a, b, n: x**n * a - b, power, wrt=(0, 1))
    x = power(2.0, 3.0, 3)
    assert root(2.0, 3.0, 3) == x
    np.testing.assert_allclose(tapec.grad(root, wrt=(0, 1))(2.0, 3.0, 3), [-x / 6.0, x / 9.0], rtol=1e-12)
    square_root = tapec.implicit_root(lambda x, a: x * x - a, math.sqrt)
    assert tapec.grad(tapec.grad(tapec.grad(square_root)))(4.0) == pytest.approx(3.0 / 8.0 / 32.0, rel=1e-12)


def test_the_solver_runs_once_for_a_gradient():
    calls = []

    def solver(a):
        calls.append(a)
        return math.sqrt(a)

    root = tapec.implicit_root(lambda x, a: x * x - a, solver)
    derivative = tapec.value_and_grad(root)
    derivative(4.0)
    calls.clear()
    assert derivative(9.0) == (3.0, 1.0 / 6.0) and calls == [9.0]


@pytest.mark.slow
@interpreted()
def test_the_minimum_of_a_function():
    def cost(x, p):
        return np.sum((x - p) ** 2) + np.sum(x**4) * p[0]

    def minimum(p):
        slope = tapec.grad(cost)
        return optimize.root(lambda x: slope(x, p), np.zeros(2), tol=1e-14).x

    found = tapec.implicit_root(tapec.grad(cost), minimum)
    np.testing.assert_allclose(tapec.jacrev(found)(P), slopes(found, P).T, rtol=1e-6, atol=1e-9)


@njit
def relaxed(x, p):
    out = np.empty(3)
    for i in range(3):
        out[i] = 0.3 * np.sin(p[i] * x[(i + 1) % 3]) + p[i]
    return out


@pytest.mark.slow
def test_a_fixed_point_of_jitted_code():
    def iterated(p):
        x = np.zeros(3)
        for _ in range(100):
            x = relaxed(x, p)
        return x

    point = tapec.fixed_point(relaxed, iterated)
    p = np.array([0.3, 0.5, 0.7])
    np.testing.assert_allclose(tapec.jacrev(point)(p), slopes(iterated, p).T, rtol=1e-7, atol=1e-9)


@pytest.mark.slow
@interpreted()
def test_forward_mode_is_the_transpose_of_the_gradient():
    root = tapec.implicit_root(lambda x, a: x * x - a, math.sqrt)
    assert tapec.jvp(root, (4.0,), (1.0,)) == (2.0, 0.25)
    assert tapec.hvp(root)(4.0, 1.0) == pytest.approx(-1.0 / 32.0)

    def cubes(x, p):
        return x**3 + x - p

    def found(p):
        return np.array([np.roots([1.0, 0.0, 1.0, -one])[-1].real for one in p])

    p = np.array([0.5, 1.0, 2.0])
    roots = tapec.implicit_root(cubes, found)
    np.testing.assert_allclose(tapec.jacfwd(roots)(p), np.diag(1.0 / (3.0 * found(p) ** 2 + 1.0)), rtol=1e-9)


@pytest.mark.slow
def test_parameters_of_any_name():
    square = tapec.implicit_root(lambda u, x, x_bar: u * u - x * x_bar, lambda x, x_bar: math.sqrt(x * x_bar))
    assert tapec.grad(square, wrt="x")(4.0, 1.0) == pytest.approx(0.25, rel=1e-12)
    point = tapec.fixed_point(lambda u, step: 0.5 * (u + step / u), math.sqrt)
    assert tapec.grad(point, wrt="step")(4.0) == pytest.approx(0.25, rel=1e-12)
    loop = tapec.converged(lambda found, start, np: 0.5 * (found + start / found) + 0.0 * np)
    assert tapec.grad(loop, wrt="start")(1.0, 4.0, 1.0) == pytest.approx(0.25, rel=1e-12)
