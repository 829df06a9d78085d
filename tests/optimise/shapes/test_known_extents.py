"""Which bounds are the extents of arrays."""

from __future__ import annotations

import pytest

from tapec.analyses.array_axes import ArrayAxes, IndexSum
from tapec.optimise.shapes.known_extents import KnownExtents
from tests.optimise.reading import read

TEXT = """
def f(M, a, a_1, B, c):
    n = M.shape[0]
    n_1 = M.shape[1]
    k = B.shape[1]
    C = np.dot(M, B)
    D = np.empty((k, 3))
    E = C.T
    a_2 = a
    if c:
        a_2 = a_1
    j = a_2.shape[0]
    n_2 = n + 1
    return C, D, E, j, n_2
"""
CASES = {
    "a parameter": ("M", 0, "n", True),
    "another axis": ("M", 1, "n", False),
    "a product": ("C", 0, "n", True),
    "a product's columns": ("C", 1, "k", True),
    "what a product multiplies over": ("B", 0, "n_1", True),
    "an allocation": ("D", 0, "k", True),
    "a transposed product": ("E", 1, "n", True),
    "one of two arrays": ("a_2", 0, "j", False),
    "another number": ("M", 0, "n_2", False),
}


@pytest.mark.parametrize("case", CASES)
def test_bounds(case):
    array, axis, name, expected = CASES[case]
    function = read(TEXT)
    assert KnownExtents(function, ArrayAxes(function)).ends(array, axis, IndexSum((name,))) == expected


def test_numbers():
    function = read(TEXT)
    known = KnownExtents(function, ArrayAxes(function))
    assert known.ends("D", 1, IndexSum((), 3))
    assert not known.ends("D", 1, IndexSum((), 2))
    assert not known.ends("D", 0, IndexSum(("k",), 1))
