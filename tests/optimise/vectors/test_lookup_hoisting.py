"""Rows that all iterations of a loop use are looked up once, before it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.vectors.lookup_hoisting import hoist_lookups
from tapec.syntax.types import INT64, Array
from tests.optimise.reading import read
from tests.oracles import interpreted

LOOP = """
def f(a, a_k, A, m, n, x, j):
    for i in range(n):
{iteration}
    return a
"""


def loop(iteration: str) -> str:
    return LOOP.format(iteration="\n".join(f"        {line}" for line in iteration.splitlines())).lstrip()


def changed(text: str) -> str:
    function = read(text)
    types = function.types | {"a_k": Array(INT64.dtype, 1)}
    return printer.function(hoist_lookups(replace(function, types=types)), False)


def test_the_rows_of_a_loop_are_looked_up_before_it():
    assert changed(loop("k = a_k[m]\nk_1 = a_k[k]\ny = A[k_1, i]\na[i] += y")) == (
        "def f(a, a_k, A, m, n, x, j):\n"
        "    t = 0 < n\n"
        "    if t:\n"
        "        k = a_k[m]\n"
        "        k_1 = a_k[k]\n"
        "        for i in range(n):\n"
        "            y = A[k_1, i]\n"
        "            a[i] += y\n"
        "    return a\n"
    )


@pytest.mark.parametrize(
    "iteration",
    [
        # other rows in other iterations
        "k = a_k[i]\ny = A[k, m]\na[i] += y",
        # the loop changes the table
        "k = a_k[m]\na_k[i] = j\na[k] += x",
        # nothing is stored: LLVM sees it
        "k = a_k[m]\ny = A[k, i]\nx += y",
        # in some iterations alone
        "if x > 0.0:\n    k = a_k[m]\n    a[k] += x",
        # no whole number
        "y = a[m]\nA[m, i] = y",
        # loops inside
        "k = a_k[m]\nfor i_1 in range(n):\n    A[k, i_1] += x",
    ],
)
def test_other_loops_stay(iteration: str):
    text = loop(iteration)
    assert changed(text) == text


def factorised(u, v, i, j, r):
    total = 0.0
    for m in range(i.shape[0]):
        p = 0.0
        for k in range(u.shape[1]):
            p += u[i[m], k] * v[j[m], k]
        total += (r[m] - p) ** 2
    return total


def test_no_row_is_looked_up_where_the_loop_makes_no_iteration():
    signature = "f8[:, ::1], f8[:, ::1], i8[::1], i8[::1], f8[::1]"
    text = tapec.emit(factorised, wrt=(0, 1, 4), signature=signature, opt_level=2)
    # a row's product needs no guard against gathering: its elements stand side by side
    assert "opaque" not in text
    assert text.count("= i[m]") == 1
    with interpreted():
        fast, plain = (tapec.value_and_grad(factorised, wrt=(0, 1), opt_level=level) for level in (2, 0))
        i, j, r = np.array([0, 2, 0, 1]), np.array([1, 0, 1, 3]), np.array([1.0, -1.0, 0.5, 2.0])
        for d in (0, 1, 5):
            u, v = np.linspace(0.1, 0.9, 3 * d).reshape(3, d), np.linspace(-0.5, 0.5, 4 * d).reshape(4, d)
            (value, found), (wanted, others) = fast(u, v, i, j, r), plain(u, v, i, j, r)
            np.testing.assert_allclose(value, wanted, rtol=1e-13)
            for one, other in zip(found, others, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-13)
        # no iteration looks anything up
        empty = np.zeros((3, 0)), np.zeros((4, 0)), np.zeros(4, dtype=np.int64), np.zeros(0, dtype=np.int64), r
        assert fast(*empty)[0] == plain(*empty)[0]
