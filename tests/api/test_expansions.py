"""`taylor` and `taylor_fun` against mpmath's Taylor coefficients, and against what is known of them."""

from __future__ import annotations

import doctest
import math

import mpmath
import numpy as np
import pytest
from numba import njit
from scipy import special

import tapec
import tapec.expansions
from tapec.errors import NotDifferentiable, UsageError

pytestmark = pytest.mark.generated

# a function, the same of mpmath, and where
ELEMENTARY = {
    "exp": (lambda x: np.exp(x), mpmath.exp, 0.7),
    "expm1": (lambda x: np.expm1(x), mpmath.expm1, -0.4),
    "exp2": (lambda x: np.exp2(x), lambda x: mpmath.power(2, x), -0.4),
    "log": (lambda x: np.log(x), mpmath.log, 2.5),
    "log1p": (lambda x: np.log1p(x), mpmath.log1p, 0.0),
    "log2": (lambda x: np.log2(x), lambda x: mpmath.log(x, 2), 0.3),
    "sin": (lambda x: np.sin(x), mpmath.sin, 0.0),
    "cos": (lambda x: np.cos(x), mpmath.cos, 2.1),
    "tan": (lambda x: np.tan(x), mpmath.tan, -0.6),
    "arcsin": (lambda x: np.arcsin(x), mpmath.asin, 0.3),
    "arccos": (lambda x: np.arccos(x), mpmath.acos, -0.3),
    "arctan": (lambda x: np.arctan(x), mpmath.atan, 1.7),
    "arctan2": (lambda x: np.arctan2(x, 1.0 + x), lambda x: mpmath.atan(x / (1 + x)), 0.4),
    "sinh": (lambda x: np.sinh(x), mpmath.sinh, 0.4),
    "cosh": (lambda x: np.cosh(x), mpmath.cosh, -0.4),
    "tanh": (lambda x: np.tanh(x), mpmath.tanh, 0.8),
    "arcsinh": (lambda x: np.arcsinh(x), mpmath.asinh, 0.9),
    "arccosh": (lambda x: np.arccosh(x), mpmath.acosh, 1.9),
    "arctanh": (lambda x: np.arctanh(x), mpmath.atanh, 0.2),
    "sqrt": (lambda x: np.sqrt(x), mpmath.sqrt, 1.3),
    "cbrt": (lambda x: np.cbrt(x), mpmath.cbrt, 1.3),
    "hypot": (lambda x: np.hypot(x, 2.0), lambda x: mpmath.sqrt(x * x + 4), -1.3),
    "reciprocal": (lambda x: np.reciprocal(x), lambda x: 1 / x, -1.3),
    "quotient": (lambda x: (1.0 - x) / (2.0 + x * x), lambda x: (1 - x) / (2 + x * x), 0.6),
    "cube": (lambda x: x**3, lambda x: x**3, 0.0),
    "square": (lambda x: x**2.0 * np.square(x), lambda x: x**4, 0.5),
    "ninth": (lambda x: x**9, lambda x: x**9, -1.2),
    "reciprocal_power": (lambda x: x**-3, lambda x: x**-3, -1.2),
    "power": (lambda x: x**2.5, lambda x: mpmath.power(x, 2.5), 0.9),
    "exponential": (lambda x: 1.7**x, lambda x: mpmath.power(1.7, x), 0.9),
    "both": (lambda x: x**x, lambda x: mpmath.power(x, x), 0.9),
    "logaddexp": (lambda x: np.logaddexp(x, 0.3), lambda x: mpmath.log(mpmath.exp(x) + mpmath.exp(0.3)), 0.5),
    "erf": (lambda x: math.erf(x), mpmath.erf, 0.4),
    "gamma": (lambda x: math.gamma(x), mpmath.gamma, 2.4),
    "lgamma": (lambda x: math.lgamma(x), mpmath.loggamma, 3.4),
    "bessel": (lambda x: special.j0(x), lambda x: mpmath.besselj(0, x), 1.4),
    "expit": (lambda x: special.expit(x), lambda x: 1 / (1 + mpmath.exp(-x)), 0.2),
    "absolute": (lambda x: abs(x) * np.maximum(x, 0.0) * x, lambda x: x**3, 1.2),
    "composed": (
        lambda x: np.exp(np.sin(x * x)) / np.sqrt(1.0 + x**4),
        lambda x: mpmath.exp(mpmath.sin(x * x)) / mpmath.sqrt(1 + x**4),
        0.8,
    ),
}


