"""Loops that LLVM is told of: the same results, and no comparisons of ranges."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import tapec_runtime

pytestmark = pytest.mark.optimised


@njit(error_model="numpy", fastmath={"reassoc", "contract"})
def filtered(x, y, weights):
    total = 0.0
    for i in tapec_runtime.independent(range(1, x.size - 1)):
        y[i] += weights[i] * (x[i - 1] + x[i + 1])
        total += y[i]
    return total


def test_a_compiled_loop_does_what_python_does():
    rng = np.random.default_rng(3)
    x, y, weights = (rng.normal(size=41) for _ in range(3))
    wanted = y.copy()
    total = filtered.py_func(x, wanted, weights)
    assert np.isclose(filtered(x, y, weights), total, rtol=1e-13)
    np.testing.assert_allclose(y, wanted, rtol=1e-13)
    (text,) = filtered.inspect_llvm().values()
    assert "llvm.access.group" in text and "vector.memcheck" not in text


def test_the_range_is_the_same():
    assert tapec_runtime.independent(range(2, 9, 3)) == range(2, 9, 3)
