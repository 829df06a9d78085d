"""Functions that return on some of their ways only: None on the others, which is told, or raises where it is used."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import tapec


@numba.njit
def chosen(kind, x):
    if kind == 0:
        return x * x
    elif kind == 1:
        return 3.0 * x


def used(x, kind):
    return chosen(kind, x) * 2.0


def told(x, kind):
    found = chosen(kind, x)
    if found is None:
        return 7.0 * x
    return found


def found_in_a_loop(x, count):
    for i in range(count):
        if i * x > 2.0:
            return x**i


def array_and_number(x, kind):
    if kind == 0:
        return x * x, 2.0


def of_arrays(x, kind):
    array, factor = array_and_number(x, kind)
    return factor * np.sum(array)


@pytest.mark.parametrize(
    ("function", "x", "kind", "expected"),
    [
        (used, 1.5, 0, 6.0),
        (used, 1.5, 1, 6.0),
        (told, 1.5, 0, 3.0),
        (told, 1.5, 2, 7.0),
        (found_in_a_loop, 1.5, 5, 3.0),
        (of_arrays, np.array([1.0, 2.0]), 0, [4.0, 8.0]),
    ],
)
def test_ways_that_return(function, x, kind, expected):
    np.testing.assert_allclose(tapec.grad(function)(x, kind), expected)
    _, dot = tapec.jvp(function, (x, kind), (np.ones_like(x) if isinstance(x, np.ndarray) else 1.0, None))
    np.testing.assert_allclose(dot, np.sum(expected))


@pytest.mark.parametrize(
    ("function", "x", "kind"), [(used, 1.5, 2), (found_in_a_loop, 1.5, 1), (of_arrays, np.ones(2), 1)]
)
def test_other_ways_raise_where_a_value_is_needed(function, x, kind):
    with pytest.raises(TypeError, match="None here"):
        tapec.grad(function)(x, kind)
