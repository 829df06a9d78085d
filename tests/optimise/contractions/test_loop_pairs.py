"""Two products of a nest that are one: with the same first factor, added to the same elements with the same signs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tapec.analyses.iterations import Iterations
from tapec.optimise.contractions.loop_nests import Nest
from tapec.optimise.contractions.loop_pairs import added_up, joined_term
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import Assign, Const, For, Return
from tests.optimise.comparison import run
from tests.optimise.reading import read

NEST = """
def f(A, B, C, D, n, m):
    for i in range(n):
        for j in range(m):
            s = {zero}
            for k in range(m):
                u = A[{row}]
                v = B[j, k]
                p = u * v
                s1 = s {sign} p
                s = s1
                w = A[i, j]
                x = B[j, k]
                q = w * x
                {negated}
                C[{column}] += {added}
            {after}
    return n
"""
PLAIN = {
    "zero": "0.0", "row": "i, k", "sign": "+", "negated": "q1 = -q", "column": "i, k", "added": "q",
    "after": "C[i, j] += s",
}  # fmt: skip


def joined(alike: bool = True, **parts: str) -> str | None:
    """The variable of the loop whose term stands for both; None if they are two."""
    function = read(NEST.format(**{**PLAIN, **parts}))
    (loop,) = (stmt for stmt in function.body if isinstance(stmt, For))
    nest = Nest(loop, Iterations(function))
    own = {stmt.target: stmt for stmt in (*nest.inner.body, *nest.before) if isinstance(stmt, Assign)}
    found = joined_term(nest, own, lambda left, same: alike and {left, same} == {"u", "w"})
    return found.over if found else None


@pytest.mark.parametrize(
    "parts", [{}, {"after": "s2 = -s\n            C[i, j] += s2", "added": "q1"}], ids=str
)
def test_both_are_one(parts):
    assert joined(**parts) == "j"


@pytest.mark.parametrize(
    "parts",
    [
        # with other signs, to other elements, not added, or more than once
        {"sign": "-"},
        {"added": "q1"},
        {"after": "C[j, i] += s"},
        {"after": "D[i, j] += s"},
        {"after": "D[i, j] = s"},
        {"after": "C[i, j] += s\n            C[i, j] += s"},
        {"after": "s2 = s * 2.0\n            C[i, j] += s2"},
        # one of the sums begins with something else
        {"zero": "1.0"},
        # the first factor is a transpose
        {"row": "k, i"},
    ],
    ids=str,
)
def test_others_are_two(parts):
    assert joined(**parts) is None


def test_other_factors_make_two():
    assert joined(alike=False) is None


def test_matrices_are_added_element_by_element():
    function = read("def f(A, B, C, n):\n    return n\n")
    fresh = Fresh(function.types)
    loop = added_up(("A", "B", "C"), Const(3), fresh, None)
    whole = replace(function, body=(loop, *function.body), types=fresh.types)
    first, second = np.arange(9.0).reshape(3, 3), np.ones((3, 3))
    _, _, _, total, _ = run(whole, (first, second, np.zeros((3, 3)), 3))
    assert isinstance(whole.body[-1], Return) and np.array_equal(total, first + second)
