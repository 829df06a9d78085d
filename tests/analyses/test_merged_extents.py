"""The extent that all arrays have which a variable may stand for."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.analyses.merged_extents import EqualExtents
from tapec.analyses.scopes import scopes
from tapec.syntax.core import Const, Name
from tests.optimise.reading import read
from tests.oracles import check as check_derivative

CHANGING = """
def f(A, M, a, n, k):
    M_1 = np.zeros(({first}))
    M_2 = M_1
    for i in range(n):
        {body}
        M_2 = M_3
    return n
"""


@pytest.mark.parametrize(
    ("first", "body", "extents"),
    [
        ("n, 3", "M_3 = M_2.copy()", (Name("n"), Const(3))),
        ("n, n", "M_3 = M_2.T", (Name("n"), Name("n"))),
        ("n, 3", "M_3 = np.empty((n, 3))", (Name("n"), Const(3))),
        ("n, 3", "M_3 = np.empty((n, 4))", (Name("n"), None)),
        ("n, 3", "M_3 = np.empty((k, 3))", (None, Const(3))),
        ("3, 3", "M_4 = np.zeros((3, 3))\n        M_3 = np.dot(M_4, M_2)", (Const(3), Const(3))),
        ("3, 3", "M_3 = M", (None, None)),  # a parameter of which nothing was asked
        ("n, 3", "n_1 = n + i\n        M_3 = np.empty((n_1, 3))", (None, Const(3))),  # of each iteration
    ],
)
def test_of_a_variable_that_an_iteration_sets(first: str, body: str, extents: tuple[object, ...]):
    function = read(CHANGING.format(first=first, body=body))
    found = EqualExtents(function.types, scopes(function))
    assert tuple(found.extent("M_2", axis) for axis in range(2)) == extents


@pytest.mark.slow
def test_adjoints_of_products_with_a_variable_are_made_where_they_are_needed():
    """They were zeros on a list, one for each iteration."""

    def f(A, q, steps):
        P = np.eye(3)
        for _ in range(steps):
            P = np.tanh(A @ (A @ P) + q * P)
        return P[0, 1]

    for level in (1, 2):
        assert "bar_stack" not in tapec.emit(f, "q", "f8[:,::1], f8, i8", opt_level=level)
    check_derivative(f, (np.arange(9.0).reshape(3, 3) / 10, 0.3, 4), (1,))
    check_derivative(f, (np.arange(9.0).reshape(3, 3) / 10, 0.3, 4), (0, 1))
