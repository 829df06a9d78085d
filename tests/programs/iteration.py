"""Scalar iterations: polynomials, root finders, recursion."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tests.programs import Program


def rosenbrock(x):
    """The banana-shaped valley, in any dimension."""
    total = 0.0
    for i in range(x.shape[0] - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def newton_sqrt(a, tol):
    """Square root by Newton's iteration."""
    guess = a
    if a > 1.0:
        guess = 0.5 * a
    while abs(guess * guess - a) > tol:
        guess = 0.5 * (guess + a / guess)
    return guess


@njit
def _kepler(e, ecc, mean):
    return e - ecc * math.sin(e) - mean


def bisection(ecc, mean, lo, hi, steps):
    """The eccentric anomaly by bisection, left as soon as the bracket is narrow."""
    mid = lo
    for _ in range(steps):
        mid = 0.5 * (lo + hi)
        if hi - lo < 0.1:
            break
        if _kepler(mid, ecc, mean) > 0.0:
            hi = mid
        else:
            lo = mid
    return mid


def bisection_polished(ecc, mean, lo, hi, steps):
    """Bisection, then Newton steps that carry the derivative of the root."""
    root = lo
    for _ in range(steps):
        root = 0.5 * (lo + hi)
        value = _kepler(root, ecc, mean)
        if value == 0.0 or hi - lo < 1e-2:
            break
        if value > 0.0:
            hi = root
        else:
            lo = root
    for _ in range(4):
        root -= _kepler(root, ecc, mean) / (1.0 - ecc * math.cos(root))
    return root


def horner(coefficients, x):
    """A polynomial and its slope, by Horner's scheme."""
    value = 0.0
    slope = 0.0
    for k in range(len(coefficients) - 1, -1, -1):
        slope = slope * x + value
        value = value * x + coefficients[k]
    return value, slope


@njit
def recursive_power(x, n):
    """x**n by repeated squaring."""
    if n == 0:
        return 1.0
    if n % 2 == 1:
        return x * recursive_power(x, n - 1)
    half = recursive_power(x, n // 2)
    return half * half


def power_series(x, n):
    """A sum of recursive powers."""
    total = 0.0
    for k in range(n):
        total += recursive_power(x, k) / (1.0 + k)
    return total


def jacobi_relaxation(a, b, tol):
    """Solve a x = b for a diagonally dominant matrix; the iteration count depends on the data."""
    n = b.shape[0]
    x = np.zeros(n)
    new = np.empty(n)
    err = 1.0
    while err > tol:
        err = 0.0
        for i in range(n):
            s = b[i]
            for j in range(n):
                if j != i:
                    s -= a[i, j] * x[j]
            new[i] = s / a[i, i]
            err = max(err, abs(new[i] - x[i]))
        for i in range(n):
            x[i] = new[i]
    return x


def _dominant(rng, n):
    a = rng.uniform(-1.0, 1.0, (n, n))
    return a + (n + 1.0) * np.eye(n), rng.normal(size=n), 1e-13


PROGRAMS = (
    Program(rosenbrock, lambda rng, n: (rng.normal(size=n),), (1, 2, 7)),
    Program(newton_sqrt, lambda rng, n: (float(n) + rng.uniform(0.3, 0.6), 1e-12), (0, 2, 40)),
    Program(
        bisection,
        lambda rng, n: (0.4, rng.uniform(0.5, 2.0), 0.0, math.pi, n),
        (0, 1, 5, 40),
        (0, 1, 2, 3),
        note="the result is a fixed combination of the ends of the bracket: its derivative with respect to the "
        "equation's parameters is zero, as that of the piecewise constant function computed",
    ),
    Program(
        bisection_polished,
        lambda rng, n: (0.4, rng.uniform(0.5, 2.0), 0.0, math.pi, n),
        (30,),
        (0, 1),
        note="the derivative of the root, by the Newton steps",
    ),
    Program(horner, lambda rng, n: (rng.normal(size=n), rng.uniform(-1.5, 1.5)), (0, 1, 6), (0, 1)),
    Program(power_series, lambda rng, n: (rng.uniform(0.5, 1.2), n), (0, 1, 9)),
    Program(jacobi_relaxation, _dominant, (1, 4), (0, 1)),
)
