"""Solutions whose linear systems are solved sparse or by products, and loops until convergence.

The oracles are the dense solve, differences and closed forms.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from scipy.sparse import linalg

import tapec
from tapec.errors import UsageError
from tests.api.test_implicit import P, loss, residual, slopes, solved
from tests.typed import interpreted


@pytest.fixture
def as_python():
    """Calls of functions as they are have no types that Numba could infer without compiling them."""
    with interpreted():
        yield


AS_PYTHON = pytest.mark.usefixtures("as_python")


def by_gmres(operator, right):
    found, failed = linalg.gmres(operator, right, rtol=1e-13, atol=0.0)
    assert not failed
    return found


def coupled(x, p, n):
    return np.array([x[0] ** 3 + p[0] * x[1] - p[1], x[1] ** 3 + x[0] * p[1] - n])


def found(p, n):
    return optimize.root(lambda x: coupled(x, p, n), np.ones(2), tol=1e-14).x


SPARSE = pytest.param("sparse", marks=pytest.mark.slow, id="sparse")


@pytest.mark.slow
@AS_PYTHON
@pytest.mark.parametrize("linear", [SPARSE, pytest.param(by_gmres, id="by products")])
def test_other_linear_solves_give_what_the_dense_one_gives(linear):
    dense, other = (tapec.implicit_root(coupled, found, wrt=0, linear=one) for one in ("dense", linear))

    def loss(root, p):
        x = root(p, 2)
        return np.sum(x**2) + x[0] * p[1]

    wanted = tapec.grad(lambda p: loss(dense, p))(P)
    np.testing.assert_allclose(tapec.grad(lambda p: loss(other, p))(P), wanted, rtol=1e-9)
    v = np.array([1.0, -2.0])
    np.testing.assert_allclose(tapec.jvp(lambda p: loss(other, p), (P,), (v,))[1], wanted @ v, rtol=1e-9)


@pytest.mark.slow
@AS_PYTHON
@pytest.mark.parametrize("linear", [SPARSE, pytest.param(by_gmres, id="by products")])
def test_second_derivatives_with_other_linear_solves(linear):
    root = tapec.implicit_root(residual, solved, linear=linear)

    def cost(p):
        x = root(p)
        return np.sum(x**2) + x[0] * p[1]

    second = slopes(tapec.grad(loss), P)
    np.testing.assert_allclose(tapec.hessian(cost)(P), second, rtol=1e-6)
    np.testing.assert_allclose(tapec.jacrev(tapec.grad(cost))(P), second, rtol=1e-6)


@pytest.mark.slow
def test_machine_code_of_a_large_sparse_system():
    def chain(u, k):
        r = np.empty(u.shape)
        for i in range(u.size):
            left = u[i - 1] if i > 0 else 0.0
            right = u[i + 1] if i < u.size - 1 else 0.0
            r[i] = 2.0 * u[i] - left - right + 0.01 * np.exp(u[i]) * k[i] - 0.02
        return r

    jacobian, value = tapec.sparse_jacobian(chain), tapec.function(chain)

    def newton(k):
        u = np.zeros(k.size)
        for _ in range(8):
            u = u - linalg.splu(jacobian(u, k).tocsc()).solve(value(u, k))
        return u

    root = tapec.implicit_root(chain, newton, linear="sparse")
    k = np.linspace(1.0, 2.0, 500)
    gradient = tapec.grad(lambda k: np.sum(root(k) ** 2))(k)
    step = np.zeros(500)
    step[250] = 1e-4
    slope = (np.sum(newton(k + step) ** 2) - np.sum(newton(k - step) ** 2)) / 2e-4
    assert gradient[250] == pytest.approx(slope, rel=1e-6)


@pytest.mark.slow
@AS_PYTHON
def test_a_singular_sparse_jacobian_and_a_solver_of_another_shape():
    root = tapec.implicit_root(lambda x, p: (x - p) ** 2, np.copy, linear="sparse")
    with pytest.raises(np.linalg.LinAlgError):
        tapec.jacrev(root)(P)
    root = tapec.implicit_root(lambda x, p: x - p, np.copy, linear=lambda operator, b: b[:1])
    with pytest.raises(ValueError, match="shape"):
        tapec.jacrev(root)(P)


def smoothed(u, f, k):
    new = np.zeros(u.shape)
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            new[i, j] = 0.25 * (around - 0.1 * k * np.sin(u[i, j]) + f[i, j])
    return new


@pytest.mark.slow
@AS_PYTHON
def test_a_loop_until_convergence():
    relaxed = tapec.converged(smoothed)
    f, start = np.random.default_rng(0).normal(size=(5, 4)), np.zeros((5, 4))

    def cost(f, k):
        return np.sum(relaxed(start, f, k) ** 2)

    by_f, by_k = tapec.grad(cost, wrt=(0, 1))(f, 0.7)
    direction = np.random.default_rng(1).normal(size=(5, 4))
    slope = (cost(f + 1e-5 * direction, 0.7 + 1e-5) - cost(f - 1e-5 * direction, 0.7 - 1e-5)) / 2e-5
    assert np.sum(by_f * direction) + by_k == pytest.approx(slope, rel=1e-7)
    tangent = tapec.jvp(cost, (f, 0.7), (direction, 1.0))[1]
    assert tangent == pytest.approx(np.sum(by_f * direction) + by_k, rel=1e-9)


@AS_PYTHON
def test_a_loop_of_numbers_to_higher_orders():
    root = tapec.converged(lambda x, a: 0.5 * (x + a / x))
    assert root(1.0, 4.0) == 2.0
    assert tapec.grad(root, wrt=(0, 1))(1.0, 4.0) == (0.0, pytest.approx(0.25, rel=1e-12))
    assert tapec.grad(tapec.grad(root, wrt=1), wrt=1)(1.0, 4.0) == pytest.approx(-1.0 / 32.0, rel=1e-9)
    by_integers = tapec.converged(lambda x, a, n: x - (x**n - a) / (n * x ** (n - 1)), wrt=0)
    assert tapec.grad(by_integers, wrt=1)(1.0, 8.0, 3) == pytest.approx(1.0 / 12.0, rel=1e-9)


@pytest.mark.slow
@AS_PYTHON
def test_loops_that_do_not_converge():
    grows = tapec.converged(lambda x, a: 2.0 * x + a, limit=50)
    with pytest.raises(ArithmeticError, match="the loop does not converge in 50 iterations"):
        grows(1.0, 1.0)
    # it starts at a fixed point, which repels
    away = tapec.converged(lambda x, a: 2.0 * x + a, limit=50)
    with pytest.raises(ArithmeticError, match="adjoint or tangent"):
        tapec.jacrev(away, wrt=1)(-np.ones(2), np.ones(2))
    for wrong in (1.0, lambda x: x):
        with pytest.raises(UsageError):
            tapec.converged(wrong)
    with pytest.raises(UsageError, match="linear must be"):
        tapec.implicit_root(residual, solved, linear="full")


@pytest.mark.slow
def test_machine_code_of_a_loop_until_convergence():
    relaxed = tapec.converged(smoothed)
    f, start = np.random.default_rng(0).normal(size=(5, 4)), np.zeros((5, 4))
    value, by_k = tapec.value_and_grad(lambda k: np.sum(relaxed(start, f, k) ** 2))(0.7)
    up, down = (np.sum(relaxed(start, f, 0.7 + step) ** 2) for step in (1e-5, -1e-5))
    assert by_k == pytest.approx((up - down) / 2e-5, rel=1e-7)
