"""Elementary functions before loops whose iterations need one another."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tapec
from tapec.optimise.vectors.precomputed_functions import precompute_functions
from tests import oracles
from tests.optimise.reading import check, read

PATH = """
def f(X, n, n1, k, a, a_1, x):
    total = 0.0
    for j in range(n):
        s = 1.0
        for i in range({count}):
            u = X[j, i]
            v = u * x
            {body}
            s = s_1
            total = total + s_1
    return total
"""
STEP = "e = math.exp(v)\n            s_1 = s * e"


def test_functions_of_what_the_loop_leaves_alone_come_before():
    after = """
    def f(X, n, n1, k, a, a_1, x):
        total = 0.0
        size = max(n1, 0)
        e_kept = np.empty(size)
        for j in range(n):
            s = 1.0
            for i_1 in range(n1):
                u_1 = X[j, i_1]
                v_1 = u_1 * x
                e_1 = math.exp(v_1)
                e_kept[i_1] = e_1
            for i in range(n1):
                e = e_kept[i]
                s_1 = s * e
                s = s_1
                total += s_1
        return total
    """
    check(precompute_functions, PATH.format(count="n1", body=STEP), after)


@pytest.mark.parametrize(
    ("count", "body"),
    [
        # of the iteration before; of what the loop changes; in a branch; of what is the same in all iterations
        ("n1", "t = s * v\n            e = math.exp(t)\n            s_1 = s * e"),
        ("n1", "t = a[i]\n            e = math.exp(t)\n            s_1 = s * e\n            a[0] = s_1"),
        (
            "n1",
            "c = v > 0.0\n            s_1 = s * 2.0\n            if c:\n                e = math.exp(v)\n"
            "                a_1[i] = e",
        ),
        ("n1", "e = math.exp(x)\n            s_1 = s * e"),
        # a loop that ends early, and places that may be negative
        ("n1", STEP + "\n            c = s_1 > 9.0\n            if c:\n                break"),
        ("k, n1", STEP),
    ],
)
def test_functions_that_stay(count, body):
    function = read(PATH.format(count=count, body=body))
    assert precompute_functions(function) == function


def test_iterations_in_any_order_run_on_vectors_as_they_are():
    text = PATH.format(count="n1", body=STEP).replace("s = s_1\n            total = total + s_1", "total = total + s_1")
    function = read(text)
    assert precompute_functions(function) == function


def walk(x, noise, drift):
    total = 0.0
    for p in range(noise.shape[0]):
        s = x
        for t in range(noise.shape[1]):
            s = s * math.exp(drift + 0.1 * noise[p, t])
            total += s * s
    return total


@pytest.mark.slow
def test_gradients():
    text = tapec.emit(walk, (0, 1, 2), "f8, f8[:,:], f8", opt_level=2)
    assert "_kept[t] = tapec_runtime.exp(" in text
    with oracles.interpreted():
        oracles.check(walk, (1.1, np.random.default_rng(3).normal(size=(3, 4)), 0.05), forward_level=0)
