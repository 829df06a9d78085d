"""Booleans that become numbers: Numba has no `float` of one."""

from __future__ import annotations

import numpy as np
import pytest

import tapec

X = np.array([1.0, 0.2, 2.0])


def stored(x, t):
    hit = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        hit[i] = x[i] > t
    return (hit * x).sum()


def stored_at_once(x, t):
    hit = np.zeros(3)
    hit[:] = x > t
    return (hit * x).sum()


def converted(x, t):
    return np.float64(x[0] > t) * x[0] + float(x[1] > t) * x[1] + np.complex128(x[2] > t).real * x[2]


def converted_arrays(x, t):
    first = (x > t).astype(np.float64) + (x > t).astype(x.dtype)
    return ((first + np.asarray(x > t, dtype=np.float64)) / 3.0 * x).sum()


@pytest.mark.compiled
@pytest.mark.parametrize("f", [stored, stored_at_once, converted, converted_arrays], ids=lambda f: f.__name__)
def test_booleans_become_zero_or_one(f):
    value, gradient = tapec.value_and_grad(f)(X, 0.5)
    assert value == pytest.approx(3.0)
    np.testing.assert_allclose(gradient, [1.0, 0.0, 1.0])
