"""`tapec.scipy`: SciPy's optimisers find what they find with finite differences, and ask for none."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
import scipy.optimize

import tapec.scipy
from tapec.errors import NotDifferentiable, UnsupportedFunction, UsageError

pytestmark = pytest.mark.slow


def rosenbrock(x, a):
    total = 0.0
    for i in range(x.shape[0] - 1):
        total += a * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def decay(t, a, b, c):
    return a * np.exp(-b * t) + c


METHODS = ["CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", "Newton-CG", "dogleg", "trust-ncg", "trust-exact", "trust-krylov"]


@pytest.mark.parametrize("method", [None, *METHODS, "trust-constr"])
def test_minimize(method):
    x0 = np.full(4, 1.1)  # near enough for dogleg, which needs a positive definite Hessian
    found = tapec.scipy.minimize(rosenbrock, x0, args=100.0, method=method)
    np.testing.assert_allclose(found.x, np.ones(4), atol=1e-3)
    assert found.nfev < 200  # of finite differences five each
    np.testing.assert_array_equal(x0, 1.1)


@pytest.mark.parametrize("method", ["L-BFGS-B", "trust-constr"])
def test_bounds(method):
    found = tapec.scipy.minimize(rosenbrock, [0, 0], (100.0,), method=method, bounds=[(-1, 0.5), (-1, 2)], tol=1e-8)
    np.testing.assert_allclose(found.x, [0.5, 0.25], atol=1e-4)


def test_a_hessian_of_the_users_is_taken():
    calls = []

    def product(x, p, a):
        calls.append(p)
        return tapec.hvp(rosenbrock)(x, a, p)

    assert tapec.scipy.minimize(rosenbrock, [0.5, 0.5], (10.0,), method="Newton-CG", hessp=product).success
    assert calls


def test_least_squares():
    t = np.linspace(0.0, 3.0, 30)
    y = decay(t, 2.0, 1.5, 0.3)

    def residuals(p, t, y, weight=1.0):
        return weight * (decay(t, p[0], p[1], p[2]) - y)

    for method in ("trf", "dogbox", "lm"):
        found = tapec.scipy.least_squares(residuals, [1, 1, 0], args=(t, y), method=method)
        np.testing.assert_allclose(found.x, [2.0, 1.5, 0.3], rtol=1e-6)
    found = tapec.scipy.least_squares(
        residuals, [1.0, 1.0, 0.0], args=(t, y), kwargs={"weight": 2.0}, bounds=([0, 0, 0], [1.9, 9, 9])
    )
    assert found.x[0] == pytest.approx(1.9)


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root(method):
    def equations(x, c):
        return np.array([x[0] * np.cos(x[1]) - c, x[0] * x[1] - x[1] - 5.0])

    found = tapec.scipy.root(equations, [1, 1], args=(4.0,), method=method)
    assert found.success
    np.testing.assert_allclose(equations(found.x, 4.0), 0.0, atol=1e-8)


@pytest.mark.parametrize("weights", [{}, {"sigma": np.linspace(0.1, 0.4, 40)}, {"bounds": (0, [3, 3, 3])}])
def test_curve_fit(weights, rng):
    t = np.linspace(0, 4, 40)
    y = decay(t, 2.5, 1.3, 0.5) + 0.05 * rng.normal(size=40)
    for p0 in (None, [1, 1, 1]):
        ours = tapec.scipy.curve_fit(decay, t, y, p0, **weights)
        theirs = scipy.optimize.curve_fit(decay, t, y, p0, **weights)
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-4)
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-3)


def test_curve_fit_of_any_number_of_parameters():
    def polynomial(t, *c):
        total = np.zeros(t.shape)
        for k in range(len(c)):
            total = total + c[k] * t**k
        return total

    t = np.linspace(-1, 1, 9)
    np.testing.assert_allclose(tapec.scipy.curve_fit(polynomial, t, 1 + 2 * t**2, np.zeros(3))[0], [1, 0, 2], atol=1e-8)


@pytest.mark.parametrize("method", ["trust-krylov", "trust-exact"])
def test_a_function_that_writes_into_its_argument(method):
    def scaled(x):
        x *= 2.0
        return np.sum((x - 1.0) ** 4)

    found = tapec.scipy.minimize(scaled, [0.6, 0.4], method=method)
    np.testing.assert_allclose(found.x, 0.5, atol=0.02)


def test_options_of_the_compiler():
    found = tapec.scipy.minimize(rosenbrock, [0.0, 0.0], (10.0,), compiled={"strict": True})
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)
    with pytest.raises(UsageError, match="no option `fast`"):
        tapec.scipy.minimize(rosenbrock, [0.0, 0.0], (10.0,), compiled={"fast": True})


def test_what_is_refused():
    for wrong in ({"x0": (np.ones(2), np.ones(3))}, {"x0": np.ones(2), "wrt": (0, 1)}):
        with pytest.raises(UsageError, match="SciPy minimises by one vector.*\n.*hands its parts on"):
            tapec.scipy.minimize(rosenbrock, **wrong)
    with pytest.raises(UsageError, match="takes no gradient"):
        tapec.scipy.minimize(rosenbrock, [0.0, 0.0], (10.0,), method="Nelder-Mead")
    with pytest.raises(UsageError, match="takes no Jacobian"):
        tapec.scipy.root(lambda x: x, [0.0], method="krylov")
    for function in (tapec.scipy.minimize, tapec.scipy.least_squares, tapec.scipy.root):
        with pytest.raises(UsageError, match="`jac` is what tapec computes"):
            function(rosenbrock, [0.0, 0.0], (1.0,), jac=True)
    with pytest.raises(NotDifferentiable, match="must return one number"):
        tapec.scipy.minimize(lambda x: x, [0.0, 0.0])
    with pytest.raises(UnsupportedFunction):
        tapec.scipy.minimize(lambda x: np.sum(np.busday_count(x, x)), [0.0])


def test_the_examples_of_the_module():
    assert doctest.testmod(tapec.scipy).failed == 0
