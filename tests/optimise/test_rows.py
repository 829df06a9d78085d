"""Rows that are counted down, in loops that can run on vectors all the same."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import tapec_runtime
from tapec.backend import printer
from tapec.optimise.rows import hide_descent
from tapec.syntax.types import Array
from tests.optimise.reading import read


def changed(text: str) -> str:
    function = read(text)
    types = function.types | {name: Array("float64", 2) for name in function.types if name.startswith("a_store")}
    return printer.function(hide_descent(type(function)(function.name, function.params, function.body, types)), False)


ROWS = """
def f(a, a_store, k, n):
    for i in range({bounds}):
        for j in range(k):
            x = a_store[{index}]
            a[j] += x
    return n
"""


def test_the_row_is_not_foreseen():
    assert changed(ROWS.format(bounds="n, -1, -1", index="i, j")) == (
        "def f(a, a_store, k, n):\n"
        "    for i in range(n, -1, -1):\n"
        "        row = tapec_runtime.unforeseen(i)\n"
        "        for j in range(k):\n"
        "            x = a_store[row, j]\n"
        "            a[j] += x\n"
        "    return n\n"
    )


@pytest.mark.parametrize(("bounds", "index"), [("n", "i, j"), ("n, -1, -1", "j, i"), ("n, -1, -1", "j, k")])
def test_other_loops_stay(bounds, index):
    text = ROWS.format(bounds=bounds, index=index)
    assert changed(text) == text.lstrip()


@njit
def sums(n):
    total = 0
    for k in range(n - 1, -1, -1):
        total = 10 * total + tapec_runtime.unforeseen(k)
    return total, tapec_runtime.unforeseen(np.int32(7))


def test_the_number_is_the_same():
    assert sums(4) == (3210, 7)
    assert tapec_runtime.unforeseen(3) == 3
