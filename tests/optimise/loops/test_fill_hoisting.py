"""Arrays that all iterations of a loop would fill alike, filled once before it."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.loops.fill_hoisting import hoist_fills
from tests import oracles
from tests.optimise.comparison import identical, run
from tests.optimise.reading import read
from tests.oracles import arr
from tests.sampling import sampled

# what an iteration does before it reads `a`, which it fills, and what it does with it
ITERATION = """
def f(x, a_in, n, n2):
    n1 = a_in.shape[0]
    {outside}
    y = 0.0
    for k in range({iterations}):
        {inside}
        {first}
        for i in range(1, {n}):
            i1 = i - 1
            t = a[{before}]
            {value}
            a[{place}] = s
            y = y + {used}
        {later}
        for j in range({last}, 0, -1):
            u = a[j]
            y = y + u
    {end}
    return y
"""
FRESH = {
    "outside": "pass",
    "iterations": "n2",
    "inside": "a = np.zeros(n1)",
    "first": "a[0] = x",
    "n": "n",
    "before": "i1",
    "value": "s = t * x",
    "place": "i",
    "used": "t",
    "later": "pass",
    "last": "n - 1",
    "end": "pass",
}
OUTSIDE = FRESH | {"outside": "a = np.zeros(n1)", "inside": "pass"}


def with_last(other: dict[str, str]) -> dict[str, str]:
    # the bound of a loop is an atom
    last = other["last"]
    return other if last.isidentifier() else {**other, "outside": f"{other['outside']}\n    n3 = {last}", "last": "n3"}


def changed(other: dict[str, str]) -> bool:
    """Whether the array is filled before the loop; what the function returns stays the same."""
    function = read(ITERATION.format(**with_last(other)))
    after = hoist_fills(function)
    for args in ((1.25, arr(5), 5, 3), (0.5, arr(4), 3, 0), (0.5, arr(3), 1, 2), (0.5, arr(3), 0, 1)):
        assert identical(*(run(one, args) for one in (function, after))), (other, args)
    return after != function


@pytest.mark.parametrize("form", [FRESH, OUTSIDE], ids=["made in an iteration", "made before"])
@pytest.mark.parametrize(
    "other",
    [
        {},
        {"iterations": "3"},
        {"used": "s"},
        # a later iteration of the inner loop stores something else there
        {"value": "s = x * 2.0\n            a[i1] = 3.0", "used": "s"},
        {"first": "a[0] = 2.0", "value": "v = a_in[i]\n            s = t / v"},
        {"value": "c = i < 2\n            s = t if c else x"},
        # the rest of an iteration changes other arrays
        {"later": "a_in[0] = y"},
    ],
    ids=str,
)
def test_filled_before(form: dict[str, str], other: dict[str, str]):
    assert changed(form | other)


@pytest.mark.parametrize("form", [FRESH, OUTSIDE], ids=["made in an iteration", "made before"])
@pytest.mark.parametrize(
    "other",
    [
        # it depends on the iteration, on what iterations carry, or on what they change
        {"first": "a[0] = y"},
        {"first": "z = float(k)\n        a[0] = z"},
        {"value": "v = a_in[i]\n            a_in[i] = v\n            s = v * t"},
        {"value": "s = y * t"},
        # elements are read before they are what they will be
        {"later": "a[1] = x"},
        {"before": "i"},
        {"later": "t2 = a[1]\n        a[1] = 3.0\n        y = y + t2"},
        # it is more than elements, or something leaves an iteration
        {"later": "a2 = a[1:]\n        y2 = np.sum(a2)\n        y = y + y2"},
        {"later": "c = y > 100.0\n        if c:\n            break"},
    ],
    ids=str,
)
def test_refusals(form: dict[str, str], other: dict[str, str]):
    assert not changed(form | other)


@pytest.mark.parametrize(
    "other",
    [
        # what was there before, or is there behind
        {"first": "pass"},
        {"before": "i"},
        {"n": "n3", "outside": "a = np.zeros(n1)\n    n3 = n - 1"},
        {"end": "t3 = a[0]\n    y = y + t3"},
        {"outside": "a = np.zeros(n1)\n    a[0] = 3.0"},
        {"first": "a[1] = x"},
        {"first": "a[-1] = x"},
    ],
    ids=str,
)
def test_elements_that_an_iteration_has_not_written(other: dict[str, str]):
    assert not changed(OUTSIDE | other)


def test_random_numbers_are_drawn_in_every_iteration():
    function = read(ITERATION.format(**with_last(FRESH | {"value": "v = np.random.random()\n            s = v * t"})))
    assert hoist_fills(function) == function


def implicit_heat(u, kappa, steps):
    n = u.size
    u = u.copy()
    for _ in range(steps):
        upper, given = np.zeros(n), np.zeros(n)
        upper[0] = -kappa / (1.0 + 2.0 * kappa)
        given[0] = u[0] / (1.0 + 2.0 * kappa)
        for i in range(1, n):
            pivot = 1.0 + 2.0 * kappa + kappa * upper[i - 1]
            upper[i] = -kappa / pivot
            given[i] = (u[i] + kappa * given[i - 1]) / pivot
        u[n - 1] = given[n - 1]
        for i in range(n - 2, -1, -1):
            u[i] = given[i] - upper[i] * u[i + 1]
    return np.sum(u * u)


def factored_in_each_step(a, u, steps):
    n = u.size
    for _ in range(steps):
        lu = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                lu[i, j] = a[i, j] + (3.0 * n if i == j else 0.0)
        for k in range(n):
            for i in range(k + 1, n):
                lu[i, k] /= lu[k, k]
                for j in range(k + 1, n):
                    lu[i, j] -= lu[i, k] * lu[k, j]
        v = u.copy()
        for i in range(n):
            for j in range(i):
                v[i] -= lu[i, j] * v[j]
        for i in range(n - 1, -1, -1):
            for j in range(i + 1, n):
                v[i] -= lu[i, j] * v[j]
            v[i] /= lu[i, i]
        u = v
    return np.sum(u * u)


def weights_of_a_window(x, width, sigma):
    total = 0.0
    for k in range(x.size - width + 1):
        w = np.empty(width)
        s = 0.0
        for i in range(width):
            w[i] = np.exp(-((i - 1.5) ** 2) / sigma)
            s += w[i]
        for i in range(width):
            total += w[i] / s * x[k + i] ** 2 * (k + 1)
    return total


def one_array_in_two_loops(x, c, m):
    n = x.size
    p = np.zeros(n)
    total = 0.0
    for k in range(m):
        for j in range(n):
            p[0] = c
            for i in range(1, n):
                p[i] = c / (2.0 + p[i - 1])
            for i in range(n - 1, 0, -1):
                x[i] = p[i] * x[i - 1] + x[j]
        for j in range(2):
            p[0] = x[k]
            for i in range(1, n - 1):
                p[i] = p[i - 1] * 0.5
            for i in range(n - 1):
                total += p[i] * x[i]
    return total


PROGRAMS = [
    (implicit_heat, (arr(5), 0.4, 3)),
    (implicit_heat, (arr(5), 0.4, 0)),
    (implicit_heat, (arr(1), 0.4, 2)),
    (factored_in_each_step, (arr(3, 3), arr(3), 2)),
    (weights_of_a_window, (arr(6), 4, 1.7)),
    (weights_of_a_window, (arr(3), 4, 1.7)),
    (one_array_in_two_loops, (arr(4), 0.6, 2)),
    (one_array_in_two_loops, (arr(4), 0.6, 0)),
]


@pytest.mark.parametrize(("f", "args"), sampled(PROGRAMS, 6), ids=lambda value: getattr(value, "__name__", ""))
def test_programs(f, args):
    oracles.check(f, args, forward_level=0)


def test_what_fills_an_array_is_reversed_once():
    text = tapec.emit(implicit_heat, wrt=(0, 1), signature="f8[::1], f8, i8", opt_level=2)
    steps = text.partition("for k in range(steps - 1, -1, -1)")[2]
    # behind the loop over time steps, that of the coefficients
    assert "upper[i] = " not in steps.partition("\n    if some")[0] and "upper[i] = " in steps, text


def test_an_element_that_is_used_where_it_is_computed_is_loaded():
    text = tapec.emit(weights_of_a_window, wrt=(0, 2), signature="f8[::1], i8, f8", opt_level=2)
    assert text.count("tapec_runtime.exp(") == 1, text
