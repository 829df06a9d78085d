"""Derivatives of the fourth order, nested in several ways, against the Taylor coefficient and mpmath's."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import tapec

pytestmark = [pytest.mark.generated, pytest.mark.slow]


def stencil(x):
    """Steps of an array that is written in place."""
    u = np.zeros(6)
    u[0] = x
    for _ in range(4):
        w = u.copy()
        for i in range(1, 5):
            u[i] = w[i] + 0.3 * (w[i - 1] - 2.0 * w[i] + w[i + 1]) + 0.1 * w[i] * w[i - 1]
        u[0] = u[0] * np.cos(u[1])
    return u @ u


def branches(x):
    y = x
    for _ in range(6):
        if y > 0.8:
            y = np.log(y) * x
        else:
            y = y * y + x
    return y


def branches_in_mpmath(x):
    y = x
    for _ in range(6):
        y = mpmath.log(y) * x if mpmath.re(y) > 0.8 else y * y + x
    return y


def until_large(x):
    y, n = x, 0
    while y < 10.0:
        y = y * 1.5 + x**2
        n += 1
    return np.sqrt(y) / n


def until_large_in_mpmath(x):
    y, n = x, 0
    while mpmath.re(y) < 10:
        y, n = y * 1.5 + x**2, n + 1
    return mpmath.sqrt(y) / n


def stencil_in_mpmath(x):
    u = [x, *[mpmath.mpf(0)] * 5]
    for _ in range(4):
        w = list(u)
        for i in range(1, 5):
            u[i] = w[i] + mpmath.mpf(0.3) * (w[i - 1] - 2 * w[i] + w[i + 1]) + mpmath.mpf(0.1) * w[i] * w[i - 1]
        u[0] = u[0] * mpmath.cos(u[1])
    return sum(one * one for one in u)


PROGRAMS = {
    "stencil": (stencil, stencil_in_mpmath, 0.7),
    "branches": (branches, branches_in_mpmath, 0.9),
    "until_large": (until_large, until_large_in_mpmath, 0.6),
}


def by_tangents(f, x):
    def tangent(g):
        return lambda x: tapec.jvp(g, (x,), (1.0,))[1]

    return tangent(tangent(tangent(tangent(f))))(x)


def by_products(f, x):
    def third(v):
        return tapec.hvp(lambda w: tapec.grad(lambda u: f(u[0]))(w)[0])(v, np.ones(1))[0]

    return tapec.grad(third)(np.array([x]))[0]


def by_hessians(f, x):
    return tapec.hessian(lambda v: tapec.hessian_diag(lambda w: f(w[0]))(v)[0])(np.array([x]))[0, 0]


@pytest.mark.parametrize("way", [by_tangents, by_products, by_hessians], ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", PROGRAMS)
def test_fourth_derivatives(name, way):
    f, reference, x = PROGRAMS[name]
    with mpmath.workdps(40):
        wanted = float(mpmath.taylor(reference, x, 4)[4]) * math.factorial(4)
    assert tapec.taylor(f, x, 1.0, order=4)[4] * math.factorial(4) == pytest.approx(wanted, rel=1e-9)
    assert way(f, x) == pytest.approx(wanted, rel=1e-8)
