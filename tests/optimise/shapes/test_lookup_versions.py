"""Programs with a version for places that are looked up and lie behind, and what is written row by row."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import tapec
from tapec.analyses.definite_writes import DefiniteWrites
from tapec.analyses.facts import facts
from tapec.syntax.core import Assign, For
from tapec.syntax.types import Array, Below
from tests import oracles
from tests.optimise.reading import read
from tests.sampling import sampled


def pruned(x, rates, lefts, rights, tips):
    leaves = tips.shape[0]
    partial = np.zeros((leaves + lefts.shape[0], 3))
    total = 0.0
    for s in range(rates.shape[0]):
        for t in range(leaves):
            for k in range(3):
                partial[t, k] = 0.1
            partial[t, tips[t, s]] = 1.0
        for m in range(lefts.shape[0]):
            left, right = lefts[m], rights[m]
            stay = math.exp(-x[left] * rates[s])
            for a in range(3):
                y, z = 0.0, 0.0
                for b in range(3):
                    same = 1.0 if a == b else 0.0
                    y += (0.2 + same * stay) * partial[left, b]
                    z += (0.3 + same * x[right]) * partial[right, b]
                partial[leaves + m, a] = y * z
        for a in range(3):
            total += partial[leaves + lefts.shape[0] - 1, a]
    return total


def by_pairs(x, children):
    """Children in one array, each node a number, and no iterations around."""
    n = x.shape[0]
    value = np.zeros(n + children.shape[0])
    for t in range(n):
        value[t] = math.sin(x[t])
    for m in range(children.shape[0]):
        value[n + m] = value[children[m, 0]] * value[children[m, 1]] + 0.5 * value[children[m, 0]]
    return value[n + children.shape[0] - 1]


def earlier(x, before):
    """Rows that follow from earlier ones, which start at the first."""
    y = np.ones((x.shape[0], 2))
    y[0, 0] = x[0]
    y[0, 1] = 1.0
    for i in range(x.shape[0]):
        if i > 0:
            for k in range(2):
                y[i, k] = x[i] * y[before[i], 1 - k] + k
    total = 0.0
    for i in range(x.shape[0]):
        total += y[i, 0] * y[i, 1]
    return total


def changing(x, places):
    """Places that the program itself changes."""
    own = places.copy()
    y = np.zeros(x.shape[0] + 1)
    y[0] = x[0]
    for m in range(own.shape[0]):
        own[m] = own[m] - 1
        y[m + 1] = x[m] * y[own[m]]
    return y[x.shape[0]]


def differences(f, x):
    step = 1e-6
    return np.array([(f(x + step * unit) - f(x - step * unit)) / (2.0 * step) for unit in np.eye(x.size)])


def tree(rng: np.random.Generator, lefts: list[int], rights: list[int]) -> tuple[np.ndarray, ...]:
    leaves, sites = 4, 70
    nodes = leaves + len(lefts)
    tips = rng.integers(0, 3, (leaves, sites))
    x, rates = rng.uniform(0.2, 0.8, nodes), rng.uniform(0.5, 1.5, sites)
    return x, rates, np.array(lefts, dtype=np.int64), np.array(rights, dtype=np.int64), tips


# nodes in order, twice; a later node, or the node itself, which hold what the site before has left; counted from the
# end; a later node first, and with others from the end; one leaf for both
TREES = [
    ([0, 2, 4], [1, 3, 5]),
    ([0, 3, 5], [1, 2, 4]),
    ([0, 6, 4], [1, 3, 5]),
    ([0, 2, 4], [1, 3, 6]),
    ([0, -1, 4], [-7, 3, 5]),
    ([5, 2, 4], [1, 3, 0]),
    ([5, -6, -3], [1, 3, 0]),
    ([3], [3]),
]


@pytest.mark.slow
@pytest.mark.parametrize("nodes", sampled([pytest.param(nodes) for nodes in TREES], 8))
def test_a_tree_has_the_gradient_that_it_has_without_forms(rng: np.random.Generator, nodes):
    args = tree(rng, *nodes)
    with oracles.interpreted():
        value, (x_bar, rates_bar) = tapec.value_and_grad(pruned, (0, 1))(*args)
        plain, (x_plain, rates_plain) = tapec.value_and_grad(pruned, (0, 1), opt_level=0)(*args)
    assert value == pytest.approx(plain, rel=1e-12)
    np.testing.assert_allclose(x_bar, x_plain, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(rates_bar, rates_plain, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
@pytest.mark.compiled
def test_one_gradient_takes_both_forms_in_turn_compiled(rng: np.random.Generator):
    fast = tapec.grad(pruned)
    with oracles.interpreted():
        plain = tapec.grad(pruned, opt_level=0)
    for nodes in (TREES[0], TREES[5], TREES[1], TREES[6]):
        args = tree(rng, *nodes)
        with oracles.interpreted():
            expected = plain(*args)
        np.testing.assert_allclose(fast(*args), expected, rtol=1e-10, atol=1e-12)
    assert "if tapec_runtime.lie_behind(lefts, tips.shape[0])" in fast.source()


@pytest.mark.slow
def test_sites_of_a_tree_run_side_by_side(rng: np.random.Generator):
    gradient = tapec.grad(pruned)
    with oracles.interpreted():
        gradient(*tree(rng, *TREES[0]))
        first, *_ = gradient.source().split("\n    else:\n")
    assert "for s_first in range(0, n, 64)" in first
    assert "old_store" not in first
    signature = "f8[::1], f8[::1], i8[::1], i8[::1], i8[:, ::1]"
    assert "the gradient has two versions" in str(tapec.explain(pruned, signature=signature))


@pytest.mark.parametrize("children", [[[0, 1], [2, 3], [4, 5]], [[0, 6], [2, 3], [4, 5]], [[0, 1], [-4, 3], [5, 5]]])
def test_children_in_one_array(rng: np.random.Generator, children):
    x, pairs = rng.uniform(0.5, 1.0, 4), np.array(children)
    with oracles.interpreted():
        gradient = tapec.grad(by_pairs)
        np.testing.assert_allclose(gradient(x, pairs), differences(lambda x: by_pairs(x, pairs), x), atol=1e-6)
        assert "lie_behind(children, x.shape[0])" in gradient.source()


@pytest.mark.parametrize("before", [[0, 0, 1, 2, 0], [0, 0, 0, 4, 1], [4, 0, 0, 1, 1]])
def test_rows_that_follow_from_earlier_ones(rng: np.random.Generator, before):
    x, rows = rng.uniform(0.5, 1.0, 5), np.array(before)
    with oracles.interpreted():
        fast, plain = tapec.grad(earlier)(x, rows), tapec.grad(earlier, opt_level=0)(x, rows)
    np.testing.assert_allclose(fast, plain, rtol=1e-12)


def test_places_that_the_program_changes_are_not_asked_about(rng: np.random.Generator):
    x = rng.uniform(0.5, 1.0, 4)
    places = np.array([1, 2, 2, 4])
    with oracles.interpreted():
        gradient = tapec.grad(changing)
        np.testing.assert_allclose(gradient(x, places), differences(lambda x: changing(x, places), x), atol=1e-6)
        assert "lie_behind" not in gradient.source()


ROWS = """
def f(a, a_rows, n_1):
    n = a.shape[0]
    n_2 = n + n_1
    A = np.empty((n_2, 3))
    for i in range(n):
        for j in range(n):
            for k in range(3):
                A[j, k] = 0.0
        for j_1 in range({iterations}):
            k_1 = a_rows[j_1]
            j_2 = n + j_1
            for k_2 in range({columns}):
                v = A[{row}, k_2]
                A[j_2, k_2] = v
        k_3 = n_2 - 1
        r = A[k_3, 0]
        a[i] = r
    return n
