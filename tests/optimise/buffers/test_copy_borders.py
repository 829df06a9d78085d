"""Loops that copy an array, whole or without a box in the middle: each element outside the box is copied."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tapec.analyses.dependence import Affine
from tapec.analyses.iterations import Iterations
from tapec.optimise.buffers.copy_borders import Border, Borders
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import Const, Function, Name, Return, Stmt, Store, map_blocks
from tests.optimise.comparison import run
from tests.optimise.reading import read

VECTORS = "def f(a, a_new, n, k):\n    n_1 = n\n    return n\n"
MATRICES = "def f(A, A_new, n, k):\n    n_1 = n\n    return n\n"


def writer(text: str) -> tuple[Function, Borders]:
    function = read(text)
    return function, Borders(Iterations(function), Fresh(function.types))


def copied(function: Function, stmts: list[Stmt], rank: int, n: int, k: int) -> np.ndarray:
    """Where statements copy ones into an array of zeros; each element at most once."""

    def counted(stmt: Stmt) -> Stmt:
        stmt = replace(stmt, accumulate=True) if isinstance(stmt, Store) else stmt
        return map_blocks(stmt, lambda block: tuple(map(counted, block)))

    whole = replace(function, body=(*map(counted, stmts), Return((Name("n"),))))
    *_, target, source, _, _ = run(whole, (np.zeros((6,) * rank), np.ones((6,) * rank), n, k))
    assert np.all(source == 1.0) and target.max(initial=0.0) <= 1.0
    return target == 1.0


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (Affine(None, 0), Affine(None, 3)),
        (Affine(None, 2), Affine(None, 4)),
        (Affine("k", 0), Affine("n", -1)),
        (Affine("k", 1), Affine("n", 0)),
        (Affine(None, 0), Affine("n", 0)),
        (Affine(None, 0), Affine("n", -2)),
        (Affine(None, 1), Affine("n", 1)),
        (Affine(None, 5), Affine("k", 2)),
    ],
    ids=str,
)
def test_what_a_box_leaves_of_a_vector(low, high):
    for n, k in itertools.product((0, 1, 2, 6), (0, 1, 4)):
        function, borders = writer(VECTORS)
        out: list[Stmt] = []
        edge = borders.edge(low, high, Name("n"), None, out)
        out += borders.rim("a", "a_new", [edge], None)
        numbers = {None: 0, "n": n, "k": k}
        first, behind = (numbers[one.base] + one.offset for one in (low, high))
        expected = [place < n and not first <= place < behind for place in range(6)]
        assert copied(function, out, 1, n, k).tolist() == expected, (n, k)


def test_a_box_along_the_whole_axis_leaves_nothing():
    function, borders = writer(VECTORS)
    out: list[Stmt] = []
    edge = borders.edge(Affine(None, 0), Affine("n", 0), Name("n"), None, out)
    assert (edge, out) == (Border(Const(0), Name("n"), Name("n")), [])
    assert borders.rim("a", "a_new", [edge], None) == []


@pytest.mark.parametrize(
    "box", [((1, 4), (2, 5)), ((0, 6), (1, 2)), ((0, 2), (0, 6)), ((3, 3), (1, 5)), ((0, 0), (0, 0))]
)
def test_what_a_box_leaves_of_a_matrix(box):
    function, borders = writer(MATRICES)
    edges = [Border(Const(first), Const(behind), Const(6)) for first, behind in box]
    found = copied(function, borders.rim("A", "A_new", edges, None), 2, 6, 0)
    expected = np.ones((6, 6), bool)
    expected[box[0][0] : box[0][1], box[1][0] : box[1][1]] = False
    assert np.array_equal(found, expected)


def test_the_whole_matrix_is_copied():
    function, borders = writer(MATRICES)
    found = copied(function, borders.whole("A", "A_new", [Name("n"), Const(6)], None), 2, 4, 0)
    assert found[:4].all() and not found[4:].any()
