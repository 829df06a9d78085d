"""Functions under `@guvectorize` and `@stencil`, called from Python and from compiled code."""

from __future__ import annotations

import numpy as np
import pytest
from numba import guvectorize, njit, stencil

import tapec
from tests.oracles import check
from tests.typed import interpreted

X = np.array([0.7, 1.3, 2.1, 0.4, 1.9])


@guvectorize(["f8[:],f8[:],f8[:]"], "(n),(n)->()")
def product(a, b, out):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i] * b[i]
    out[0] = s


@guvectorize(["f8[:],f8,f8[:]"], "(n),()->(n)")
def smooth(a, w, out):
    out[0] = a[0]
    for i in range(1, a.shape[0]):
        out[i] = w * out[i - 1] + (1 - w) * a[i]


@guvectorize("(n),()->(n)")
def scaled(a, w, out):
    for i in range(a.shape[0]):
        out[i] = w * a[i]


@guvectorize(["f4[:],f4[:],f4[:],f4[:]", "f8[:],f8[:],f8[:],f8[:]"], "(n),(m)->(n),(m)")
def both(a, b, c, d):
    for i in range(a.shape[0]):
        c[i] = a[i] * b[0]
    for i in range(b.shape[0]):
        d[i] = b[i] ** 2


@guvectorize(["f8,f8[:]"], "()->()")
def square(a, out):
    out[0] = a * a


@njit
def into_an_array(x):
    out, squares = np.zeros(5), np.zeros(5)
    product(np.outer(x, x), x, out)
    square(x, squares)
    return (out * x).sum() + squares[0] * squares[1]


def of_rows(x):
    return (product(np.outer(x, x), x) * x).sum() + (smooth(np.outer(x, x), x * 0.1) ** 2).sum()


def of_one_row(x):
    return product(x, x * 2.0) ** 2 * x[0] + square(x[0]) + square(np.outer(x, x)).sum()


def dynamic(x):
    out = np.zeros(5)
    scaled(x, x[0], out)
    return (out**2).sum()


def two_outputs(x):
    c, d = both(np.outer(x, x), x[:3])
    return (c**2).sum() + (d * x[2]).sum()


def returned(x):
    out = np.zeros((2, 5))
    r = smooth(np.stack((x, x * x)), 0.5, out)
    q = smooth(x, 1, out=np.zeros(5))
    return (out**2).sum() + r[0, 1] + q[1]


@stencil
def second_difference(a):
    return a[-1] * 0.5 + a[1] * 0.25 - a[0] ** 2


@stencil(cval=1.5, neighborhood=((-2, 0),))
def mean(a, w):
    c = 0.0
    for i in range(-2, 1):
        c += a[i] * w
    return c


@stencil(standard_indexing=("b",))
def filtered(a, b):
    return a[-1] * b[0] + a[0] * b[1] + a[1] * b[2]


@stencil
def on_a_grid(a, b):
    return a[-1, 0] + a[1, 0] + a[0, 1] * b[0, -1] - 4 * a[0, 0]


@stencil
def one_sided(a, k):
    if a[0] > 1.0:
        return a[-1] * k
    return np.sin(a[2]) / a[0]


@njit
def stencils(x):
    return (second_difference(x) * x).sum() + (mean(x, x[0]) * x).sum() + (filtered(x, x[:3]) * x).sum()


@njit
def stencil_on_a_grid(x):
    a = np.outer(x, x)
    return (on_a_grid(a, np.sin(a)) ** 2).sum()


def stencil_with_branches(x):
    return (one_sided(x, x[0]) ** 2).sum()


@njit
def stencil_into_an_array(x):
    out = np.ones(5)
    second_difference(x * x, out=out)
    return (out * x).sum()


CASES = [into_an_array, of_rows, of_one_row, dynamic, two_outputs, returned]
CASES += [stencils, stencil_on_a_grid, stencil_with_branches, stencil_into_an_array]


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_derivatives(f):
    check(f, (X,))


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("f", [into_an_array, stencil_on_a_grid], ids=lambda f: f.__name__)
def test_derivatives_as_machine_code(f):
    check(f, (X,), compiled="both")


def test_second_derivatives():
    def plainly(x):
        out = x * 1.0
        for i in range(1, len(x)):
            out[i] = 0.5 * out[i - 1] + 0.5 * x[i] ** 2
        out[0] = 0.0
        return (out**2).sum()

    def by_a_kernel(x):
        y = x * x
        y[0] = x[0]
        out = smooth(y, 0.5)
        out[0] = 0.0
        return (out**2).sum()

    with interpreted():
        assert np.allclose(tapec.hessian(by_a_kernel)(X), tapec.hessian(plainly)(X))


@pytest.mark.parametrize(
    "f", [lambda x: product(np.outer(x, x), x[:3]).sum(), lambda x: on_a_grid(np.outer(x, x), np.ones((5, 4))).sum()]
)
def test_arguments_that_do_not_fit(f):
    with interpreted(), pytest.raises(ValueError, match="different"):
        tapec.grad(f)(X)


@njit("Tuple((f8[:], f8[:]))(f8[:])")
def scaled_twice(x):
    return 2.0 * x, 3.0 * x


@njit("f8(f8[:])")
def emptied(x):
    x[0] = 0.0
    return x[1]


def test_declared_signatures_are_called_as_they_are():
    twice, clears = tapec.opaque(scaled_twice, ("f8[:]", "f8[:]")), tapec.opaque(emptied)

    def product(x):
        one, other = twice(X)
        return np.sum(x * one * other)

    def after(x):
        return clears(X) * x

    with interpreted():
        np.testing.assert_allclose(tapec.grad(product)(np.ones(5)), 6.0 * X**2)
        with pytest.raises(ValueError, match="`emptied` writes into its arguments"):
            tapec.grad(after)(1.0)
