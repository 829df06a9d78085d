"""`numba.typed.List` and `Dict` that the differentiated code makes."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit, types
from numba.typed import Dict, List

import tapec
from tapec import GradientTape
from tests import oracles
from tests.oracles import arr


@njit
def numbers(v):
    squares = List()
    for i in range(v.size):
        squares.append(v[i] ** 2)
    total = 0.0
    for y in squares:
        total += y * y
    return total


@njit
def tuples(v):
    pairs = List()
    for i in range(3):
        pairs.append((v[i], v[i + 1] * 2))
    total = 0.0
    for a, b in pairs:
        total += a * b
    return total


@njit
def arrays(v):
    rows = List()
    for i in range(3):
        rows.append(v * float(i))
    return np.sum(rows[1] * rows[2])


@njit
def converted(v):
    held = List.empty_list(types.float32)
    held.append(v[0])
    held.append(v[1])
    held[0] = v[2] / 3
    return held[0] * v[1]


@njit
def named(v):
    parts = Dict.empty(key_type=types.unicode_type, value_type=types.float64[:])
    parts["a"] = v * 2
    parts["b"] = v * v
    return np.sum(parts["a"] * parts["b"])


@pytest.mark.parametrize("f", [numbers, tuples, arrays, named], ids=lambda f: f.py_func.__name__)
def test_what_a_function_makes(f):
    oracles.check(f, (arr(4),), original=f)


def test_the_ways_out_of_dicts_that_are_refused():
    def by_types(x):
        parts = Dict.empty(types.unicode_type, types.float64)
        parts["a"] = x * x
        return parts["a"]

    def plain(x):
        parts = {}
        parts["a"] = x * x
        return parts["a"]

    assert tapec.grad(by_types)(3.0) == tapec.grad(plain)(3.0) == 6.0


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:unsafe cast")
def test_items_become_what_the_list_holds():
    v = arr(4)
    assert tapec.value_and_grad(converted)(v)[0] == converted(v)


@pytest.mark.compiled
def test_a_tape_leaves_them_behind():
    v = arr(3)
    with GradientTape() as tape:
        tape.watch(v)
        held = List()
        held.append(v[0])
        held.append(v[1] * 2)
        y = held[0] * held[1]
    assert type(held) is List
    assert np.allclose(tape.gradient(y, v), [2 * v[1], 2 * v[0], 0])