@pytest.mark.parametrize("name", ELEMENTARY)
def test_coefficients_are_those_of_mpmath(name):
    f, reference, x = ELEMENTARY[name]
    wanted = [float(mpmath.re(c)) for c in mpmath.taylor(reference, x, 6)]
    found = tapec.taylor(f, x, 1.0, order=6)
    scale = max(map(abs, wanted))
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-13 * scale)


def polynomial(x, c):
    total = 0.0
    for n in range(c.shape[0]):
        total += c[n] * x**n
    return total


@pytest.mark.parametrize("x", [0.0, 0.7, -2.0])
def test_a_polynomial_gives_its_own_coefficients(x):
    c = np.array([1.0, -2.0, 0.5, 3.0, -1.0])
    wanted = [np.polynomial.Polynomial(c).deriv(k)(x) / math.factorial(k) for k in range(7)]
    np.testing.assert_allclose(tapec.taylor(polynomial, (x, c), (1.0, None), order=6), wanted, atol=1e-12)


def power(x, z):
    return x**z


def test_powers_at_zero():
    expand = tapec.taylor_fun(power, order=4)
    assert expand(0.0, 3, 2.0) == (0.0, 0.0, 0.0, 8.0, 0.0)
    assert expand(0.0, 0, 2.0) == (1.0, 0.0, 0.0, 0.0, 0.0)
    assert expand(0.0, 3.0, 2.0) == (0.0, 0.0, 0.0, 8.0, 0.0)
    assert expand(0.0, 7.0, 2.0) == (0.0, 0.0, 0.0, 0.0, 0.0)
    assert expand(0.0, 2.5, 2.0) == (0.0, 0.0, 0.0, math.inf, math.inf)
    wanted = [math.comb(k + 1, k) * (-1.0) ** k / 2.0 ** (k + 2) for k in range(5)]
    np.testing.assert_allclose(expand(2.0, -2, 1.0), wanted)


def euler(y, steps, a):
    """Steps of an ODE, with a branch, an array that is written in place, and a list."""
    state = np.empty(2)
    state[0], state[1] = y, 0.0
    seen = []
    i = 0
    while i < steps:
        force = -np.sin(state[0])
        if state[0] < 0.5:
            force *= 1.0 + a[i % 2] * state[0]
        state[1] += 0.1 * force
        state[0] += 0.1 * state[1]
        seen.append(state[0] ** 2)
        i += 1
    return state, sum(seen), i


def euler_in_mpmath(y, steps, a):
    position, speed, total = y, mpmath.mpf(0), 0
    for i in range(steps):
        force = -mpmath.sin(position)
        if mpmath.re(position) < 0.5:
            force *= 1 + a[i % 2] * position
        speed += force / 10
        position += speed / 10
        total += position**2
    return position, speed, total


def test_an_ode_in_a_loop():
    a = np.array([0.3, -0.2])
    found = tapec.taylor(euler, (0.9, 12, a), (1.0, None, None), order=5)
    with mpmath.workdps(50):
        parts = [
            mpmath.taylor(lambda y, k=k: euler_in_mpmath(y, 12, [mpmath.mpf(0.3), mpmath.mpf(-0.2)])[k], 0.9, 5)
            for k in range(3)
        ]
    for k, (state, total, count) in enumerate(found):
        wanted = [float(part[k]) for part in parts]
        np.testing.assert_allclose([*state, total], wanted, rtol=1e-9, atol=1e-12)
        assert count == (12 if k == 0 else 0)