"""


@pytest.mark.parametrize(
    ("changed", "ahead", "expected"),
    [
        ({}, 0, True),
        ({}, -1, True),
        ({}, 1, False),
        ({"iterations": "n"}, 0, False),
        ({"columns": "2"}, 0, False),
        ({"row": "n"}, 0, False),
        ({"row": "j_2"}, 0, False),
    ],
)
def test_rows_are_written_before_they_are_read(changed, ahead, expected):
    function = read(ROWS.format(**{"iterations": "n_1", "columns": "3", "row": "k_1", **changed}))
    rows = Array("int64", 1, below=Below(ahead, (("a", 0, 1),)))
    function = replace(function, types={**function.types, "a_rows": rows})
    made = next(stmt for stmt in function.body if isinstance(stmt, Assign) and stmt.target == "A")
    loop = next(stmt for stmt in function.body if isinstance(stmt, For))
    written = DefiniteWrites("A", facts(function).dependence.integers, made.value.args[1:])
    assert written.before_reading(loop.body) == expected


def test_a_row_that_changes_while_it_is_written_is_not_complete():
    text = """
    def f(a, a_rows, n):
        A = np.empty((n, 3))
        for i in range(n):
            for k in range(3):
                k_1 = {row}
                A[k_1, k] = 1.0
            r = A[i, 0]
            a[i] = r
        return n
    """
    types = {"a_rows": Array("int64", 1, below=Below(0, (("a", 0, 1),)))}
    for row, expected in (("a_rows[k]", False), ("i + 0", True)):
        function = read(text.replace("A[i, 0]", "A[k_1, 0]").format(row=row))
        function = replace(function, types={**function.types, **types})
        made, loop = (next(stmt for stmt in function.body if isinstance(stmt, kind)) for kind in (Assign, For))
        integers = facts(function).dependence.integers
        assert DefiniteWrites("A", integers, made.value.args[1:]).before_reading(loop.body) == expected
