"""Containers are compared and copied as in Python, in functions and in blocks of tapes."""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np
import pytest

import tapec
from tests.oracles import interpreted


class Pair(NamedTuple):
    a: float
    b: float


def as_a_dict(x):
    made = Pair(x, 3.0)._asdict()
    made["b"] = 4.0
    return made["a"] * made["b"]


def made_of_items(x):
    made = Pair._make([x * 2.0, x * x])
    other = type(made)._make(made)._replace(a=3.0)
    pairs = [Pair._make(item) for item in ((x, 1.0), (2.0, x))]
    return made.a * other.b * len(made._fields) + other.a * pairs[0].a * pairs[1].b


def named_in_a_comprehension(x):
    total = sum([(last := x * k) for k in range(3)])
    squares = {k: (kept := total * k) for k in (1, 2)}
    return last * total + squares[1] * kept


def of_other_kinds(x):
    if [x, x] == () or (x,) == [x] or {} == [] or [] == Pair(x, x):
        return x * 2.0
    return x * 3.0 if [x] != (x,) else x * 5.0


def lists(x):
    return x * 2.0 if [x, 1.0] == [x, 1.0] and [x] != [x, x] and [x] != [x + 1.0] else x * 3.0


def dicts(x):
    return x * 2.0 if {"a": x} == {"a": x} and {"a": x} != {"b": x} and {"a": x} != {"a": 1.0} else x * 3.0


def deep_list(x):
    held = [x, [3.0, x]]
    made = copy.deepcopy(held)
    made[1][0] = 5.0
    return made[0] * made[1][0] * held[1][0] * made[1][1]


def deep_arrays(x):
    array = np.array([x, 2.0])
    held = {"a": array, "b": (array, [array]), "c": None, "d": "text"}
    made = copy.deepcopy(held)
    made["a"][1] = x
    return made["b"][0][1] * made["b"][1][0][1] * array[1] * made["a"][0]


def deep_array(x):
    array = np.array([x, 2.0])
    made = copy.deepcopy(array)
    made[1] = 7.0
    return array[1] * made[1] * made[0]


FUNCTIONS = [
    as_a_dict, made_of_items, named_in_a_comprehension, of_other_kinds, lists, dicts, deep_list, deep_arrays,
    deep_array,
]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_in_python(f):
    with interpreted():
        value, slope = tapec.value_and_grad(f)(2.0)
    assert value == f(2.0)
    assert abs(slope - (f(2.0 + 1e-6) - f(2.0 - 1e-6)) / 2e-6) < 1e-6 * max(1.0, abs(slope))


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_in_blocks(f):
    v = tapec.Variable(2.0)
    with interpreted():
        with tapec.GradientTape() as tape:
            y = f(v * 1.0)
        assert tape.gradient(y, v) == tapec.grad(f)(2.0)


def test_what_a_block_leaves():
    v, held = tapec.Variable(2.0), [np.ones(2), {"a": 3.0}]
    with interpreted():
        with tapec.GradientTape() as tape:
            made = copy.deepcopy(held)
            made[0][0] = 5.0
            y = v * made[0][0] * held[0][0] * made[1]["a"]
        assert tape.gradient(y, v) == 15.0
    assert held[0][0] == 1.0
    np.testing.assert_array_equal(made[0], [5.0, 1.0])
