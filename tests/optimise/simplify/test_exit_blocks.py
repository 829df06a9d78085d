"""What a loop does on its only way out stands behind it: Numba takes the variables that are set there for others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tapec
from tapec.optimise.simplify.exit_blocks import move_exits_behind_loops
from tests.optimise.reading import check


def another_value(x, n):
    v, k = 0.0, 0
    while True:
        w = v + x
        k += 1
        if k >= n:
            v = 2.0 * w
            break
        v = w
    return v


def the_same_value(x, n):
    v, k = 0.0, 0
    while True:
        w = v + x * x
        k += 1
        if k >= n:
            v = w
            break
        else:
            v = w
    return v


def computed_in_place(x, n):
    v, k = 0.0, 0
    while True:
        k += 1
        if k >= n:
            v = v + x
            break
        v = v + x * x
    return v


def in_a_branch(x, n):
    v, k = 0.0, 0
    while True:
        k += 1
        if k > 2:
            v *= 0.5
            if k >= n:
                v = v - x
                break
        v = v + x * x
    return v


def two_ways_out(x, n):
    v, k = 0.0, 0
    while True:
        k += 1
        if k >= n:
            v = v - x
            break
        v = v + x * x
        if v > 100.0:
            v = v * v
            break
    return v


def in_a_loop(x, n):
    total = 0.0
    for i in range(3):
        v, k = 0.1 * i, 0
        while True:
            k += 1
            if k >= n + i:
                v = v - x
                break
            v = v + x * x
        total += v * v
    return total


PROGRAMS = (another_value, the_same_value, computed_in_place, in_a_branch, two_ways_out, in_a_loop)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_are_those_of_python(f: Callable[..., Any], level: int):
    x, n = 1.5, 5
    slope = (f(x + 1e-6, n) - f(x - 1e-6, n)) / 2e-6
    value, x_bar = tapec.value_and_grad(f, opt_level=level)(x, n)
    assert value == pytest.approx(f(x, n), rel=1e-14)
    assert x_bar == pytest.approx(slope, rel=1e-7)
    value, x_dot = tapec.jvp(f, (x, n), (1.0, None), opt_level=level)
    assert value == pytest.approx(f(x, n), rel=1e-14)
    assert x_dot == pytest.approx(slope, rel=1e-7)


def test_one_way_out():
    check(
        move_exits_behind_loops,
        """
        def f(v, x, c):
            while True:
                w = v + x
                if c:
                    y = w
                    break
                else:
                    v = w
            return y
        """,
        """
        def f(v, x, c):
            while True:
                w = v + x
                if c:
                    break
                else:
                    v = w
            y = w
            return y
        """,
    )


def test_two_ways_out_stay():
    text = """
        def f(v, x, c, c_1):
            while True:
                if c:
                    v = x
                    break
                elif c_1:
                    v = 2.0
                    break
            return v
        """
    check(move_exits_behind_loops, text, text)
