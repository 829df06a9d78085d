"""Rows that are counted down, in loops that can run on vectors all the same."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import tapec
import tapec_runtime
from tapec.backend import printer
from tapec.optimise.vectors.descending_rows import hide_descent
from tapec.syntax.types import Array
from tests.optimise.reading import read


def changed(text: str) -> str:
    function = read(text)
    types = function.types | {name: Array("float64", 2) for name in function.types if name.startswith("a_store")}
    return printer.function(hide_descent(type(function)(function.name, function.params, function.body, types)), False)


ROWS = """
def f(a, a_store, k, n, s, z):
    for i in range({bounds}):
        for j in range(k):
            x = a_store[{index}]
            y = x * z
            s += y
            a[{at}] = y
    return s
"""


def test_the_row_is_not_foreseen():
    text = ROWS.format(bounds="n, -1, -1", index="i, j", at="j").lstrip()
    lines = text.replace("a_store[i, j]", "a_store[row, j]").splitlines(keepends=True)
    assert changed(text) == "".join([*lines[:2], "        row = tapec_runtime.opaque(i)\n", *lines[2:]])


@pytest.mark.parametrize(
    ("bounds", "index", "at"),
    [("n", "i, j", "j"), ("n, -1, -1", "j, i", "j"), ("n, -1, -1", "j, k", "j"), ("n, -1, -1", "i, j", "i")],
)
def test_other_loops_stay(bounds, index, at):
    text = ROWS.format(bounds=bounds, index=index, at=at)
    assert changed(text) == text.lstrip()


def test_a_loop_without_a_sum_stays():
    text = ROWS.format(bounds="n, -1, -1", index="i, j", at="j").replace("s += y", "s = y")
    assert changed(text) == text.lstrip()


def projected(a, s):
    """Every row takes away its part along `s`."""
    total = 0.0
    for k in range(a.shape[0]):
        row = a[k]
        t = 0.0
        for i in range(s.shape[0]):
            t += row[i] * s[i]
        for i in range(s.shape[0]):
            s[i] -= np.sin(t) * row[i]
        total += t * t
    return total


def test_a_row_may_be_a_view():
    text = tapec.emit(projected, signature="f8[:,::1], f8[::1]", wrt=(0, 1), opt_level=2)
    reverse = text[text.index("# reverse sweep") :]
    assert "opaque(k)" in reverse


@njit
def sums(n):
    total = 0
    for k in range(n - 1, -1, -1):
        total = 10 * total + tapec_runtime.opaque(k)
    return total, tapec_runtime.opaque(np.int32(7))


@pytest.mark.compiled
def test_the_number_is_the_same():
    assert sums(4) == (3210, 7)
    assert tapec_runtime.opaque(3) == 3
