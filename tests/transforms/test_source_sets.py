"""Sparsity patterns: the sources that each element of a result depends on."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.errors import NotDifferentiable
from tapec.syntax.core import Function
from tapec.transforms.decision_digests import deciding_integers, traced
from tapec.transforms.forward import forward
from tapec.transforms.source_sets import source_sets
from tapec_runtime.index_sets import elements, room_for_sets
from tests.optimise.comparison import run
from tests.optimise.reading import read

A = np.array([0.3, -0.7, 0.5])


def pattern(function: Function, *args) -> tuple[list[set[int]], int]:
    """The sources of each element of the results, and the digest of decisions; sources are `a`, then `x`."""
    function = traced(function)
    sources = tuple(param for param in function.params if function.types[param].is_float)
    made = source_sets(function, sources, frozenset(), deciding_integers(function))
    count = sum(np.size(arg) for param, arg in zip(function.params, args, strict=True) if param in sources)
    sets = room_for_sets(count, 64)
    found, digest = run(made, (*args, sets))[:2]
    # of the sets as the run has left them
    sets = run(made, (*args, sets))[-1]
    starts, places = elements(sets, found)
    return [set(places[one:two].tolist()) for one, two in zip(starts, starts[1:], strict=False)], digest


def dependences(function: Function, a: np.ndarray, *rest) -> list[set[int]]:
    """The same by tangents: the elements of the first result that move with a source."""
    pushed = forward(function, (function.params[0],))
    units = np.eye(len(a))
    moved = np.array([np.ravel(run(pushed, (a, *rest, unit))[1]) for unit in units])
    return [set(np.flatnonzero(column).tolist()) for column in moved.T]


LOOPED = """
def f(a, n):
    a_y = np.zeros(3)
    for i in range(n):
        x = a[i]
        j = i - 1
        y = a[j]
        z = x * y
        a_y[i] = z
    return a_y
"""
OVERWRITTEN = """
def f(a, n):
    a_y = a.copy()
    x = a[0]
    a_y[1] += x
    a_y[2] = 1.0
    a_v = a_y[::-1]
    y = a_v[1]
    a_v[0] += y
    return a_y
"""
CARRIED = """
def f(a, n):
    a_y = np.zeros(3)
    s = 0.0
    for i in range(n):
        x = a[i]
        t = s + x
        a_y[i] = t
        s = t
    return a_y
"""
# what is no derivative adds nothing; what is zero by chance counts
STEPS = """
def f(a, n):
    a_y = np.zeros(3)
    x = a[0]
    y = np.floor(x)
    a_y[0] = y
    z = a[1]
    t = z * 0.0
    a_y[1] = t
    return a_y
"""
EMPTY = """
def f(a, n):
    a_y = np.zeros(0)
    return a_y
"""


@pytest.mark.parametrize(
    ("text", "n", "expected"),
    [
        (LOOPED, 3, [{0, 2}, {0, 1}, {1, 2}]),
        (LOOPED, 1, [{0, 2}, set(), set()]),
        (LOOPED, 0, [set(), set(), set()]),
        (OVERWRITTEN, 0, [{0}, {0, 1}, {0, 1}]),
        (CARRIED, 3, [{0}, {0, 1}, {0, 1, 2}]),
        (STEPS, 0, [set(), {1}, set()]),
        (EMPTY, 0, []),
    ],
)
def test_what_each_element_depends_on(text: str, n: int, expected: list[set[int]]):
    function = read(text)
    found, _ = pattern(function, A, n)
    assert found == expected
    assert all(moved <= wanted for moved, wanted in zip(dependences(function, A, n), found, strict=True))


BRANCH = """
def f(a, n):
    a_y = np.zeros(2)
    for i in range(n):
        x = a[i]
        c = x > 0.0
        if c:
            k = i - 1
            y = a[k]
            a_y[i] = y
        else:
            k_1 = i + 1
            y = a[k_1]
        a_y[0] += y
    return a_y
"""


def test_a_branch_of_numbers_has_what_both_ways_give():
    """Also elements that the way not taken would ask for beyond the end."""
    plain = read(BRANCH)
    for a in (A, -A, np.array([1.0, 1.0, 1.0])):
        found, digest = pattern(plain, a, 2)
        # either way for i = 0 and 1: elements -1 and 1, then 0 and 2
        assert found == [{0, 1, 2}, {0}] and digest == pattern(plain, A, 2)[1]
        assert all(moved <= wanted for moved, wanted in zip(dependences(plain, a, 2), found, strict=True))


DECIDED = """
def f(a, n):
    a_y = np.zeros(3)
    x = a[0]
    k = int(x)
    y = a[k]
    a_y[0] = y
    return a_y
"""


def test_decisions_are_in_the_digest():
    function = read(DECIDED.replace("k = int(x)", "k = n"))
    assert pattern(function, A, 1)[1] != pattern(function, A, 2)[1]
    assert pattern(function, A, 1)[1] == pattern(function, A + 1.0, 1)[1]


def test_results_that_are_literals_have_no_sources():
    assert pattern(read("def f(x):\n    return 1.0, x, 2"), 0.5)[0] == [set(), {0}]


def test_the_set_of_a_product_is_that_of_its_row_and_column():
    function = read("""
    def f(A, n):
        a = A[0]
        a_y = np.dot(A, a)
        return a_y
    """)
    matrix = np.arange(1.0, 5.0).reshape(2, 2)
    found, _ = pattern(function, matrix, 0)
    assert found == [{0, 1}, {0, 1, 2, 3}]


def test_what_has_no_derivative_by_its_operand_is_refused():
    function = read("def f(x):\n    y = tapec_runtime.scipy_special.jv(x, 1.0)\n    return y")
    with pytest.raises(NotDifferentiable, match="jv"):
        pattern(function, 0.5)
