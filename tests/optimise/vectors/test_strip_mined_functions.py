"""Elementary functions between inner loops, in loops of their own; and in branches: both sides are computed."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tapec
from tapec.optimise.vectors.if_conversion import select_functions
from tapec.optimise.vectors.strip_mined_functions import strip_mine_functions
from tests import oracles
from tests.optimise.comparison import close, run
from tests.optimise.reading import check, read

ROWS = """
def f(X, n, k, a, a_1):
    s = 0.0
    for i in range(n):
        z = 0.0
        for j in range(k):
            t = X[i, j]
            t1 = a[j]
            t2 = t * t1
            z = z + t2
        {link}
        s = s + e
        for j1 in range(k):
            t3 = X[i, j1]
            t4 = t3 * e
            a_1[j1] += t4
    return s
"""
LINKS = (
    "e = math.exp(z)",
    "u = math.tanh(z)\n        e = u * z",
    "u = math.exp(z)\n        s = s + u\n        e = u * 2.0",
)


def test_rows_are_read_for_some_iterations_at_a_time():
    rng = np.random.default_rng(5)
    for link in LINKS:
        function = read(ROWS.format(link=link))
        changed = strip_mine_functions(function)
        assert changed != function
        for n in (0, 1, 33, 70):
            args = (rng.normal(size=(n, 3)), n, 3, rng.normal(size=3), np.zeros(3))
            assert close(run(function, args), run(changed, args), 1e-13), (link, n)


@pytest.mark.parametrize(
    "link",
    [
        # nothing to gain; iterations that need one another, or that print; a way out
        "e = z * 2.0",
        "e = math.exp(s)",
        "e = math.exp(z)\n        print(e)",
        "e = math.exp(z)\n        s = e",
        "e = math.exp(z)\n        a[0] = e",
        "e = math.exp(z)\n        c = z < 0.0\n        if c:\n            raise ValueError()",
    ],
)
def test_loops_that_stay(link):
    function = read(ROWS.format(link=link))
    assert strip_mine_functions(function) == function


BRANCH = """
def f(n, a, a_1):
    s = 0.0
    for i in range(n):
        z = a[i]
        c = z > 0.0
        if c:
            {calls}
            w = w_1
        else:
            w_2 = z * 3.0
            w = w_2
        a_1[i] = w
    return s
"""


def test_both_sides_are_computed_where_one_calls_a_function():
    calls = "t = math.exp(z)\n            u = 1.0 + t\n            s = s + t\n            w_1 = t / u"
    after = """
    def f(n, a, a_1):
        s = 0.0
        for i in range(n):
            z = a[i]
            c = z > 0.0
            t = math.exp(z)
            u = 1.0 + t
            w_1 = t / u
            w_2 = z * 3.0
            w_3 = w_1 if c else w_2
            t_1 = t if c else 0.0
            w = w_3
            s += t_1
            a_1[i] = w
        return s
    """
    check(select_functions, BRANCH.format(calls=calls), after)


@pytest.mark.parametrize(
    "calls",
    [
        # no function; a power, which has a slow way out; divisors that may be zero; a sum that is asked for
        "w_1 = z * 2.0",
        "w_1 = z ** z",
        "t = math.exp(z)\n            u = t - 1.0\n            w_1 = t / u",
        "t = math.exp(z)\n            w_1 = z / t",
        "t = math.exp(z)\n            s = s + t\n            w_1 = s * 1.0",
    ],
)
def test_branches_that_stay(calls):
    function = read(BRANCH.format(calls=calls))
    assert select_functions(function) == function


def losses(w, b, x, y):
    total = 0.0
    for i in range(x.shape[0]):
        z = b
        for j in range(x.shape[1]):
            z += w[j] * x[i, j]
        m = z if y[i] == 1 else -z
        if m > 0.0:
            total += math.log1p(math.exp(-m))
        else:
            total += math.log1p(math.exp(m)) - m
    return total


def neurons(w, x):
    total = 0.0
    out = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        z = 0.0
        for j in range(x.shape[1]):
            z += w[j] * x[i, j]
        out[i] = math.tanh(z) * x[i, 0]
        total += out[i] * out[i]
    return total


@pytest.mark.slow
def test_gradients():
    rng = np.random.default_rng(6)
    text = tapec.emit(losses, (0, 1), "f8[:], f8, f8[:,:], i8[:]", opt_level=2)
    assert "tapec_runtime.log1p(" in text and "for lane in tapec_runtime.independent(range(lanes))" in text
    with oracles.interpreted():
        for n in (3, 40):
            x, w = rng.normal(size=(n, 4)), rng.normal(size=4)
            oracles.check(losses, (w, 0.3, x, rng.integers(0, 2, n)), forward_level=0)
            oracles.check(neurons, (w, x), forward_level=0)
