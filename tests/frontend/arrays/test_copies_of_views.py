"""Copies of what may be contiguous: the program finds out whether NumPy makes one, and raises if it does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tapec
from tapec.errors import UnsupportedSyntax
from tests.oracles import check
from tools.fuzz import memory
from tools.fuzz.examination import load


def written(x, n):
    y = x * 1.0
    flat = y[:, :n].ravel()
    flat[0] = 7.0 * x[1, 1]
    return (y * y).sum() + flat.sum()


def only_read(x, n):
    y = x * 1.0
    flat = y[:, :n].ravel()
    y = y * 2.0
    y[0, 0] = 7.0 * x[1, 1]
    return (y * y).sum() + flat.sum()


@pytest.mark.slow
@pytest.mark.compiled
def test_a_store_that_numpy_shows_in_both_is_an_error():
    x = np.arange(12.0).reshape(3, 4)
    derivative = tapec.value_and_grad(written)
    assert derivative(x, 2)[0] == written(x, 2)
    with pytest.raises(ValueError, match="`ravel` of a contiguous array makes no copy"):
        derivative(x, 4)


def test_no_question_is_asked_where_nobody_can_tell():
    x = np.arange(12.0).reshape(3, 4)
    assert tapec.value_and_grad(only_read)(x, 4)[0] == only_read(x, 4)
    assert "strides" not in tapec.emit(only_read, signature="float64[:, ::1], int64", opt_level=2)
    assert "strides" in tapec.emit(written, signature="float64[:, ::1], int64", opt_level=2)


# whether a store into the result is one into the array, as text of `y`, an array of six numbers
SHARING = (
    "np.asarray(y, order='F')",
    "np.asarray(y.reshape(2, 3), order='C')[0]",
    "np.asarray(y.reshape(2, 3), order='F')[0]",
    "np.asarray(y.reshape(2, 3).T, order='C')[0]",
    "np.asarray(y.reshape(2, 3).T, order='F')[0]",
    "np.asarray(y.reshape(2, 3).T, order='K')[0]",
    "np.array(y.reshape(2, 3), copy=None, order='F')[0]",
    "np.ascontiguousarray(y, dtype=float)",
    "np.ascontiguousarray(y.reshape(2, 3).T, dtype=float)[0]",
    "np.asfortranarray(y.reshape(2, 3), dtype=float)[0]",
    "np.asfortranarray(y.reshape(2, 3).T)[0]",
    "np.asarray([y, y], order='F')[0]",
    "y.astype(float, copy=False)",
    "y.astype(float, order='F', copy=False)",
    "y.reshape(2, 3).astype(float, order='F', copy=False)[0]",
    "np.astype(y, float, copy=False)",
    "y.astype(float)",
    "np.reshape(y, -1, copy=True)",
    "y.reshape(2, 3).T.reshape(-1)",
    "y.reshape(2, 3).ravel(order='F')",
    "np.float64(y)",
    "np.diff(y, 0)",
    "np.roll(y, (), ())",
)
PROGRAM = """
import numpy as np
def program(x):
    y = x * 1.0
    z = {}
    z[1] = 5.0 * x[5]
    y[0] = 3.0 * x[4]
    return y @ (y * x) + z[0] * z[1]
"""
X = np.linspace(0.2, 1.3, 6)


@pytest.fixture
def module_of(tmp_path):
    return lambda text: load(text, tmp_path)


@pytest.mark.parametrize("text", SHARING)
def test_what_numpy_copies_is_a_copy_and_what_it_shares_is_shared(text, module_of):
    check(module_of(PROGRAM.format(text)).program, (X,))


COUNTED = """
import numpy as np
def program(x):
    i = np.array([1, 2, 0])
    j = {}
    j[0] = 3
    return x[i[0]] * x[j[0]] + x[j[1]] ** 3
"""


@pytest.mark.parametrize("text", ["np.nan_to_num(i)", "np.unravel_index(i, (6,))[0]", "np.int64(i)", "np.conj(i)"])
def test_integers_are_copied_where_numpy_copies_them(text, module_of):
    check(module_of(COUNTED.format(text)).program, (X,))


ONE_ROW = (
    "y.reshape(-1, 1).T.ravel()",
    "y.reshape(-1, 1).T.reshape(-1)",
    "np.asarray(y.reshape(1, -1).T, order='C')[:, 0]",
    "np.ascontiguousarray(y.reshape(-1, 1).T)[0]",
    "np.asfortranarray(y.reshape(1, -1))[0]",
)


@pytest.mark.parametrize("text", ONE_ROW)
def test_memory_that_is_contiguous_both_ways_is_found_out_by_the_run(text, module_of):
    with pytest.raises(ValueError, match="of a contiguous array makes no copy"):
        tapec.grad(module_of(PROGRAM.format(text)).program)(X)


DIAGONALS = (
    "y.reshape(2, 3).T.diagonal()",
    "np.diag(np.swapaxes(y.reshape(2, 3), 0, 1))",
    "np.linalg.diagonal(y.reshape(2, 3))",
)


@pytest.mark.parametrize("text", DIAGONALS)
def test_diagonals_of_columns_are_refused_whichever_order_they_have(text, module_of):
    with pytest.raises(UnsupportedSyntax, match="`np.(linalg.)?diag"):
        tapec.grad(module_of(PROGRAM.format(text)).program)(X)


@pytest.mark.parametrize("text", ["np.einsum('i->i', y)", "np.einsum('ij->ji', y.reshape(2, 3))[0]"])
def test_views_by_einsum_are_refused(text, module_of):
    with pytest.raises(UnsupportedSyntax, match="share memory in NumPy"):
        tapec.grad(module_of(PROGRAM.format(text)).program)(X)


def test_a_sum_by_einsum_is_an_array_of_its_own(module_of):
    check(module_of(PROGRAM.format("np.einsum('ij->i', y.reshape(2, 3))")).program, (X,))


@pytest.mark.slow
def test_random_programs_of_views_and_copies(tmp_path):
    found = [memory.examine(seed, tmp_path) for seed in range(100, 110)]
    assert found.count(memory.PASSED) >= 5


@pytest.mark.slow
@pytest.mark.exhaustive
def test_many_random_programs_of_views_and_copies():
    command = [sys.executable, "-m", "tools.fuzz.memory", "--minutes", "60", "--seed", "200", "--count", "60"]
    done = subprocess.run(command, cwd=Path(__file__).resolve().parents[3], text=True, capture_output=True)
    assert done.returncode == 0, done.stdout
