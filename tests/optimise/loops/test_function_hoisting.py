"""Functions that all iterations of a loop ask for alike in loops inside, computed once before it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.loops.function_hoisting import hoist_functions, hoist_quotients
from tests import oracles
from tests.optimise.comparison import identical, run
from tests.optimise.reading import read
from tests.oracles import arr, interpreted
from tests.sampling import sampled

ITERATION = """
def f(x, a, b, n):
    n1 = a.shape[0]
    y = 0.0
    for k in range({iterations}):
        {before}
        for i in range({inner}):
            {inside}
            t = {argument}
            t1 = {value}
            z = t1 * x
            y = y + z
        {behind}
    return y
"""
AS_IT_IS = {
    "iterations": "n",
    "before": "pass",
    "inner": "n1",
    "inside": "pass",
    "argument": "a[i]",
    "value": "np.exp(t)",
    "behind": "pass",
}


def changed(other: dict[str, str]) -> bool:
    """Whether the function is computed before the loop; what is returned stays the same."""
    function = read(ITERATION.format(**(AS_IT_IS | other)))
    after = hoist_functions(function)
    for args in ((1.25, arr(3), arr(3), 4), (0.5, arr(2), arr(2), 0), (0.5, arr(0), arr(0), 2)):
        assert identical(*(run(one, args) for one in (function, after))), (other, args)
    assert hoist_functions(after) == after
    return after != function


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"iterations": "5"},
        {"iterations": "n, 0, -1"},
        {"value": "t ** x"},
        {"inner": "1, n1"},
        {"inner": "m", "before": "m = n1 - 1"},
        # sums on the way, and branches that all iterations take alike
        {"before": "s = 0.5", "inside": "s = s + a[i]", "argument": "s"},
        {"inside": "t = 0.0\n            c = a[i] > 0.5\n            if c:\n                t = a[i]", "argument": "t"},
    ],
    ids=str,
)
def test_computed_before(other: dict[str, str]):
    assert changed(other)


@pytest.mark.parametrize(
    "other",
    [
        # it depends on the iteration, on what iterations carry, or on what they change
        {"inner": "k"},
        {"argument": "a[i] * k"},
        {"argument": "y"},
        {"behind": "a[0] = y"},
        {"before": "c = y > 0.5", "inside": "t = 0.0\n            if c:\n                t = a[i]", "argument": "t"},
        # too few iterations, a cheap function, a loop that counts another way
        {"iterations": "3"},
        {"value": "t ** 2"},
        {"value": "math.sqrt(t)"},
        {"inner": "n1 - 1, -1, -1"},
        # a check stands before it, or something leaves a loop
        {"before": "c = y > 1e6\n        if c:\n            raise ValueError()"},
        {"behind": "c = y > 1e6\n        if c:\n            break"},
        {"inside": "c = y > 1e6\n            if c:\n                break"},
    ],
    ids=str,
)
def test_refusals(other: dict[str, str]):
    assert not changed(other)


def student(x, mu, nu, s):
    total = 0.0
    for i in range(x.shape[0]):
        best = -np.inf
        for k in range(mu.shape[0]):
            z = (x[i] - mu[k]) / np.exp(s[k])
            part = math.lgamma(0.5 * nu[k] + 0.5) - math.lgamma(0.5 * nu[k]) - s[k] - nu[k] * np.log1p(z * z / nu[k])
            best = max(best, part)
        total += best
    return total


def decays(x, mu, nu, s):
    u = np.outer(x, mu)
    for _ in range(4 + x.shape[0]):
        for i in range(u.shape[0]):
            for j in range(u.shape[1]):
                u[i, j] = u[i, j] * np.exp(-nu[j] * 0.1) + 0.01 * x[i] ** s[0]
    return np.sum(u * u)


def on_a_triangle(x, mu, nu, s):
    total = 0.0
    for k in range(x.shape[0]):
        for i in range(mu.shape[0]):
            for j in range(i):
                total += x[k] * np.sin(mu[i] * nu[j]) + s[0]
    return total


def on_a_square(x, mu, nu, s):
    total = 0.0
    for k in range(x.shape[0]):
        for i in range(mu.shape[0]):
            for j in range(nu.shape[0]):
                if i != j:
                    total += x[k] * np.sin(mu[i] * nu[j]) * s[i]
    return total


def negative_where_no_iteration_is(x, mu, nu, s):
    total = np.sum(mu * nu)
    for i in range(0, x.shape[0] - 3):
        for k in range(x.shape[0] - 3):
            total += x[i] / np.log(s[k] + nu[0])
    return total


@pytest.mark.slow
@pytest.mark.parametrize("f", sampled([student, decays, on_a_triangle, on_a_square, negative_where_no_iteration_is], 2))
@pytest.mark.parametrize("n", sampled([5, 0, 1], 3))
def test_programs(f, n: int):
    with interpreted():
        oracles.check(f, (arr(n), arr(3), arr(3) + 2.0, arr(3) + 1.0), forward_level=0)


def test_the_reverse_sweep_computes_them_once_too():
    text = tapec.emit(student, wrt=(1, 2, 3), signature=", ".join(["f8[::1]"] * 4), opt_level=2)
    loops, _, behind = text.partition("# reverse sweep")
    assert "digamma" not in loops and "digamma" in behind


def test_second_derivatives_see_the_array(rng: np.random.Generator):
    args = rng.uniform(size=5), rng.normal(size=2), rng.uniform(2.0, 3.0, 2), rng.uniform(size=2)
    with interpreted():
        fast, plain = (tapec.hessian(student, 2, opt_level=level) for level in (2, 0))
        np.testing.assert_allclose(fast(*args), plain(*args), rtol=1e-9, atol=1e-12)


NEST = """
def f(x, a, B, n, n1, n2):
    y = 0.0
    for k in range(n):
        for i in range(n1):
            for j in range(n2):
                u = {first}
                v = {second}
                t = {value}
                z = t * k
                y = y + z
    return y
"""


def test_a_table_of_quotients_is_as_large_as_an_array_that_is_there():
    table = read(NEST.format(first="B[i, j]", second="np.sqrt(u)", value="u / v"))
    assert "np.empty((" in printer.function(hoist_quotients(table), quote=False)
    for first, second in (("a[i]", "np.sqrt(u)"), ("B[i, j]", "a[j]")):
        other = read(NEST.format(first=first, second=second, value="u / v"))
        assert hoist_quotients(other) == other


@pytest.mark.parametrize("first, second", [("x * 2.0", "x + 1.0"), ("a[0]", "x * 3.0")])
def test_quotients_of_what_no_loop_changes_stay(first: str, second: str):
    function = read(NEST.format(first=first, second=second, value="u / v"))
    assert hoist_quotients(function) == function


def centred(x, w):
    mean = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            mean[j] += x[i, j] / x.shape[0]
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += ((x[i, j] - mean[j]) / w[j]) ** 2
    return total


@pytest.mark.parametrize("n", [0, 1, 5])
def test_sums_are_divided_once(n: int):
    with interpreted():
        oracles.check(centred, (arr(n, 3), arr(3) + 2.0), forward_level=0)
    text = tapec.emit(centred, wrt=(0, 1), signature="f8[:, ::1], f8[::1]", opt_level=2)
    assert "quotient = np.empty(" in text
