"""Systems solved from the factors of their matrix."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tapec
from tapec_runtime import factorised, factorised_lower, solved, solved_transposed
from tests.oracles import interpreted


def check(n: int, dtype: str, sides: tuple[int, ...], seed: int = 5) -> None:
    r = np.random.default_rng(seed)
    tolerance = 1e-9 if dtype == "float64" else 2e-3
    whole = (r.normal(size=(n, n)) / max(n, 1) ** 0.5 + 2.0 * np.eye(n)).astype(dtype)
    # rows that change places
    whole = np.roll(whole, 1, axis=0)
    lower = (np.tril(r.normal(size=(n, n))) / max(n, 1) ** 0.5 + 2.0 * np.eye(n)).astype(dtype)
    known: list[tuple[Any, Any]] = [(lower, factorised_lower(lower))]
    # machine code for each layout: of double precision alone
    others = (np.asfortranarray(whole), np.repeat(whole, 2, axis=0)[::2]) if dtype == "float64" else ()
    known += [(whole, factorised(one)) for one in (whole, *others)]
    for matrix, factors in known:
        assert factors.shape == (n + 1, n) and factors.dtype == dtype
        for many in sides:
            b = r.normal(size=(n,) if many == 0 else (n, many)).astype(dtype)
            for solve, image in ((solved, matrix), (solved_transposed, matrix.T)):
                x = solve(factors, b)
                assert x.shape == b.shape and x.dtype == dtype
                np.testing.assert_allclose(image @ x, b, rtol=tolerance, atol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 24, 25, 40])
def test_solutions(n: int, dtype: str):
    check(n, dtype, (0, 1, 3, 20))


def refusals() -> None:
    cases = [
        (np.zeros((3, 3)), "singular"),
        (np.zeros((30, 30)), "singular"),
        (np.ones((3, 2)), "square"),
        (np.array([[np.nan]]), "NaN"),
        (np.full((2, 2), np.inf), "NaN"),
    ]
    for matrix, why in cases:
        for make in (factorised, factorised_lower):
            with pytest.raises(np.linalg.LinAlgError, match=why if matrix[0, 0] == matrix[0, 0] else "NaN"):
                make(matrix)
    for b, why in ((np.ones(3), "sizes"), (np.ones((1, 2)), "sizes"), (np.array([1.0, np.nan]), "NaN")):
        for solve in (solved, solved_transposed):
            with pytest.raises(np.linalg.LinAlgError, match=why):
                solve(factorised(np.eye(2)), b)


@pytest.mark.slow
def test_refusals():
    refusals()


@pytest.mark.slow
def test_without_numba():
    program = (
        "from tests.runtime.test_factorisations import check, refusals\n"
        "for n in (0, 1, 7, 25):\n"
        "    check(n, 'float64', (0, 3, 20))\n"
        "refusals()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | {"NUMBA_DISABLE_JIT": "1"})


def test_rows_of_other_sizes_do_not_lose_digits():
    # NumPy's choice of pivots does not see how large the columns are
    scale = 10.0 ** np.arange(-12.0, 13.0, 6.0)
    a = np.random.default_rng(1).normal(size=(5, 5))
    x = solved(factorised(a * scale), np.ones(5))
    np.testing.assert_allclose(x * scale, np.linalg.solve(a, np.ones(5)), rtol=1e-9)


def steps(u, a, b, n):
    for _ in range(n):
        u = np.linalg.solve(a, b @ u)
    return np.sum(u * u)


@pytest.mark.slow
def test_second_derivatives_by_factors(rng: np.random.Generator):
    args = rng.normal(size=3), rng.normal(size=(3, 3)) + 3.0 * np.eye(3), rng.normal(size=(3, 3)), 3
    with interpreted():
        fast, plain = (tapec.hessian(steps, 1, opt_level=level) for level in (2, 0))
        np.testing.assert_allclose(fast(*args), plain(*args), rtol=1e-9, atol=1e-12)
        assert "tapec_runtime.solved(" in fast.source() and "tapec_runtime" not in plain.source()
