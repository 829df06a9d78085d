"""Sums over many strided elements, which are better not taken several at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.vectors.strided_sums import keep_scalar_sums
from tapec.syntax.types import Array
from tests.optimise.reading import read
from tests.oracles import check as check_derivative

SUMS = """
def f(a, a_m, n, s):
    for i in range({iterations}):
        for j in range(4):
            x = a_m[{index}]
            y = {work}
            s += y
    return s
"""


def changed(text: str) -> str:
    function = read(text)
    return printer.function(
        keep_scalar_sums(replace(function, types=function.types | {"a_m": Array("float64", 2)})), False
    )


def test_a_sum_over_rows_stays_in_line():
    text = SUMS.format(iterations="n", index="i, j", work="x * x").lstrip()
    lines = text.replace("a_m[i, j]", "a_m[here, j]").splitlines(keepends=True)
    assert changed(text) == "".join([*lines[:2], "        here = tapec_runtime.opaque(i)\n", *lines[2:]])


@pytest.mark.parametrize(
    ("iterations", "index", "work"),
    [("3", "i, j", "x * x"), ("n", "j, i", "x * x"), ("n", "i, j", "math.exp(x)")],
    ids=["few iterations", "elements side by side", "much to do"],
)
def test_other_loops_stay(iterations, index, work):
    text = SUMS.format(iterations=iterations, index=index, work=work)
    assert changed(text) == text.lstrip()


LOOKED_UP = """
def f(a, a_k, n, s):
    for i in range(n):
        k = a_k[i]
        x = a[k]
        y = {work}
        {end}
    return s
"""


def test_a_sum_of_elements_that_are_looked_up_stays_in_line():
    text = LOOKED_UP.format(work="x * x", end="s += y").lstrip()
    assert changed(text) == text.replace(
        "        k = a_k[i]\n", "        k_1 = a_k[i]\n        k = tapec_runtime.opaque(k_1)\n"
    )


def test_a_quotient_of_two_such_elements_is_little_to_do():
    text = LOOKED_UP.format(work="x / a[j]", end="s += y").replace("x = a[k]", "j = a_k[k]\n        x = a[k]")
    assert "opaque" in changed(text)
    assert "opaque" not in changed(text.replace("j = a_k[k]\n", "j = i + 1\n"))


def test_elements_of_one_row_that_is_looked_up_stand_side_by_side():
    text = LOOKED_UP.format(work="x * x", end="s += y").replace("k = a_k[i]", "k = a_k[n]").replace("a[k]", "a_m[k, i]")
    assert changed(text) == text.lstrip()


@pytest.mark.parametrize(
    ("work", "end"),
    [("math.exp(x)", "s += y"), ("x * x", "a[i] = y"), ("x * x", "if y > s: s += y")],
    ids=["much to do", "no sum", "a branch"],
)
def test_other_elements_may_be_gathered(work, end):
    text = LOOKED_UP.format(work=work, end=end)
    assert "opaque" not in changed(text)


def blend(m, v, w):
    """Every other point, moved by a weighted sum of small matrices; steps of two keep the iterations out of lanes."""
    total = 0.0
    for i in range(0, len(v), 2):
        x = y = 0.0
        for b in range(len(m)):
            for c in range(4):
                x += w[i, b] * m[b, 0, c] * v[i, c]
                y += w[i, b] * m[b, 1, c] * v[i, c]
        total += x * x * y
    return total


def test_the_derivative_is_right():
    assert "opaque" in tapec.emit(blend, wrt=(0, 1), signature="f8[:, :, ::1], f8[:, ::1], f8[:, ::1]", opt_level=2)
    rng = np.random.default_rng(3)
    check_derivative(blend, (rng.normal(size=(3, 2, 4)), rng.normal(size=(3, 4)), rng.normal(size=(3, 3))), (0, 1, 2))
