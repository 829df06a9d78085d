"""Functions of matrices: against SciPy's own derivatives, also where eigenvalues coincide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import tapec
from tests.oracles import interpreted

pytestmark = [pytest.mark.generated, pytest.mark.slow, pytest.mark.usefixtures("mostly_plainly")]
RNG = np.random.default_rng(3)
C, E = RNG.normal(size=(4, 4)), RNG.normal(size=(4, 4))
POSITIVE = C @ C.T + 0.1 * np.eye(4)
TURNED = sl.expm(0.4 * (E - E.T)) @ np.diag([1.0, 2.0, 3.0, 0.5])


def exponential(a):
    return np.sum(C * sl.expm(a))


def root(a):
    return np.sum(C * sl.sqrtm(a))


def logarithm(a):
    return np.sum(C * sl.logm(a))


def block(function: Any, a: Any) -> Any:
    """The derivative along E: Higham, Functions of Matrices, theorem 3.6."""
    n = len(a)
    return np.real(function(np.block([[a, E], [np.zeros((n, n)), a]]))[:n, n:])


@pytest.mark.parametrize("size", [0.01, 30.0])
def test_exponentials(size: float):
    a = size * E
    value, tangent = tapec.jvp(lambda a: sl.expm(a), (a,), (C,))
    wanted, along = sl.expm_frechet(a, C)
    np.testing.assert_allclose(value, wanted, rtol=1e-12, atol=1e-12 * np.abs(wanted).max())
    np.testing.assert_allclose(tangent, along, rtol=1e-11, atol=1e-12 * np.abs(along).max())
    adjoint = sl.expm_frechet(a.T, C, compute_expm=False)
    np.testing.assert_allclose(tapec.grad(exponential)(a), adjoint, rtol=1e-11, atol=1e-12 * np.abs(adjoint).max())


@pytest.mark.parametrize(("f", "function"), [(root, sl.sqrtm), (logarithm, sl.logm)], ids=["sqrtm", "logm"])
@pytest.mark.parametrize("a", [POSITIVE, 100.0 * TURNED], ids=range(2))
def test_roots_and_logarithms(f: Any, function: Any, a: Any):
    slope = np.sum(C * block(function, a))
    value, tangent = tapec.jvp(f, (a,), (E,))
    assert value == pytest.approx(np.sum(C * np.real(function(a))), rel=1e-10)
    assert tangent == pytest.approx(slope, rel=1e-9)
    assert np.sum(tapec.grad(f)(a) * E) == pytest.approx(slope, rel=1e-9)


def test_where_eigenvalues_coincide():
    one = np.eye(4)
    np.testing.assert_allclose(tapec.grad(logarithm)(one), C, atol=1e-14)
    np.testing.assert_allclose(tapec.grad(root)(one), 0.5 * C, atol=1e-14)
    np.testing.assert_allclose(tapec.grad(exponential)(0.0 * one), C, atol=1e-14)
    # an inverse square root
    found = tapec.grad(lambda a: np.sum(C * np.linalg.inv(sl.sqrtm(a))))(one)
    np.testing.assert_allclose(found, -0.5 * C, atol=1e-13)


def test_to_second_order():
    with interpreted():
        found = tapec.hessian(lambda a: sl.expm(a)[0, 0])(np.zeros((2, 2)))
    # of a + a @ a / 2
    wanted = np.zeros((2, 2, 2, 2))
    wanted[0, 0, 0, 0], wanted[0, 1, 1, 0], wanted[1, 0, 0, 1] = 1.0, 0.5, 0.5
    np.testing.assert_allclose(found, wanted, atol=1e-13)


@pytest.mark.parametrize("function", [sl.expm, sl.sqrtm, sl.logm])
def test_others_are_no_matrices(function: Any):
    with pytest.raises(ValueError, match="expected a square matrix"):
        tapec.grad(lambda a: np.sum(function(a)))(np.ones((2, 3)))
