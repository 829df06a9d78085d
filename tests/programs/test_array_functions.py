"""NumPy's array functions, as functions and as methods, with their axis forms."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.oracles import Case, Cases, arr, check

cases = Cases()


@cases((arr(2, 3),), compiled="reverse")
def sums(a):
    return (
        np.sum(a) * 2.0,
        a.sum(),
        np.sum(a, axis=0) * a[0],
        a.sum(axis=1) ** 2,
        a.sum(axis=-1),
        np.mean(a) ** 2,
        a.mean(),
        np.sum(a * a, 1),
    )


@cases((arr(2, 3, 2),))
def over_several_axes(a):
    return (
        np.sum(a * a, axis=(1, 2)),
        a.sum(axis=(0, 1)) ** 2,
        np.mean(a * a, axis=(0, 2), keepdims=True) * a,
        a.max(axis=(0, -1)),
        np.var(a, axis=(0, 1)),
        np.linalg.norm(a, axis=(1, 2)),
    )


@cases((arr(5),))
def spreads(a):
    return np.var(a), a.var(), np.std(a), a.std(), np.mean(a), np.median(a), np.ptp(a)


@cases((arr(2, 3),))
def products_and_extremes(a):
    return np.prod(a), a.prod(), np.max(a), a.max(), np.min(a), a.min(), np.amax(a), np.amin(a), a[np.argmax(a) // 3, 0]


@cases((arr(5),), compiled="reverse")
def cumulative(a):
    return np.cumsum(a), a.cumsum() ** 2, np.cumprod(a), a.cumprod()


@cases((arr(4),))
def ignoring_nan(a):
    b = a * a
    b[1] = np.nan
    return np.nansum(b), np.nanmean(b), np.nanmax(b), np.nanmin(b), np.nanprod(b), np.nanvar(b)


@cases((arr(3), arr(3, 2), arr(2, 4), arr(4)))
def matrix_products(a, m, n, b):
    return np.dot(a, m), m @ n, a @ m @ n @ b, np.dot(n, b), np.vdot(a, a), np.outer(a, b), m.dot(n), a.dot(a)


@cases((arr(3, 2), arr(2, 3), arr(3)), compiled="reverse")
def matrix_products_of_views(m, n, a):
    return m.T @ n.T, m[:, 0] @ a, np.dot(n[:, ::2], m[::2]), (m @ n)[1] @ m


@cases((arr(2, 3),))
def transposes_and_shapes(a):
    return (
        a.T * 2.0,
        np.transpose(a) * a.T,
        a.transpose() * 3.0,
        a.reshape(3, 2) * 2.0,
        np.reshape(a, (6,)) ** 2,
        a.reshape((1, -1)) * 2.0,
        a.ravel() * 2.0,
        np.ravel(a) * 3.0,
        a.flatten() * 2.0,
        np.expand_dims(a, 1) * 2.0,
    )


@cases((arr(2, 3), arr(1, 3), arr(3)))
def joins(a, b, c):
    return (
        np.concatenate((a, b)) * 2.0,
        np.concatenate((a, a * 2.0), axis=1),
        np.vstack((a, b)),
        np.hstack((a, a)) ** 2,
        np.hstack((c, c * c)),
        np.stack((c, c * 2.0)),
        np.stack((c, c), axis=1),
        np.column_stack((c, c)),
        np.append(c, 2.0 * c[0]),
        np.append(a, b, axis=0),
    )


@cases((arr(4), arr(2, 3)))
def rearrangements(c, a):
    return (
        np.repeat(c, 2),
        np.repeat(c, np.array([0, 1, 2, 1])),
        np.flip(c) * c,
        np.roll(c, 1) * c,
        np.roll(c, -6),
        np.fliplr(a),
        np.flipud(a),
        np.sort(c) * np.arange(4),
        np.take(c, np.array([3, 0, 0])),
        c.take(np.array([1])),
        np.diff(c) ** 2,
        np.delete(c, 1),
        np.rot90(a),
    )


@cases((arr(3), arr(3, 3)), compiled="reverse")
def diagonals(c, a):
    return np.diag(c), np.diag(a), np.diag(a, 1) ** 2, np.trace(a), np.tril(a), np.triu(a, 1), np.kron(c, c)


@cases((np.array([0.3, 0.9, 1.9, 5.0, -2.0]), np.array([0.0, 1.0, 2.0, 3.0]), arr(4)), wrt=(0, 2))
def interpolation(x, knots, values):
    s = 0.0
    for v in x:
        k = np.searchsorted(knots, v)
        s += v * values[k % 4] * values[knots.searchsorted(v, "right") % 4]
    return np.interp(x, knots, values), s


@cases((arr(4), 1.0), compiled="reverse")
def selections(a, x):
    k = np.argsort(a)
    order = a[k] * np.arange(4)
    return order, a[np.argmin(a)] * x, np.where(a > x, a, x) ** 2, a[np.nonzero(a > x)[0]] * 2.0, a.clip(0.4, 1.2)


@cases((arr(3, 2) - 0.4,), compiled="reverse")
def spectral_norms(a):
    return np.linalg.norm(a, 2), np.linalg.norm(a.T, ord=2), np.linalg.norm(a[:1], 2) ** 2


@cases((arr(3), arr(3)))
def vectors(a, b):
    c = np.cross(a, b * b)
    return c, np.linalg.norm(a), np.average(a, None, b), np.convolve(a, b), np.trapezoid(a)


@cases((arr(3, 3) + 2.0 * np.eye(3), arr(3), arr(3, 2)))
def linear_systems(m, b, c):
    return np.linalg.solve(m, b), np.linalg.solve(m, c), np.linalg.inv(m), np.linalg.det(m)


@cases((arr(3, 3),))
def factorisations(a):
    m = a @ a.T + np.eye(3)
    sign, logdet = np.linalg.slogdet(m)
    w, v = np.linalg.eigh(m)
    return np.linalg.cholesky(m), sign * logdet, w, np.abs(v)


@pytest.mark.slow
@pytest.mark.parametrize("case", cases, ids=str)
def test_array_functions(case: Case):
    case.check()


def reduced_by_axis(a, axis):
    return np.sum(a, axis)


def test_axis_out_of_range_is_an_error():
    with pytest.raises(Exception, match="axis"):
        check(reduced_by_axis, (arr(2, 2), 5))


def ties(a):
    return np.max(a) + 2.0 * np.min(a)


@pytest.mark.slow
def test_ties_split_evenly():
    np.testing.assert_allclose(tapec.grad(ties)(np.array([1.0, 3.0, 3.0, 1.0, 2.0])), [1.0, 0.5, 0.5, 1.0, 0.0])
