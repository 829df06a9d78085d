"""Arrays on the stack: they are arrays, and no memory is asked for."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import tapec_runtime

pytestmark = pytest.mark.optimised


@njit
def sums(x):
    total = tapec_runtime.stack_array("float64", 2, 3)
    single = tapec_runtime.stack_array("float32", 4)
    for i in range(2):
        for j in range(3):
            total[i, j] = i + 10.0 * j + x
    for i in range(4):
        single[i] = i
    return total[1, 2] + single[3] + total.shape[1] + total.size


@pytest.mark.compiled
def test_jitted_code_does_what_python_does():
    assert sums(0.5) == sums.py_func(0.5) == 21.5 + 3.0 + 3 + 6
    (text,) = sums.inspect_llvm().values()
    assert "NRT_MemInfo_alloc" not in text


def test_python_makes_an_array():
    made = tapec_runtime.stack_array("float32", 3, 2)
    assert made.shape == (3, 2) and made.dtype == np.float32
