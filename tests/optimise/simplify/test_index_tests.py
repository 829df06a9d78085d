"""Subscripts of adjoints are tested: an error is raised for exactly those that are out of range."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import tapec
import tapec_runtime
from tapec.backend import printer
from tapec.optimise.simplify.index_tests import add_index_tests
from tapec.syntax.core import For, Function, Stmt, element_of, map_blocks
from tests.optimise.comparison import identical, run
from tests.optimise.reading import opened, read
from tests.oracles import interpreted


def marked(text: str, threads: bool = False, **numbers: int) -> Function:
    """A program whose accesses to the adjoint, and to arrays with `numbers`, are open along their first axis."""
    arrays = dict.fromkeys(("a_bar", *numbers), (0,))

    def changed(stmt: Stmt) -> Stmt:
        array, _ = element_of(stmt) or ("", ())
        if array in arrays and stmt.span is not None:
            stmt = replace(stmt, span=replace(stmt.span, text="y = a[k]", tested=numbers.get(array, 0)))
        if isinstance(stmt, For) and threads:
            stmt = replace(stmt, parallel=True)
        return map_blocks(stmt, lambda block: tuple(map(changed, block)))

    function = opened(read(text), **arrays)
    return replace(function, body=tuple(map(changed, function.body)))


SCATTER = """
def f(a_bar, n, k, c, x):
    {before}
    for i in range({range}):
        {within}
        a_bar[{sub}] += x
    return x
"""
PLACES = [
    {"range": "n", "sub": "k"},
    {"range": "n", "sub": "i"},
    {"range": "n, k, -1", "sub": "i"},
    {"range": "0, n, 2", "sub": "j", "within": "j = i + k"},
    {"range": "n", "sub": "j", "within": "j = i * k"},
    {"range": "n", "sub": "j", "within": "j = i * i\n        j1 = j - 1\n        j = j1 * k"},
    {"range": "3", "sub": "j", "before": "j = k * k"},
    {"range": "3", "sub": "j", "before": "j = k * k", "within": "if c:\n            x = x + 1.0"},
    {"range": "3", "sub": "j", "within": "if c:\n            break\n        j = k * n"},
    {"range": "2", "sub": "k", "within": "if c:\n            raise ValueError()"},
    {"range": "k", "sub": "0"},
    {"range": "k", "sub": "-2"},
]


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_subscript_raises_exactly_where_it_is_out_of_range(place):
    before = marked(SCATTER.format(**{"before": "", "within": "", **place}))
    after = add_index_tests(before)
    for size, n, k, c in itertools.product((0, 1, 4), (0, 1, 3), (-2, 0, 1, 5), (False, True)):
        args = (np.zeros(size), n, k, c, 0.5)
        expected, got = run(before, args), run(after, args)
        if expected == (IndexError,):
            # an error that the iteration would raise first may come later than the one before the loop
            assert got in [(tapec_runtime.IndexOutOfRange,), (ValueError,)], (args, printer.function(after))
        else:
            assert identical(expected, got), (args, printer.function(after))


def test_what_no_range_says_is_tested_before_the_statement():
    text = SCATTER.format(before="", within="k_1 = math.floor(x)", range="n", sub="k_1")
    assert printer.function(add_index_tests(marked(text)), quote=False).splitlines()[3:-2] == [
        "        t = a_bar.shape[0]",
        "        t_1 = k_1 >= t",
        "        t_2 = a_bar.shape[0]",
        "        t_3 = t_2 + k_1",
        "        t_4 = t_3 < 0",
        "        t_5 = t_1 or t_4",
        "        if t_5:",
        "            t_6 = a_bar.shape[0]",
        '            raise tapec_runtime.IndexOutOfRange("`a`", 0, k_1, t_6, "y = a[k]")',
    ]


def test_a_program_without_open_subscripts_stays():
    function = read(SCATTER.format(before="", within="", range="n", sub="k"))
    assert add_index_tests(function) is function


def test_in_loops_on_threads_the_error_is_raised_behind_them():
    before = marked(SCATTER.format(before="", within="k_1 = math.floor(x)", range="n", sub="k_1"), threads=True)
    after = add_index_tests(before)
    text = printer.function(after, quote=False)
    assert text.index("outside = np.zeros(3") < text.index("prange") < text.index("raise ")
    adjoint = np.zeros(2)
    expected, got = (run(one, (adjoint, 3, 0, True, 1.5)) for one in (before, after))
    assert identical(expected, got)
    assert run(after, (adjoint, 3, 0, True, 2.5)) == (tapec_runtime.IndexOutOfRange,)


TANGENT = """
def f(a, a_bar, k, x):
    y = {load}
    z = a_bar[k]
    w = y * z
    return w
"""


@pytest.mark.parametrize(("load", "order"), [("a[k]", ["raise", "y", "z"]), ("x * x", ["y", "raise", "z"])])
def test_a_load_is_tested_and_that_of_its_tangent_only_where_it_is_dropped(load, order):
    text = printer.function(add_index_tests(marked(TANGENT.format(load=load), a=1, a_bar=1)), quote=False)
    assert [word for line in text.splitlines() if (word := line.split()[0]) in ("raise", "y", "z")] == order


def gathered(x, k):
    y = np.empty(2)
    for i in range(2):
        y[i] = 3.0 * x[k[i]]
    return y


def gathered_rows(m, k):
    y = np.empty(2)
    for i in range(2):
        y[i] = 3.0 * m[1, :][k[i]]
    return y


@pytest.mark.parametrize("size", [1, 9])
@pytest.mark.parametrize("mode", [tapec.jacfwd, tapec.jacrev, tapec.jacobian], ids=lambda m: m.__name__)
def test_loads_of_a_linear_function_are_dropped_and_their_tangents_tested(mode, size):
    """Nothing but the tangents, or adjoints, is left of the loads."""
    for f, x in ((gathered, np.ones(size)), (gathered_rows, np.ones((2, size)))):
        with interpreted():
            for k in (size, -size - 1):
                with pytest.raises(tapec_runtime.IndexOutOfRange):
                    mode(f)(x, np.array([0, k]))
            found = mode(f)(x, np.array([0, -1]))
        assert found.sum() == 6.0 and found.reshape(2, -1)[1, -1] == 3.0
