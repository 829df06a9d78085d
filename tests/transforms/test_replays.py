"""Loops of the reverse sweep that run each iteration again before they reverse it."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.syntax.core import Assign, Call, Name, Op
from tapec.transforms.replays import _consumes
from tests.transforms.reversals import check, reversal, ways

# of each iteration an array is needed again
ITERATION = """
def f(x, n, a, c):
    s = 0.0
    a_o = a.copy()
    {before}
    for i in range({bounds}):
        a_t = np.zeros(3)
        for k in range(3):
            v = a[k]
            y = np.sin(v)
            z = y * i
            a_t[k] = z
        {inside}
        for k_2 in range(3):
            u = a_t[k_2]
            w = u * u
            s_1 = s + w
            s = s_1
    {after}
    return s, a_o
"""
PLAIN = {"before": "pass", "bounds": "n", "inside": "pass", "after": "pass"}
A = np.array([0.4, -0.3, 0.9])


def again(**other: str) -> bool:
    """Whether iterations are run again; the gradients are right in any case."""
    text = ITERATION.format(**(PLAIN | other))
    for n in (0, 1, 3):
        for c in (False, True):
            check(text, ("x", "a"), 0.7, n, A, c)
    return ways(reversal(text, ("x", "a"))).get("i") == "run again"


def test_an_iteration_is_run_again_where_arrays_are_kept_otherwise():
    assert again()


@pytest.mark.parametrize(
    "other",
    [
        # branches, and loops with bounds that an iteration computes
        {"inside": "if c:\n            t = a[0]\n            a_t[0] = t"},
        {"inside": "n_1 = i + 1\n        for j in range(n_1):\n            t = a[0]\n            a_t[0] = t"},
        {"bounds": "n, 0, -1"},
        # the iteration changes what it does not read
        {"inside": "a_o[0] = x"},
    ],
    ids=str,
)
def test_so_it_is_with(other: dict[str, str]):
    assert again(**other)


@pytest.mark.parametrize(
    "other",
    [
        # what the iteration reads is overwritten, in it or later
        {"inside": "a[0] = x"},
        {"after": "a[0] = x"},
        {"before": "a_v = a[1:]", "after": "a_v[0] = x"},
        # the array goes on living
        {"inside": "a_o[1] = s\n        r = a_o[1]\n        q = r * r\n        a_t[0] = q"},
    ],
    ids=str,
)
def test_it_is_not_where_it_would_compute_something_else(other: dict[str, str]):
    assert not again(**other)


def test_numbers_of_loops_with_loops_inside_are_kept():
    text = """
    def f(x, n, a):
        s = 0.0
        for i in range(n):
            t = a[i]
            u = np.exp(t)
            for k in range(3):
                v = a[k]
                w = u * v
                s_1 = s + w
                s = s_1
        return s
    """
    found = ways(reversal(text, ("x", "a")))
    assert found["u"] == "buffer" and "i" not in found


def test_loops_that_nobody_counts_are_not_run_again():
    text = """
    def f(x, n, a):
        s = 0.0
        i = 0
        while True:
            if i < n:
                a_t = np.zeros(3)
                for k in range(3):
                    v = a[k]
                    z = v * i
                    a_t[k] = z
                for k_2 in range(3):
                    u = a_t[k_2]
                    w = u * u
                    s_1 = s + w
                    s = s_1
                i_1 = i + 1
                i = i_1
            else:
                break
        return s
    """
    assert "run again" not in ways(reversal(text, ("a",))).values()
    for n in (0, 2):
        check(text, ("x", "a"), 0.5, n, A)


def test_what_takes_something_that_is_there_once():
    draws = Op("np.random.normal", ())
    assert _consumes(Assign("x", draws)) and _consumes(Assign("x", Op("pop", (Name("s_stack"),))))
    assert _consumes(Call((), "np.random.shuffle", (Name("a"),)))
    assert not _consumes(Assign("x", Op("np.sin", (Name("y"),)))) and not _consumes(Call(("x",), "f", (Name("y"),)))
