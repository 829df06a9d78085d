"""Loops that seem to run until they converge are named, loops over time are not."""

from __future__ import annotations

import numpy as np
import pytest

import tapec


def by_residual(a):
    x = a
    while abs(x * x - a) > 1e-10:
        x = 0.5 * (x + a / x)
    return x


def by_norm(a):
    x = a
    change = 1.0
    while change > 1e-8:
        new = 0.5 * np.cos(x) + 0.1 * a
        change = np.linalg.norm(new - x)
        x = new
    return np.sum(x)


def left_by_break(a):
    x = np.zeros(a.shape[0])
    for _ in range(1000):
        new = 0.5 * np.cos(x) + a
        if np.max(np.abs(new - x)) < 1e-10:
            break
        x = new
    return np.sum(x)


def over_time(a):
    t = 0.0
    while t < 1.0:
        a = a + 0.1 * abs(np.sin(a))
        t += 0.1
    return a


def until_one_is_negative(a):
    x = a
    while x > 0.0:
        x = x - 0.3 * x * x - 0.1
    return x


def nothing_kept(a):
    x, n = 1.0, 0
    while abs(x) > 1e-3:
        x, n = x * 0.5, n + 1
    return a * n


# the line of the loop, counted from that of the function
CASES = [(by_residual, "f8", 2), (by_norm, "f8[:]", 3), (left_by_break, "f8[:]", 2), (over_time, "f8", None)]
CASES += [(until_one_is_negative, "f8", None), (nothing_kept, "f8", None)]


@pytest.mark.parametrize(("f", "signature", "line"), CASES, ids=[case[0].__name__ for case in CASES])
def test_loops_until_convergence_are_named(f, signature, line):
    said = [limit for limit in tapec.explain(f, 0, signature).limits if "tapec.converged" in limit]
    if line is None:
        assert not said
    else:
        assert f"line {f.__code__.co_firstlineno + line};" in said[0]
