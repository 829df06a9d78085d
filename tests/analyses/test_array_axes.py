"""Which loops over elements may be axes, and what their iterations hand on."""

from __future__ import annotations

import pytest

from tapec.analyses.array_axes import ArrayAxes, IndexSum
from tapec.syntax.core import For, Name
from tests.optimise.reading import read

HEAD = "def f(a, a_1, M, n, j):\n    s = 0.0\n    k = max(n, 0)\n    for i in range(1, n):\n"
CASES = {
    "elements side by side": ("t = a[i]\na_1[i] = t", {}),
    "a sum": ("t = a[i]\nr = s + t\ns = r", {"s": "+"}),
    "a difference is a sum": ("t = a[i]\nr = s - t\ns = r", {"s": "+"}),
    "a maximum": ("t = a[i]\nr = np.maximum(s, t)\ns = r", {"s": "np.maximum"}),
    "all add to one element": ("t = a[i]\na_1[j] += t", {}),
    "the next iteration reads it": ("t = a[i]\nk_1 = i - 1\na[k_1] = t", None),
    "one element, stored": ("t = a[i]\nr = t + a_1[j]\na_1[j] = r", None),
    "a product": ("t = a[i]\nr = s * t\ns = r", None),
    "the sum is read": ("t = s * s\nr = s + t\ns = r", None),
    "a row of a matrix": ("t = M[j, i]\nM[j, i] = t", {}),
}


@pytest.mark.parametrize("case", CASES)
def test_what_iterations_hand_on(case):
    body, expected = CASES[case]
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    function = read(HEAD + lines + "    return s, a\n")
    (loop,) = (stmt for stmt in function.body if isinstance(stmt, For))
    assert ArrayAxes(function).reduced(loop) == expected


def test_places_are_sums_by_their_definitions():
    function = read("def f(i, n):\n    k = i + 1\n    j = k - n\n    return j\n")
    axes = ArrayAxes(function)
    assert axes.place(Name("k")) == IndexSum(("i",), 1)
    assert axes.place(Name("j")) == IndexSum(("j",))


def test_extents_are_not_below_zero():
    function = read("def f(a, n):\n    k = a.shape[0]\n    j = max(n, 0)\n    i = n - 1\n    return k, j, i\n")
    axes = ArrayAxes(function)
    assert axes.is_extent(IndexSum(("j", "k")))
    assert not axes.is_extent(IndexSum(("i",)))
    assert not axes.is_extent(IndexSum(("k",), -1))
