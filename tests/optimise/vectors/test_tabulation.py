"""Values that iterations of a nest ask for again and again, looked up in tables."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import tapec
from tapec.optimise.vectors.tabulation import tabulate
from tests import oracles
from tests.optimise.comparison import identical, run
from tests.optimise.reading import read

NEST = """
def f(x, n, n1, n2):
    y = 0.0
    for j in range({outer}):
        j1 = {start}
        j2 = {stop}
        for i in range(j1, j2):
            k = {along} * i
            k1 = {across} * j
            k2 = k + k1
            k3 = k2 - n2
            {value}
            y = y + z
    return y
"""
POWER = "z = x ** k3"
LINE = "t = k3 * x\n            t1 = t - 0.5\n            t2 = t1 / 3.0\n            z = math.exp(t2)"
AS_IT_IS = {"outer": "n", "start": "0", "stop": "j + 1", "along": "2", "across": "-1", "value": POWER}


def test_all_ways_that_a_sum_may_change():
    """Every sum is found in its place of the table, also where inner loops make no iterations."""
    ways = itertools.product(("n", "1, n, 2"), (("0", "j + 1"), ("j - 1", "n1"), ("2", "n1 - j")), (1, 2, -3), (0, -1))
    for outer, (start, stop), along, across in ways:
        for value in (POWER, LINE):
            other = {"outer": outer, "start": start, "stop": stop, "along": along, "across": across, "value": value}
            function = read(NEST.format(**other))
            changed = tabulate(function)
            assert changed != function
            for n, n1 in ((1, 0), (4, 3)):
                args = (1.25, n, n1, 2)
                assert identical(*(run(one, args) for one in (function, changed))), (other, args)


@pytest.mark.parametrize(
    "other",
    [
        # the table would be far longer than the loops; no sum of the variables; too few iterations that share anything
        {"along": "5"},
        {"across": "9"},
        {"across": "n1"},
        {"outer": "4"},
        # not the inner loop's variable, or a line in nothing that is an integer
        {"along": "0"},
        {"value": "z = x ** 2"},
        {"value": "z = math.exp(x)"},
        # no line, or of something that changes
        {"value": "t = x * k3\n            t1 = t * k3\n            z = math.exp(t1)"},
        {"value": "t = x / k3\n            z = math.exp(t)"},
        {"value": "t = y * k3\n            z = math.exp(t)"},
        {"value": "z = y ** k3"},
        # not in every iteration
        {"value": "c = i < n1\n            z = 0.0\n            if c:\n                z = x ** k3"},
        {"stop": "i + j"},
    ],
    ids=str,
)
def test_refusals(other):
    function = read(NEST.format(**(AS_IT_IS | other)))
    assert tabulate(function) == function


def test_a_table_is_not_tabled():
    changed = tabulate(read(NEST.format(**AS_IT_IS)))
    assert tabulate(changed) == changed


def lattice(up, spot, steps):
    value = np.zeros(steps + 1)
    for step in range(steps - 1, -1, -1):
        for i in range(step + 1):
            value[i] = max(0.6 * value[i + 1] + 0.3 * value[i], 10.0 - spot * up ** (2 * i - step))
    return value[0]


def discounted(rate, flows):
    total = 0.0
    for k in range(flows.shape[0]):
        for t in range(1, flows.shape[1]):
            total += flows[k, t] * math.exp(-rate * (t + k) * 0.25) * rate ** (t - 1)
    return total


@pytest.mark.slow
@pytest.mark.parametrize(
    "function, signature, cases",
    [
        (lattice, "f8, f8, i8", [(up, 9.0, steps) for up in (1.1, 0.0, -2.0, math.inf) for steps in (1, 2, 5)]),
        (discounted, "f8, f8[:,:]", [(rate, np.arange(1.0, 13.0).reshape(4, 3)) for rate in (0.0, 0.05, -1.0)]),
    ],
)
def test_gradients(function, signature, cases):
    """Also where numbers between those that are asked for are infinite, or have no derivative."""
    assert "t_set" in tapec.emit(function, (0, 1), signature, opt_level=2)
    with oracles.interpreted():
        made, plain = (tapec.value_and_grad(function, (0, 1), opt_level=level) for level in (2, 0))
        for args in cases:
            (value, found), (same, wanted) = made(*args), plain(*args)
            np.testing.assert_array_equal(value, same)
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)
