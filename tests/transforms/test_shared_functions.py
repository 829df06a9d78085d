"""Values of the program in the place of functions that derivatives ask for."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tapec
from tests.oracles import check, interpreted


def turned(x, u, v):
    """Sine and cosine of one angle, in either order."""
    total = 0.0
    for i in range(x.shape[0]):
        y = x[i]
        c, s = np.cos(y), np.sin(y)
        total += u[i] * c * s * s + v[i] * math.sin(c)
        total += np.tanh(s) * np.cos(c)
    return total * total


def before_a_loop(x, n):
    """The sine stands before the loop that asks for it; the other one behind it."""
    y = x[0] * x[1]
    s = np.sin(y)
    total = s
    for i in range(n):
        total += np.cos(y) * x[i] * total
    return total * np.cos(s) * np.sin(s)


def in_a_branch(x):
    """What one branch computes is not there for the other."""
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            total += np.cos(x[i]) * total
        else:
            total += np.sin(x[i]) * total + 1.0
    return total


def changed(x, n):
    """The angle changes from iteration to iteration."""
    y = x[0]
    total = 1.0
    for i in range(n):
        s = np.sin(y)
        y = y * x[1] + s
        total *= 1.0 + np.cos(y) * s
    return total


CASES = (
    (turned, (3, 3, 3)),
    (before_a_loop, (4, 3)),
    (in_a_branch, (5,)),
    (changed, (2, 4)),
)


@pytest.mark.parametrize(("f", "sizes"), CASES, ids=[case[0].__name__ for case in CASES])
def test_derivatives_are_right(rng: np.random.Generator, f, sizes):
    args = tuple(rng.normal(size=size) for size in sizes)
    if f in (before_a_loop, changed):
        args = args[0], 3
    with interpreted():
        check(f, args, forward_level=0)


def count(f) -> tuple[int, int]:
    """The sines and cosines in what runs at level 1."""
    with interpreted():
        gradient = tapec.value_and_grad(f, opt_level=1)
        gradient(np.ones(3))
    source = gradient.source()
    code = [line for line in source.splitlines() if not line.lstrip().startswith("#")]
    return tuple(sum(line.count(f"{name}(") for line in code) for name in ("sin", "cos"))


def double(x):
    total = 0.0
    for i in range(x.shape[0]):
        y = x[i]
        total += np.cos(y) * math.sin(y)
    return total * total


def test_no_function_is_computed_twice():
    assert count(double) == (1, 1)


def test_a_value_is_not_kept_for_this_alone():
    assert "store" not in tapec.emit(waves, signature="f8[:]", opt_level=1)


def waves(x, u=2.0):
    total = 0.0
    for i in range(x.shape[0]):
        y = x[i]
        total += u * np.cos(y) + np.sin(y)
    return total * total


def test_a_branch_that_was_not_taken_has_nothing_to_give():
    assert count(in_a_branch) == (2, 2)
