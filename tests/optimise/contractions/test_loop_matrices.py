"""The matrices that a nest of three loops multiplies: arrays that are there, and loops that fill others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapec.analyses.iterations import Iterations
from tapec.backend import printer
from tapec.optimise.buffers.covering_nests import Nests
from tapec.optimise.contractions.loop_matrices import NestMatrices, needed_by
from tapec.optimise.contractions.loop_nests import Nest, Refused
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import Const, For, Name, Op
from tests.optimise.reading import read

NEST = """
def f(A, B, C, D, a, s):
    n = {n}
    m = {m}
    k = B.shape[1]
    for i in range(n):
        h = a[i]
        for j in range(m):
            {before}
            for k1 in range({inner}):
                {first}
                {second}
                p = u * v
                C[i, k1] += p
    return s
"""
PLAIN = {
    "n": "A.shape[0]", "m": "A.shape[1]", "before": "b = 1.0", "inner": "k", "first": "u = A[i, j]",
    "second": "v = B[j, k1]",
}  # fmt: skip


def matrices(**parts: str) -> NestMatrices:
    function = read(NEST.format(**{**PLAIN, **parts}))
    (loop,) = (stmt for stmt in function.body if isinstance(stmt, For))
    iterations = Iterations(function)
    return NestMatrices(Nest(loop, iterations), Nests(iterations), Fresh(function.types))


def lines(found: NestMatrices) -> list[str]:
    body = replace(read("def f(s):\n    return s\n"), body=tuple(found.out))
    return [line[4:] for line in printer.function(body, quote=False).splitlines()[1:]]


def test_a_factor_that_is_a_whole_array_is_that_array():
    found = matrices()
    assert (found.factor("u"), found.out) == ("A", [])
    assert found.factor("u", turned=True) != "A" and lines(found) == ["t = A.T"]


@pytest.mark.parametrize(
    "parts",
    [
        {"n": "3"},
        {"m": "B.shape[0]"},
        {"first": "x = A[i, j]\n                u = x * 2.0"},
        {"first": "u = A[i, j]", "m": "A.shape[0]"},
    ],
    ids=str,
)
def test_other_factors_are_kept(parts):
    found = matrices(**parts)
    made = found.factor("u")
    assert made not in ("A", "B") and lines(found)[0] == f"{made} = np.empty((n, m))"
    assert lines(found)[1:3] == ["for i in range(n):", "    for j in range(m):"]
    assert lines(found)[-1] == f"        {made}[i, j] = u"
    # once
    count = len(found.out)
    assert (found.factor("u"), len(found.out)) == (made, count)


def test_a_triangle_is_filled_up_with_zeros():
    found = matrices(before="j1 = j + 1", inner="j1")
    made = found.factor("v", turned=True)
    assert lines(found) == [
        f"{made} = np.zeros((m, m))",
        "for j in range(m):",
        "    j1 = j + 1",
        "    for k1 in range(j1):",
        "        v = B[j, k1]",
        f"        {made}[k1, j] = v",
    ]
    assert (found.begin(), found.end()) == (Const(0), Name("m"))


@pytest.mark.parametrize(
    ("before", "inner", "begin", "end"),
    [
        ("b = 1.0", "k", 0, "k"),
        ("b = 1.0", "j", 0, "n_1"),
        ("j1 = j + 3", "j1", 0, "n_1"),
        ("j1 = j + 1", "j1, k", 1, "k"),
        ("b = 1.0", "j, k", 0, "k"),
    ],
)
def test_where_the_third_loop_begins_and_ends_at_most(before, inner, begin, end):
    found = matrices(before=before, inner=inner)
    assert (found.begin(), found.end()) == (Const(begin), Name(end))


def test_what_the_third_loops_variable_tells_apart_cannot_be_computed_without_it():
    found = matrices(before="b = a[j]", first="x = A[i, j]\n                u = x * b")
    with pytest.raises(Refused):
        found.computing({"v"}, {"i", "j"})
    assert [stmt.target for stmt in found.computing({"u"}, {"i", "j"})] == ["b", "x", "u"]


def test_what_is_overwritten_later_is_kept_in_a_matrix():
    found = matrices(before="b = D[i, j]\n            D[i, j] = s", first="u = A[i, j]")
    with pytest.raises(Refused):
        found.computing({"b"}, {"i"})
    (load,) = found.computing({"b"}, {"i", "j"})
    assert load.value == Op("load", (Name(found.kept["b"]), Name("i"), Name("j")))


def test_names_that_statements_need_from_elsewhere():
    function = read("def f(x, y, s):\n    z = x + y\n    s = s + z\n    return s\n")
    assert needed_by(function.body[:-1], ()) == {"x", "y"}
    assert needed_by(function.body[:-1], {"s"}) == {"x", "y", "s"}