def systems(x, a, b):
    """Whole arrays: products, solutions, inverses, factors, sums, subscripts."""
    moved = a + x * b + x**2 * a.T
    spd = moved @ moved.T + np.eye(3)
    lower = np.linalg.cholesky(spd)
    solved = np.linalg.solve(moved, b[0] * x)
    view = spd[1:, ::2]
    view[0, 0] *= x
    return lower, solved, np.linalg.inv(moved)[:, 1], np.sum(spd), np.fft.fft(x * b[0])[1], spd[1] @ b[2]


def decompositions(x, a, b):
    """Determinants, eigenvalues, singular values and their vectors, and triangles, of matrices high and broad."""
    moved = a + x * b + x**2 * a.T
    w, v = np.linalg.eigh(moved + moved.T)
    high, broad = moved[:, :2], moved[:2]
    q, r = np.linalg.qr(moved)
    q_high, r_high = np.linalg.qr(high)
    sign, size = np.linalg.slogdet(moved)
    parts = (w, v, q, r, q_high, r_high, *np.linalg.svd(moved), *np.linalg.svd(high, full_matrices=False))
    rest = np.array([np.linalg.det(moved), sign * size, x * np.linalg.norm(a * x, 2)])
    return (*parts, *np.linalg.svd(broad, full_matrices=False), np.linalg.eigvalsh(moved), rest)


def exact_in_x(f, x, order, *rest):
    """Coefficients by a polynomial through Chebyshev points of a short interval."""
    points = x + 0.05 * np.cos(np.pi * (np.arange(14) + 0.5) / 14)
    values = np.array([np.concatenate([np.ravel(one) for one in f(p, *rest)]) for p in points])
    return np.polynomial.polynomial.polyfit((points - x) / 0.05, values, 13)[: order + 1]


@pytest.mark.slow
@pytest.mark.parametrize("f", [systems, decompositions])
def test_arrays(f):
    draws = np.random.default_rng(0)
    a, b = draws.normal(size=(3, 3)) + np.diag([3.0, 5.0, 9.0]), 0.3 * draws.normal(size=(3, 3))
    found = tapec.taylor(f, (0.4, a, b), (1.0, None, None), order=4)
    wanted = exact_in_x(f, 0.4, 4, a, b)
    for k, coefficient in enumerate(found):
        parts = np.concatenate([np.ravel(one) for one in coefficient])
        np.testing.assert_allclose(parts, wanted[k] / 0.05**k, rtol=1e-5, atol=1e-5)


def test_a_curve():
    # y' = f(y) gives the coefficients of its solution one by one
    def growth(y):
        return y * (1.0 - y)

    curve: list[float] = []
    for order in range(1, 7):
        found = tapec.taylor(growth, 0.3, curve or [0.0], order=order)
        curve.append(found[order - 1] / order)
    solution = lambda t: 0.3 / (0.3 + 0.7 * mpmath.exp(-t))  # noqa: E731
    np.testing.assert_allclose(curve, [float(c) for c in mpmath.taylor(solution, 0, 6)][1:], rtol=1e-12)


def test_directions_of_arrays_and_structures():
    x, v = np.array([0.2, 0.5]), np.array([1.0, -1.0])

    def f(p):
        return np.sum(p["x"] ** 3) * p["c"], 3

    found = tapec.taylor_fun(f, order=2)({"x": x, "c": 2.0}, {"x": v, "c": 1.0})
    line = [np.polynomial.Polynomial([a, b]) for a, b in zip(x, v, strict=True)]
    wanted = sum(one**3 for one in line) * np.polynomial.Polynomial([2.0, 1.0])
    np.testing.assert_allclose([one[0] for one in found], wanted.coef[:3])
    series = tapec.taylor_fun(lambda x: x * x, order=3, series=True)(x, (v, x, np.zeros(2)))
    np.testing.assert_allclose(series[3], 2 * v * x)


