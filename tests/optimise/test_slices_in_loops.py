"""Slices between bounds that loops give (`a[i, k:]`, `a[i, :j]`): proved to be on the axis, or left alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tapec
from tapec.optimise.passes import CLEAN
from tapec.optimise.shapes.slice_folding import fold_slice_extents, fold_slices
from tapec.syntax.core import Assign, Op, walk
from tests import oracles
from tests.optimise.comparison import run
from tests.optimise.reading import check, read
from tests.sampling import sampled

PASSES = (*CLEAN, *2 * (fold_slice_extents, *CLEAN), fold_slices, *CLEAN)

ROWS = """
def f(A, n):
    n0 = A.shape[1]
    s = 0.0
    for j in range({bounds}):
        {asked}
        a1 = A[0, {low}:{high}]
        n1 = a1.shape[0]
        for k in range(n1):
            t = a1[k]
            s = s + t
    return s
"""


def rows(bounds="n0", low="", high="", asked="i0 = 0"):
    return ROWS.format(bounds=bounds, low=low, high=high, asked=asked)


def changed(text):
    function = read(text)
    for change in PASSES:
        function = change(function)
    return function


def has_view(function):
    return any(isinstance(s, Assign) and isinstance(s.value, Op) and s.value.fn == "view" for s in walk(function.body))


@pytest.mark.parametrize(
    "text",
    [
        rows(low="j"),
        rows(high="j"),
        rows("1, n0", high="j"),
        rows("n0", "i0", "", "i0 = j + 1"),
        rows("n0", "1", "i0", "i0 = j + 1"),
        rows("n0", "j", "i0", "i0 = j + 1"),
        # an element that is asked for in the same iteration
        rows("n", low="j", asked="t1 = A[0, j]\n        s = s + t1"),
        rows("n", "i0", "", "t1 = A[0, j]\n        s = s + t1\n        i0 = j + 1"),
        rows("n", high="i0", asked="i0 = j + 1\n        t1 = A[0, j]\n        s = s + t1"),
    ],
)
def test_slices_on_the_axis_are_gone(text):
    assert not has_view(changed(text))


@pytest.mark.parametrize(
    "text",
    [
        # more iterations than elements, and fewer
        rows("n", low="j"),
        rows("n", high="j"),
        rows("n0", "i0", "", "i0 = j + 2"),
        rows("n0", high="i0", asked="i0 = j + 2"),
        # counted from the end
        rows("-1, n0", low="j"),
        rows("n0", high="i0", asked="i0 = j - 1"),
        rows("-2, n0", low="j", asked="t1 = A[0, j]\n        s = s + t1"),
        # of another row's axis, or of an element further back
        rows("n", low="j", asked="t1 = A[j, 0]\n        s = s + t1"),
        rows("n", "i0", "", "t1 = A[0, j]\n        s = s + t1\n        i0 = j + 2"),
    ],
)
def test_others_stay(text):
    assert has_view(changed(text))


def test_an_element_that_only_a_branch_asks_for_proves_nothing():
    text = rows("n", low="j", asked="c = s > 0.5\n        if c:\n            t1 = A[0, j]\n        s = s + t1")
    assert has_view(changed(text))


def test_the_extent_is_what_is_between_the_bounds():
    before = "\ndef f(a, n):\n    n0 = a.shape[0]\n    for j in range(n0):\n        a1 = a[j:]\n        {extent}\n"
    before += "    return n\n"
    lines = "size = a.shape[0]\n        size_1 = size - j\n        n1 = max(size_1, 0)"
    check(fold_slice_extents, before.format(extent="n1 = a1.shape[0]"), before.format(extent=lines).lstrip())


BOUNDS = ("", "1", "j", "i1", "i2", "n", "n0")


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["n", "n0", "-2, n", "n0, -1, -1"])
def test_all_bounds_give_what_slices_give(loop):
    """Slices of arrays of any extents; where an element that is asked for is not there, any result is right."""
    start = loop.replace("n0, -1", "n9, -1")
    for low, high, asked in itertools.product(BOUNDS, BOUNDS, ("i3 = 0", "t1 = A[0, j]\n        s = s + t1")):
        text = rows(start, low, high, f"i1 = j + 1\n        i2 = j - 1\n        {asked}")
        text = text.replace("    s = 0.0\n", "    n9 = n0 - 1\n    s = 0.0\n", 1)
        function, new = read(text), changed(text)
        for extent, n in itertools.product(range(4), (0, 1, 3, 4)):
            args = (np.arange(2.0, 2.0 + 2 * extent).reshape(2, extent) ** 2, n)
            try:
                expected = run(function, args)[0]
            except IndexError:
                continue
            assert run(new, args)[0] == expected, (text, extent, n)


def cholesky(a):
    n = a.shape[0]
    low = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            low[i, j] = (a[i, j] - np.dot(low[i, :j], low[j, :j])) / low[j, j]
        low[i, i] = np.sqrt(a[i, i] - np.dot(low[i, :i], low[i, :i]))
    return np.sum(low * low[0, 0])


def elimination(a, b):
    n = a.shape[0]
    a, b = a.copy(), b.copy()
    for k in range(n - 1):
        for i in range(k + 1, n):
            m = a[i, k] / a[k, k]
            a[i, k:] -= m * a[k, k:]
            b[i] -= m * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - np.dot(a[i, i + 1 :], x[i + 1 :])) / a[i, i]
    return np.sum(x * x)


def running_means(x, width):
    total = 0.0
    for i in range(x.shape[0] - width + 1):
        total += np.mean(x[i : i + width]) ** 2
    return total


def rows_taken_in_turn(a, w):
    total = 0.0
    for i in range(a.shape[0]):
        v = a[i, : i + 1] * w[: i + 1]
        for j in range(i):
            total += np.dot(v[: j + 1], a[j, : j + 1]) * v[j]
        a[i, i:] = total
    return total


A = np.linspace(0.1, 0.9, 25).reshape(5, 5) + 3.0 * np.eye(5)
A += A.T
CASES = (
    (cholesky, (A,)),
    (elimination, (A, np.linspace(1.0, 2.0, 5))),
    (running_means, (np.linspace(-1.0, 1.0, 7) ** 2, 3)),
    (rows_taken_in_turn, (0.1 * A, np.linspace(0.5, 1.5, 5))),
)


@pytest.mark.parametrize(("function", "args"), sampled(CASES, 2))
def test_derivatives_of_programs_with_such_slices(function, args):
    wrt = tuple(place for place, arg in enumerate(args) if isinstance(arg, np.ndarray))
    with oracles.interpreted():
        oracles.check(function, args, wrt=wrt, forward_level=0)


def test_a_factorisation_by_inner_products_keeps_no_rows():
    source = tapec.emit(cholesky, signature="f8[:, ::1]", opt_level=2)
    assert "_stack" not in source
    assert not any(":j]" in line for line in source.splitlines() if not line.strip().startswith("#"))
