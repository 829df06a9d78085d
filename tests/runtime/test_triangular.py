"""Adjoints of Cholesky's factor, by its inverse."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import tapec
from tapec_runtime import cholesky_seed
from tests.oracles import interpreted


def check(n: int, dtype: str, seed: int = 3) -> None:
    r = np.random.default_rng(seed)
    lower = (np.tril(r.normal(size=(n, n))) / max(n, 1) ** 0.5 + 2.0 * np.eye(n)).astype(dtype)
    above = np.triu(r.normal(size=(n, n)), 1)
    inverse = np.linalg.inv(lower.astype("float64"))
    for given in (r.normal(size=(n, n)), np.diag(r.normal(size=n)), np.zeros((n, n))):
        inner = np.tril(lower.T.astype("float64") @ np.tril(given))
        inner -= 0.5 * np.diag(np.diag(inner))
        # what is above the diagonal is not read
        cases = [(lower, given), (lower + above, given + above)]
        # machine code for each layout: of double precision alone
        cases += [(lower.T.copy().T, given.T.copy().T)] if dtype == "float64" else []
        for factor, bar in cases:
            found = cholesky_seed(factor.astype(dtype), bar.astype(dtype))
            assert found.dtype == dtype and found.shape == (n, n)
            tolerance = 1e-12 if dtype == "float64" else 1e-4
            np.testing.assert_allclose(found, inverse.T @ inner @ inverse, rtol=tolerance, atol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "dtype"),
    [(n, "float64") for n in (0, 1, 2, 7, 32, 33, 64, 65, 100, 130)] + [(n, "float32") for n in (7, 33, 100)],
)
def test_adjoints(n: int, dtype: str):
    check(n, dtype)


@pytest.mark.slow
def test_without_numba():
    program = "from tests.runtime.test_triangular import check\nfor n in (0, 1, 7, 33, 70):\n    check(n, 'float64')\n"
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | {"NUMBA_DISABLE_JIT": "1"})


def test_a_seed_that_is_not_a_number_spreads():
    assert np.isnan(cholesky_seed(np.eye(2), np.array([[0.0, 0.0], [np.nan, 0.0]]))).any()


def below(a):
    lower = np.linalg.cholesky(a)
    return np.sum(lower[1:, 0] ** 2) + np.sum(np.log(np.diag(lower)))


@pytest.mark.slow
def test_second_derivatives_where_the_seed_is_diagonal_at_one_point():
    at = np.diag([1.0, 4.0, 9.0])
    with interpreted():
        for level in (0, 2):
            # of the diagonal matrix the factor's adjoint is diagonal, its derivative is not
            h = tapec.hessian(below, opt_level=level)(at)
            assert h[1, 0, 1, 0] == pytest.approx(2.0 / 1.0 - 1.0 / (1.0 * 4.0))
            assert h[0, 0, 0, 0] == pytest.approx(-0.5)
