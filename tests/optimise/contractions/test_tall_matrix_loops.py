"""A loop whose matrices are in transpose: products, extents, elements and their marks change places."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tapec.analyses.iterations import Iterations
from tapec.backend import printer
from tapec.optimise.buffers.covering_nests import Nests
from tapec.optimise.contractions.tall_matrix_loops import InTranspose, TallMatrices
from tapec.optimise.loops.loop_interchange import Interchange
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import Assign, For, Function, Name, Op, walk
from tests.optimise.comparison import close, run
from tests.optimise.reading import open_axes, opened, read

PROGRAM = """
def f(A, W, n, k):
    C = np.empty((n, 3))
    {nest}
    {after}
    return x
"""
NEST = "for i in range(n):\n        for j in range(3):\n            y = A[i, j]\n            C[i, j] = y"


def turned(text: str, *matrices: str, **axes: tuple[int, ...]) -> tuple[Function, Function]:
    """A program, and the one with some of its matrices in transpose; `axes` are open."""
    function = opened(read(text), **axes)
    iterations, fresh = Iterations(function), Fresh(function.types)
    made = {s.target: s for s in function.body if isinstance(s, Assign) and s.target in matrices}
    views = {s.target: s.value.args[0].id for s in function.body if isinstance(s, Assign) and isinstance(s.value, Op)
             and s.value.fn == "transpose" and s.value.args[0].id in matrices}  # fmt: skip
    group = TallMatrices(Name("n"), made, views, nests=[s for s in function.body if isinstance(s, For)])
    names = {name: fresh(f"{name}_columns", fresh.types[name]) for name in matrices}
    worker = InTranspose(group, names, Nests(iterations), Interchange(iterations, fresh), fresh)
    body = worker.block(function.body[:-1])
    return function, replace(function, body=(*body, function.body[-1]), types=fresh.types)


@pytest.mark.parametrize(
    ("after", "matrices"),
    [
        # a product with a matrix that stays, one that is turned, too, and one with the transpose of the matrix
        ("P = np.dot(C, W)\n    x = np.sum(P)", ("C",)),
        ("P = np.dot(C, W)\n    P_1 = np.dot(P, W)\n    x = np.sum(P_1)", ("C", "P")),
        ("C_1 = C.T\n    P = np.dot(W, C_1)\n    x = np.sum(P)", ("C",)),
        ("C_1 = C.T\n    P = np.dot(C_1, C)\n    x = np.sum(P)", ("C",)),
        ("W_1 = W.T\n    P = np.dot(C, W_1)\n    P_1 = np.dot(P, W_1)\n    x = np.sum(P_1)", ("C", "P")),
        # extents
        ("n1 = C.shape[0]\n    n2 = C.shape[1]\n    x = 10 * n1 + n2", ("C",)),
        ("P = np.dot(C, W)\n    k1 = P.shape[0]\n    k2 = P.shape[1]\n    x = 10 * k1 + k2", ("C", "P")),
    ],
)
def test_values_stay(after, matrices):
    before, after_it = turned(PROGRAM.format(nest=NEST, after=after), *matrices)
    assert not any(getattr(stmt, "target", None) == "C" for stmt in walk(after_it.body))
    args = (np.arange(15.0).reshape(5, 3), np.arange(9.0).reshape(3, 3) + 1.0, 5, 0)
    assert close(run(before, args), run(after_it, args), 1e-13), printer.function(after_it, quote=False)


def test_nests_go_along_the_columns():
    _, after = turned(PROGRAM.format(nest=NEST, after="x = 1.0"), "C")
    assert printer.function(after, quote=False).splitlines()[1:-2] == [
        "    C_columns = np.empty((3, n))",
        "    for j in range(3):",
        "        for i in range(n):",
        "            y = A[i, j]",
        "            C_columns[j, i] = y",
    ]


@pytest.mark.parametrize("statement", ["C[i, j] = 2.0", "y = C[i, j]"])
def test_open_axes_change_places(statement):
    text = PROGRAM.format(nest=NEST.replace("y = A[i, j]\n            C[i, j] = y", statement), after="x = 1.0")
    _, after = turned(text, "C", C=(0,))
    assert open_axes(after, "C_columns") == [(1,)]
