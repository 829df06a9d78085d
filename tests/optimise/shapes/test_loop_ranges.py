"""How far a loop's variable counts, in names that are set before the loops around it: compared with runs."""

from __future__ import annotations

import itertools

import pytest

from tapec.analyses.iterations import Iterations
from tapec.backend import printer
from tapec.optimise.shapes.loop_ranges import extent_of
from tapec.syntax.core import Assign, For, Return, walk
from tests.optimise.reading import read

NEST = """
def f(a, n, k, c):
    n_1 = n + 1
    for j in range({outer}):
        j_1 = j + 2
        j_2 = n - j
        k_1 = int(a[j])
        for i in range({inner}):
            x = a[i]
    return n
"""
CASES = [
    ("k", "n", "n"),
    ("k", "n_1", "n + 1"),
    ("k", "5", "5"),
    ("k", "2, 9, 3", "9"),
    ("k", "n, -1, -1", "n + 1"),
    ("k", "n, k, -2", "n + 1"),
    ("k", "4, -1, -1", "5"),
    # of the loop around, or of what it sets
    ("k", "j", "k - 1"),
    ("k", "j_1", "k + 1"),
    ("n_1, -1, -1", "j", "n + 1"),
    ("n_1, -1, -1", "j, n, -1", "n + 2"),
    ("3", "j, n, -1", "3"),
    ("k", "j, n", "n"),
    # it may be any number
    ("k", "j_2", None),
    ("k", "k_1", None),
    ("k", "k_1, n, -1", None),
    ("k", "0, n, k", None),
]


@pytest.mark.parametrize(("outer", "inner", "extent"), CASES)
def test_more_than_the_largest_value(outer, inner, extent):
    text = NEST.format(outer=outer, inner=inner)
    function = read(text)
    loops = {stmt.var: stmt for stmt in walk(function.body) if isinstance(stmt, For)}
    found = extent_of(Iterations(function), loops["i"], loops["j"])
    shown = found and printer.function(replace_body(function, found), False).splitlines()[1].removeprefix("    z = ")
    assert shown == extent
    if extent is None:
        return
    scope: dict = {"seen": []}
    exec(text.replace("x = a[i]", f"seen.append(i < {extent})"), scope)
    for n, k in itertools.product((-1, 0, 1, 3), (1, 2, 4)):
        scope["f"]([1.0] * 20, n, k, True)
    assert all(scope["seen"])


def replace_body(function, value):
    return type(function)("f", (), (Assign("z", value), Return(())), function.types)


def test_within_a_loop_a_name_of_the_loop_is_known():
    function = read(NEST.format(outer="k", inner="j_1"))
    loops = {stmt.var: stmt for stmt in walk(function.body) if isinstance(stmt, For)}
    found = extent_of(Iterations(function), loops["i"], loops["i"])
    assert printer.function(replace_body(function, found), False).splitlines()[1] == "    z = j + 2"


def test_a_name_from_outside_is_set_before_all_loops():
    function = read("def f(a):\n    for i in range(n_out):\n        x = a[i]\n    return a")
    (loop, _) = function.body
    found = extent_of(Iterations(function), loop, loop)
    assert printer.function(replace_body(function, found), False).splitlines()[1] == "    z = n_out"