def test_of_a_gradient_and_of_complex_numbers():
    third = tapec.taylor(tapec.grad(lambda x: np.sum(x**4)), np.array([1.0, 2.0]), np.ones(2), order=3)
    np.testing.assert_allclose(third[2], [12.0, 24.0])
    found = tapec.taylor(lambda z: z * z * z, 1.0 + 2.0j, 1j, order=3)
    np.testing.assert_allclose(found, [(1 + 2j) ** 3, 3j * (1 + 2j) ** 2, -3 * (1 + 2j), -1j])


@pytest.mark.parametrize("way", ["taylor", "taylor_fun", "made there"])
def test_inside_differentiated_code(way):
    def curved(x, a):
        return np.exp(a * x) * x

    expand = tapec.taylor_fun(curved, wrt="x", order=3)

    def third(a):
        if way == "taylor":
            return tapec.taylor(curved, (0.5, a), (1.0, None), 3)[3]
        if way == "made there":
            return tapec.taylor_fun(curved, wrt="x", order=3)(0.5, a, 1.0)[3]
        return expand(0.5, a, 1.0)[3]

    a = 0.7
    value, slope = tapec.value_and_grad(third)(a)
    # of exp(a x) x the third derivative is exp(a x) (a**3 x + 3 a**2)
    growth, rest = np.exp(0.5 * a), 0.5 * a**3 + 3.0 * a**2
    assert value == pytest.approx(growth * rest / 6.0)
    assert slope == pytest.approx(growth * (0.5 * rest + 1.5 * a**2 + 6.0 * a) / 6.0)


def test_of_arrays_that_are_written_inside_differentiated_code():
    def written(x):
        x[0] = x[1] * x[0]
        return x * x

    def first(x, v):
        return np.sum(tapec.taylor(written, (x,), (v,), 2)[1]) + np.sum(v)

    x, v = np.array([1.0, 2.0]), np.array([0.5, -1.0])
    direct = tapec.grad(lambda x: np.sum(tapec.jvp_fun(written)(x, v)[1]))(x.copy())
    np.testing.assert_allclose(tapec.grad(first)(x.copy(), v), direct)


def test_float32_stays():
    found = tapec.taylor(lambda x: np.sum(np.tanh(x) / x), np.ones(2, np.float32), np.ones(2, np.float32), order=3)
    assert all(one.dtype == np.float32 for one in found)


@pytest.mark.compiled
@pytest.mark.slow
def test_in_jitted_code():
    expand = tapec.taylor_fun(lambda x, a: a * np.sin(x), order=3)

    @njit
    def third(x, a):
        return expand(x, a, 1.0)[3]

    assert np.isclose(third(0.5, 2.0), -2.0 * math.cos(0.5) / 6.0)


def _operations(f, order):
    text = tapec.emit(f, signature="f8", mode="taylor", order=order, opt_level=0)
    return sum(text.count(f" {sign} ") for sign in "+-*/")


@pytest.mark.parametrize("name", ["exp", "tan", "arctan", "sqrt", "power", "composed", "erf", "both"])
def test_work_grows_with_the_square_of_the_order(name):
    f = ELEMENTARY[name][0]
    at_6, at_12, at_24 = (_operations(f, order) for order in (6, 12, 24))
    # a cubic would tend to 8
    assert at_12 < 4.0 * at_6
    assert at_24 < 4.0 * at_12


def test_emitted_and_shown():
    text = tapec.emit(lambda x: x * x, signature="f8", mode="taylor", order=2, opt_level=2)
    assert "x_t1 * x_t1" in text
    with pytest.raises(UsageError, match="no `order`"):
        tapec.emit(lambda x: x * x, signature="f8", mode="jvp", order=2, opt_level=2)


def test_what_has_no_coefficients_says_so():
    with pytest.raises(NotDifferentiable, match="pinv"):
        tapec.taylor(lambda x: np.linalg.pinv(x), np.eye(2), np.eye(2), order=2)


def test_examples_in_docstrings():
    assert doctest.testmod(tapec.expansions).failed == 0
