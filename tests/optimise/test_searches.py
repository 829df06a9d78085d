"""Sorted tables are searched without branches in loops, with the same result."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import tapec
import tapec_runtime
from tapec.optimise.searches import search_tables
from tests.optimise.reading import check, read

SEARCH = """
def f(a, A, n, x):
    k = {outside}
    for i in range(n):
        k = {inside}
    return k
"""


def test_a_search_in_a_loop():
    text = SEARCH.lstrip()
    check(
        search_tables,
        text.format(outside="np.searchsorted(a, x)", inside="np.searchsorted(a, x)"),
        text.format(outside="np.searchsorted(a, x)", inside="tapec_runtime.searchsorted(a, x)"),
    )


def interpolated(values, knots, at):
    total = 0.0
    for x in at:
        total += np.interp(x, knots, values)
    return total


def test_a_search_from_the_right():
    text = tapec.emit(interpolated, signature="f8[:], f8[:], f8[:]")
    assert "tapec_runtime.searchsorted_right(knots, x)" in text
    assert "np.searchsorted" not in text


@pytest.mark.parametrize("inside", ["np.searchsorted(a, n)", "np.searchsorted(A, x)", "np.argmax(a)"])
def test_what_stays(inside):
    function = read(SEARCH.format(outside="n", inside=inside))
    assert search_tables(function) == function


@njit
def places(table, numbers):
    left = [tapec_runtime.searchsorted(table, number) for number in numbers]
    return left, [tapec_runtime.searchsorted_right(table, number) for number in numbers]


def test_the_places_are_numpys():
    numbers = np.array([-np.inf, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 2.5, 3.0, np.inf, np.nan])
    whole = np.array([-1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 3.0, np.inf, np.nan, np.nan])
    for size in range(whole.size + 1):
        for table in (whole[:size].copy(), whole[whole.size - size :].copy()):
            wanted = [np.searchsorted(table, numbers, side).tolist() for side in ("left", "right")]
            assert [list(one) for one in places(table, numbers)] == wanted
            plain = [
                [search(table, number) for number in numbers]
                for search in (tapec_runtime.searchsorted, tapec_runtime.searchsorted_right)
            ]
            assert plain == wanted
