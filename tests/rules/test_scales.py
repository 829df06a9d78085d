"""Derivatives of array functions over the whole range of numbers: a few rows of `python -m tools.scales`."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tapec
from tests.sampling import sampled
from tests.typed import interpreted
from tools.calls import rows
from tools.scales import APART, EXPONENTS, examine

# reductions and linear algebra that were wrong
MENDED = (
    "np.std(m, axis=0)",
    "np.std(v, ddof=1)",
    "np.nanstd(m, axis=1)",
    "np.corrcoef(m)",
    "np.average(m, weights=m)",
    "np.linalg.det(s)",
    "np.linalg.pinv(m)",
    "np.abs(np.linalg.svd(m, full_matrices=False)[2])",
    "np.linalg.norm(m, 2)",
    "np.linalg.norm(m, 3, axis=1)",
    "np.linalg.norm(v, -1.5)",
    "np.linalg.norm(v, 0.5)",
)
FEW = {np.float64: (-1000, -530, 530, 1000), np.float32: (-120, -60, 60, 120)}


@pytest.mark.slow
@pytest.mark.parametrize("row", sampled(MENDED, 4))
@pytest.mark.parametrize("dtype", EXPONENTS, ids=["double", "single"])
def test_what_was_wrong_follows_its_law(row: str, dtype: type):
    # next to the largest numbers a norm of negative order has an infinite derivative
    found = [one for one in _findings(row, dtype, EXPONENTS[dtype][2:]) if one is not None]
    assert not any(one.is_wrong or one.exponent < EXPONENTS[dtype][-1] for one in found)


@pytest.mark.slow
@pytest.mark.parametrize("row", sampled([row for row in rows() if row not in APART][::40], 1, default=2))
def test_no_derivative_is_finite_and_wrong(row: str):
    for dtype, exponents in FEW.items():
        assert not any(one is not None and one.is_wrong for one in _findings(row, dtype, exponents))


@pytest.mark.slow
@pytest.mark.generated
def test_least_squares_of_huge_and_tiny_systems():
    solve = tapec.grad(lambda a, b: np.sum(np.linalg.lstsq(a, b)[0]))
    a, b = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 1.0]]), np.array([1.0, -2.0, 0.5])
    for k in (-800, 539, 900):
        found = solve(np.ldexp(a, k), np.ldexp(b, k)) * 2.0**k
        np.testing.assert_allclose(found, solve(a, b), rtol=1e-12)


def _findings(row: str, dtype: type, exponents: tuple[int, ...]) -> list:
    with interpreted(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return list(examine(row, dtype, exponents))
