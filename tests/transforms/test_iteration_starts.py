"""Numbers that an iteration begins with, kept in place of more numbers that follow from them."""

from __future__ import annotations

import math
import re
from unittest import mock

import numpy as np
import pytest

import tapec
from tapec.transforms.storage import Planner
from tests.oracles import check, clone, interpreted


def march(grid, x0, y0, step, length):
    """The square of a sum along a ray, weighted by where in a cell its points are; only the data know how many."""
    x, y, way, total = x0, y0, 0.0, 0.0
    while way < length:
        i, j = math.floor(x), math.floor(y)
        if i >= 0 and j >= 0 and i < grid.shape[0] and j < grid.shape[1]:
            right, down = x - i, y - j
            total += grid[i, j] * right * (1.0 - right) * down * down
        x += step
        y += 0.7 * step
        way += 0.5
    return total * total


def counted(weights, x0, step):
    """Values between those of a table, in a loop whose iterations are known before."""
    x, total = x0, 0.0
    for _ in range(weights.shape[0]):
        i = math.floor(x)
        right = x - i
        if i + 1 < weights.shape[0]:
            total += (weights[i] * right + weights[i + 1] * (1.0 - right)) * right
        x += step
    return total


def alone(weights, x0, step):
    """One number follows from two: it is kept itself."""
    x, y, total = x0, x0, 0.0
    for i in range(weights.shape[0]):
        total += weights[i] * math.sin(x * y - i)
        x += step
        y -= step * x0
    return total


def chosen(weights, x0, step):
    """What an iteration begins with is one of two numbers, by a branch that ends in the iteration."""
    x, total = x0, 0.0
    for i in range(weights.shape[0]):
        if weights[i] > 0.5:
            x = x * step
        part = x - math.floor(x)
        total += weights[i] * part * part * (1.0 - part)
        x += step
    return total


CASES = [
    (march, lambda rng: (rng.random((4, 5)), -0.4, 0.3, 0.31, 7.0), (0, 1, 2, 3)),
    (counted, lambda rng: (rng.random(6), 0.2, 0.61), (0, 1, 2)),
    (alone, lambda rng: (rng.random(6), 0.2, 0.61), (0, 1, 2)),
    (chosen, lambda rng: (rng.random(6), 0.2, 0.61), (0, 1, 2)),
]


def test_a_ray_keeps_where_its_points_are():
    text = tapec.emit(march, wrt=0, signature="f8[:, ::1], f8, f8, f8, f8", opt_level=2)
    assert text.count("_stack = ") == 1
    assert re.search(r"kept_stack\.append\(\((x, y|y, x)\)\)", text)


def test_a_table_keeps_where_it_is_asked():
    text = tapec.emit(counted, wrt=(0, 1, 2), signature="f8[::1], f8, f8", opt_level=2)
    assert [line.split()[0] for line in text.splitlines() if "_store = " in line] == ["x_store"]


def test_one_value_is_kept_itself():
    text = tapec.emit(alone, wrt=(0, 1, 2), signature="f8[::1], f8, f8", opt_level=2)
    with mock.patch.object(Planner, "choose_starts", lambda planner: None):
        assert tapec.emit(alone, wrt=(0, 1, 2), signature="f8[::1], f8, f8", opt_level=2) == text


@pytest.mark.parametrize(("f", "make", "wrt"), CASES)
def test_gradients_are_the_same_without(rng, f, make, wrt):
    args = make(rng)
    with interpreted():
        value, gradient = tapec.value_and_grad(f, wrt=wrt)(*clone(args))
        with mock.patch.object(Planner, "choose_starts", lambda planner: None):
            wanted, expected = tapec.value_and_grad(f, wrt=wrt, cache=False)(*clone(args))
        assert value == wanted
        for one, other in zip(gradient, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        check(f, args, wrt, forward_level=0)
