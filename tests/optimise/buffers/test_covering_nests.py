"""Nests of loops that come to every element of an array once: how many of each axis they come to."""

from __future__ import annotations

import pytest

from tapec.analyses.iterations import Iterations
from tapec.optimise.buffers.covering_nests import Nests
from tapec.syntax.core import Const, For, Name, Op, Store
from tests.optimise.reading import read

NEST = """
def f(A, a, n, k, c, x):
    A_1 = np.zeros((n, k))
    {before}
    for i in range({rows}):
        {between}
        for j in range({columns}):
            {body}
    return x
"""
PLAIN = {"before": "x1 = x", "rows": "n", "columns": "k", "between": "y = x", "body": "A_1[i, j] = x"}
EXTENTS = (Name("n"), Name("k"))


def nest(**other: str) -> tuple[Nests, For]:
    function = read(NEST.format(**{**PLAIN, **other}))
    (loop,) = (stmt for stmt in function.body if isinstance(stmt, For))
    return Nests(Iterations(function)), loop


@pytest.mark.parametrize(
    ("other", "index"),
    [
        ({}, ("i", "j")),
        ({"rows": "k", "columns": "n", "body": "A_1[j, i] = x"}, ("j", "i")),
        ({"body": "y = A_1[i, j]\n            A_1[i, j] = y"}, ("i", "j")),
        ({"body": "A_1[i, j] += x"}, ("i", "j")),
        # what the nest does besides is no matter
        ({"between": "y = A[0, 0]\n        a[i] = y"}, ("i", "j")),
    ],
    ids=str,
)
def test_a_nest_over_all_elements(other, index):
    nests, loop = nest(**other)
    found = nests.element(loop, "A_1", EXTENTS)
    assert found is not None and isinstance(found[0][-1], Store) and found[1] == tuple(map(Name, index))


@pytest.mark.parametrize(
    "other",
    [
        {"rows": "k"},
        {"columns": "i"},
        {"rows": "1, n"},
        {"rows": "0, n, 2"},
        {"columns": "k, 0, -1"},
        {"columns": "k - 1"},
        {"body": "A_1[j, i] = x"},
        {"body": "A_1[i, i] = x"},
        {"body": "A_1[i, 0] = x"},
        {"body": "j1 = j + 0\n            A_1[i, j1] = x"},
        # other iterations, and other places, meet the array
        {"between": "A_1[i, 0] = x"},
        {"body": "A_1[i, j] = x\n            y = A_1[0, 0]\n            print(y)\n            a = A_1[0]"},
        {"body": "if c:\n                A_1[i, j] = x"},
        {"body": "A_1[i, j] = x\n            if c:\n                break"},
        {"between": "if c:\n            break"},
        # as many as a name has counted by now
        {"before": "n_1 = 0\n    if c:\n        n_1 = n\n    else:\n        n_1 = k", "rows": "n_1"},
    ],
    ids=str,
)
def test_other_nests(other):
    nests, loop = nest(**other)
    assert nests.element(loop, "A_1", EXTENTS) is None


def test_a_nest_over_a_part_tells_how_large_it_is():
    nests, loop = nest(columns="3")
    found = nests.elements(loop, "A_1", 2)
    assert found is not None and found[2] == (Name("n"), Const(3))


def test_where_a_block_meets_memory_first():
    function = read(
        "def f(a, n, x):\n    a_1 = np.zeros(n)\n    a_2 = np.zeros(n)\n    for i in range(n):\n        a_2[i] = x\n"
        "    a_3 = a_1[1:]\n    y = a_1[0]\n    return y\n"
    )
    nests = Nests(Iterations(function))
    assert [nests.first(function.body, 0, name) for name in ("a_1", "a_2", "a_3", "a")] == [3, 1, 3, None]


def test_extents_that_a_product_asks_to_be_equal_are_equal_behind_it_alone():
    function = read("def f(A, A_1, n):\n    A_2 = np.dot(A, A_1)\n    A_3 = A_2.T\n    return n\n")
    nests = Nests(Iterations(function))
    rows, columns = (Op("dim", (Name(name), Const(axis))) for name, axis in (("A_1", 0), ("A", 1)))
    assert nests.equal(rows, columns, function.body[:1]) and not nests.equal(rows, columns, ())
    assert not nests.equal(rows, Op("dim", (Name("A"), Const(0))), function.body)
    # of products and views the extents are those of what they are made of
    assert nests.extent("A_2", 0) == Op("dim", (Name("A"), Const(0)))
    assert nests.extent("A_3", 0) == Op("dim", (Name("A_1"), Const(1)))
