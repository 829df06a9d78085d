"""Numbers and arrays that all iterations of a loop would compute alike, computed once before it."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tapec
from tapec.optimise.loops.value_hoisting import hoist_values
from tests import oracles
from tests.optimise.comparison import identical, run
from tests.optimise.reading import read
from tests.oracles import arr
from tests.sampling import sampled

# one gradient for all arguments
MADE = functools.cache(tapec.value_and_grad)

ITERATION = """
def f(x, a, n):
    n1 = a.shape[0]
    y = 0.0
    for k in range({iterations}):
        {before}
        s = {begun}
        for i in range(n1):
            t = a[i]
            t1 = {value}
            s = s + t1
            {inside}
        {behind}
        y1 = s * x
        y = y + y1
    return {result}
"""
AS_IT_IS = {
    "iterations": "n",
    "before": "pass",
    "begun": "x",
    "value": "t * t",
    "inside": "pass",
    "behind": "pass",
    "result": "y",
}


def changed(other: dict[str, str]) -> bool:
    """Whether the sum is computed before the loop; what the function returns stays the same."""
    function = read(ITERATION.format(**(AS_IT_IS | other)))
    after = hoist_values(function)
    for args in ((1.25, arr(3), 4), (0.5, arr(2), 0), (0.5, arr(0), 2)):
        assert identical(*(run(one, args) for one in (function, after))), (other, args)
    return after != function


# what the sum needs of its own values
NEEDED = {"before": "z = 1.0", "value": "t * z", "inside": "z = z + s"}


@pytest.mark.parametrize(
    "other", [{}, {"iterations": "3"}, {"value": "t ** 2.5"}, {"behind": "y = y + 1.0"}, NEEDED], ids=str
)
def test_computed_before(other: dict[str, str]):
    assert changed(other)


@pytest.mark.parametrize(
    "other",
    [
        # it depends on the iteration, on what iterations carry, or on what they change
        {"begun": "float(k)"},
        {"begun": "y"},
        {"value": "t * y"},
        {"behind": "a[0] = y"},
        # it is used before it is complete, or behind the loop
        {"inside": "y = y + s"},
        {"result": "s", "before": "s = 0.0"},
        NEEDED | {"behind": "y = y + z"},
        # a check stands before it, or something leaves the loop
        {"before": "c = y > 1e6\n        if c:\n            raise ValueError()"},
        {"behind": "c = y > 1e6\n        if c:\n            break"},
    ],
    ids=str,
)
def test_refusals(other: dict[str, str]):
    assert not changed(other)


def gaussian(x, mean, s):
    total = 0.0
    for i in range(x.shape[0]):
        r = x[i] - mean
        total += r @ np.linalg.inv(s) @ r + np.log(np.linalg.det(s)) + np.linalg.slogdet(s)[1]
    return total


def factored(x, mean, s):
    total = 0.0
    for i in range(x.shape[0]):
        lower = np.linalg.cholesky(s @ s.T)
        z = np.linalg.solve(lower, x[i] - mean)
        total += np.sum(z * z) + 2.0 * np.sum(np.log(np.diag(lower)))
    return total


def powers(x, mean, s):
    y = mean.copy()
    for i in range(x.shape[0]):
        for _ in range(2):
            y = (s @ s) @ y / np.sum(mean * mean)
        y = y + x[i]
    return np.sum(y * y)


def changed_in_an_iteration(x, mean, s):
    total = 0.0
    for i in range(x.shape[0]):
        p = s @ s
        p[0, 0] += x[i, 0]
        total += np.sum(p * p) + mean[0]
    return total


def kept_from_iteration_to_iteration(x, mean, s):
    last = s
    total = 0.0
    for i in range(x.shape[0]):
        p = s @ s
        total += np.sum(p * last) * x[i, 0]
        last = p
    last[0, 1] = mean[0]
    return total + np.sum(last)


def turned(x, mean, s):
    total = 0.0
    for i in range(x.shape[0]):
        u, v = 1.0, 0.0
        for k in range(mean.shape[0]):
            u, v = u * mean[k] - v * s[0, k], u * s[0, k] + v * mean[k]
        total += u * x[i, 0] + 0.5 * v
    return total


def counted_by_the_way(x, mean, s):
    total = 0.0
    for i in range(x.shape[0]):
        u, found = 1.0, 0.0
        for k in range(mean.shape[0]):
            if u < 1.5:
                u = u * (mean[k] + 2.0)
                found += s[0, k] * x[i, 1]
        total += u * found
    return total


def greatest_with_its_place(x, mean, s):
    total = 0.0
    for i in range(x.shape[0]):
        u, greatest, place = 1.0, 0.0, 0
        for k in range(mean.shape[0]):
            u = u * mean[k] + s[0, k]
            if u > greatest:
                greatest, place = u, k
        total += u * greatest * s[1, place]
    return total


@pytest.mark.parametrize("n", sampled([3, 0], 2))
@pytest.mark.parametrize("f", [turned, counted_by_the_way, greatest_with_its_place])
def test_values_that_others_meet_on_the_way_stay_in_the_loop(f, n):
    oracles.check(f, (arr(n, 2), arr(2), arr(2, 2)), gradient=MADE, forward_level=0)


@pytest.mark.slow
@pytest.mark.parametrize("n", sampled([3, 0], 2))
@pytest.mark.parametrize(
    "f", sampled([gaussian, factored, powers, changed_in_an_iteration, kept_from_iteration_to_iteration], 5)
)
def test_programs(f, n):
    s = arr(2, 2) * 0.2 + np.array([[2.0, 0.3], [0.3, 1.5]])
    oracles.check(f, (arr(n, 2), arr(2), s), gradient=MADE, forward_level=0)


@pytest.mark.slow
def test_a_factorisation_is_reversed_once():
    text = tapec.emit(gaussian, wrt=(0, 1, 2), signature="f8[:,::1], f8[::1], f8[:,::1]", opt_level=2)
    around: list[str] = []
    called = 0
    for line in text.splitlines():
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        depth = (len(line) - len(words)) // 4
        around[depth:] = [words]
        if "= np.linalg." in words:
            called += 1
            assert not any(outer.startswith("for ") for outer in around), text
    assert called


@pytest.mark.slow
def test_a_matrix_of_an_iteration_that_runs_beside_others_is_not_solved_with_theirs():
    """Lanes gave `np.linalg.solve` the right-hand sides of all iterations at once."""

    def residuals(x, mean, s):
        total = 0.0
        for i in range(x.shape[0]):
            z = np.linalg.solve(s * x[i, 0], x[i] - mean)
            for k in range(z.size):
                total += z[k] * z[k]
        return total

    s = np.array([[2.0, 0.3], [0.3, 1.5]])
    oracles.check(residuals, (arr(3, 2) + 1.0, arr(2), s), compiled="reverse")
