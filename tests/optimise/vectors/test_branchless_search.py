"""Sorted tables are searched without branches in loops, with the same result."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import tapec
import tapec_runtime
from tapec.optimise.vectors.branchless_search import search_tables
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


@pytest.mark.slow
@pytest.mark.compiled
def test_a_search_from_the_right():
    text = tapec.emit(interpolated, signature="f8[:], f8[:], f8[:]", opt_level=2)
    assert "tapec_runtime.places(knots, at, at_size, True)" in text
    assert "searchsorted" not in text


@pytest.mark.parametrize("inside", ["np.searchsorted(a, n)", "np.searchsorted(A, x)", "np.argmax(a)"])
def test_what_stays(inside):
    function = read(SEARCH.format(outside="n", inside=inside))
    assert search_tables(function) == function


AHEAD = """
def f(a, a1, n, x):
    {before}
    for i in range({iterations}):
        x = a1[{place}]
        k = np.searchsorted(a, x)
        {then}
    return k
"""


def ahead(before: str = "n = n", iterations: str = "n", place: str = "i", then: str = "n = n") -> str:
    text = AHEAD.format(before=before, iterations=iterations, place=place, then=then)
    return "\n".join(line for line in text.splitlines() if line.strip() != "n = n")[1:] + "\n"


def test_searches_for_the_elements_of_an_array_are_made_before_the_loop():
    check(
        search_tables,
        ahead().replace("x = a1[i]", "y = a1[i]").replace("(a, x)", "(a, y)"),
        """
        def f(a, a1, n, x):
            found = tapec_runtime.places(a, a1, n, False)
            for i in range(n):
                y = a1[i]
                k = found[i]
            return k
        """,
    )


@pytest.mark.parametrize(
    "parts",
    [
        {"then": "a[i] = x"},
        {"then": "a1[i] = x"},
        {"then": "if x > 0.0:\n            break"},
        {"then": "if x > 0.0:\n            raise ValueError('x')"},
        {"iterations": "1, n"},
        {"iterations": "0, n, 2"},
        {"place": "n"},
    ],
)
def test_searches_that_stay_where_they_are(parts):
    text = ahead(**parts).replace("x = a1", "y = a1").replace("(a, x)", "(a, y)")
    assert "found" not in search_tables(read(text)).types


def test_searches_of_inner_loops_stay_there():
    function = read(
        """
        def f(a, a1, n):
            for j in range(n):
                for i in range(n):
                    y = a1[i]
                    k = np.searchsorted(a, y)
            return k
        """
    )
    assert "found" not in search_tables(function).types


@njit
def places(table, numbers):
    left = [tapec_runtime.searchsorted(table, number) for number in numbers]
    return left, [tapec_runtime.searchsorted_right(table, number) for number in numbers]


@pytest.mark.slow
@pytest.mark.compiled
def test_the_places_are_numpys():
    numbers = np.array([-np.inf, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 2.5, 3.0, np.inf, np.nan])
    whole = np.array([-1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 3.0, np.inf, np.nan, np.nan])
    for size in range(whole.size + 1):
        for table in (whole[:size].copy(), whole[whole.size - size :].copy()):
            wanted = [np.searchsorted(table, numbers, side).tolist() for side in ("left", "right")]
            assert [list(one) for one in places(table, numbers)] == wanted
            for right, side in ((False, wanted[0]), (True, wanted[1])):
                assert tapec_runtime.places(table, numbers, numbers.size, right).tolist() == side
                assert tapec_runtime.places.py_func(table, numbers, 3, right).tolist() == side[:3]
            plain = [
                [search(table, number) for number in numbers]
                for search in (tapec_runtime.searchsorted, tapec_runtime.searchsorted_right)
            ]
            assert plain == wanted


@pytest.mark.compiled
def test_places_of_more_numbers_than_there_are_and_of_many(rng: np.random.Generator):
    table, numbers = np.sort(rng.normal(size=50)), rng.normal(size=200)
    found = tapec_runtime.places(table, numbers, 210, False)
    assert found.size == 210 and found[:200].tolist() == np.searchsorted(table, numbers).tolist()
    assert tapec_runtime.places(table, numbers, -1, False).size == 0


@pytest.mark.compiled
def test_places_of_blocks_with_and_without_nan(rng: np.random.Generator):
    numbers = rng.integers(-1, 22, 333).astype(float)
    numbers[[70, 100, 332]] = np.nan
    for size in (0, 1, 2, 3, 7, 64, 100):
        table = np.sort(rng.integers(0, 20, size).astype(float))
        for right, side in ((False, "left"), (True, "right")):
            wanted = np.searchsorted(table, numbers, side).tolist()  # type: ignore[call-overload]
            assert tapec_runtime.places(table, numbers, 333, right).tolist() == wanted
            assert tapec_runtime.places.py_func(table, numbers, 333, right).tolist() == wanted
