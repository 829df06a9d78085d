"""Products with a factor in columns, which loops repeat, are left to the runtime."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tapec.backend import printer
from tapec.optimise.contractions.row_products import multiply_in_rows
from tapec.syntax.core import Function
from tapec.syntax.types import Array
from tests.optimise.comparison import close, run
from tests.optimise.reading import read

LOOP = """
def f(A, B, a, c, n):
    B_1 = B.T
    {head}:
        {product}
    return C
"""
PLAIN = {"head": "for i in range(n)", "product": "C = np.dot(A, B_1)"}


def program(layout: str = "F", **other: str) -> Function:
    function = read(LOOP.format(**{**PLAIN, **other}))
    return replace(function, types={**function.types, "B_1": Array("float64", 2, layout)})


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"head": "while True", "product": "C = np.dot(A, B_1)\n        break"},
        {"product": "if c:\n            C = np.dot(A, B_1)\n        else:\n            C = A"},
        {"product": "for j in range(n):\n            C = np.dot(A, B_1)"},
    ],
    ids=str,
)
def test_a_product_that_loops_repeat(other):
    before = program(**other)
    after = multiply_in_rows(before)
    text = printer.function(after, quote=False)
    assert text == printer.function(before, quote=False).replace("np.dot", "tapec_runtime.product")
    assert "np.dot" not in text
    assert multiply_in_rows(after) == after
    args = (np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3), np.ones(3), True, 1)
    assert close(run(before, args), run(after, args), 1e-14)


@pytest.mark.parametrize(
    ("layout", "other"),
    [
        ("C", {}),
        ("A", {}),
        # once
        ("F", {"head": "if c"}),
        # of vectors, and with a factor in columns that comes first
        ("F", {"product": "C = np.dot(a, B_1)"}),
        ("F", {"product": "C = np.dot(B_1, a)"}),
        ("F", {"product": "C = np.dot(B_1, A)"}),
        ("F", {"product": "C = np.linalg.solve(A, B_1)"}),
    ],
)
def test_other_products_stay(layout, other):
    function = program(layout, **other)
    assert multiply_in_rows(function) == function
