"""Arrays of which each iteration finds zero in its element, and leaves zero there, or sets it first, are numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.buffers.zeroed_elements import replace_zeroed_elements
from tests.optimise.reading import read
from tests.oracles import check

ITERATIONS = """
def f(a, a_1, x, n, k):
    a_y = np.{made}(n)
    for j in range(k):
        for i in range(n):
            t = a[i]
            {first}
            u = a_y[i]
            a_1[i] = u
            {last}
    return {result}
"""


def changed(text: str) -> str:
    return printer.function(replace_zeroed_elements(read(text)), False)


@pytest.mark.parametrize(
    ("made", "first", "last", "iteration"),
    [
        ("zeros", "a_y[i] += t", "a_y[i] = 0.0", "t = a[i]|a_y0 = 0.0 + t|a_1[i] = a_y0"),
        ("zeros", "v = a_y[i]", "a_y[i] = 0.0", "t = a[i]|a_1[i] = 0.0"),
        ("empty", "a_y[i] = t", "a_y[i] = x", "a_y0 = a[i]|a_1[i] = a_y0"),
        ("empty", "a_y[i] = t", "a_y[i] += x", "a_y0_2 = a[i]|a_1[i] = a_y0_2|a_y0 = a_y0_2 + x"),
    ],
)
def test_they_are_numbers(made, first, last, iteration):
    text = changed(ITERATIONS.format(made=made, first=first, last=last, result="x"))
    kept = [line.strip() for line in text.splitlines() if line.startswith(" " * 12)]
    assert kept == iteration.split("|"), text


@pytest.mark.parametrize(
    ("made", "first", "last", "result"),
    [
        # somebody else reads it, or another element, or it is not zero in the end or in the beginning
        ("zeros", "a_y[i] += t", "a_y[i] = 0.0", "a_y"),
        ("zeros", "a_y[i] += t", "a_y[k] = 0.0", "x"),
        ("zeros", "a_y[0] += t", "a_y[i] = 0.0", "x"),
        ("zeros", "a_y[i] += t", "a_y[i] = x", "x"),
        ("zeros", "a_y[i] += t", "a_y[i] += 0.0", "x"),
        ("empty", "a_y[i] += t", "a_y[i] = 0.0", "x"),
    ],
)
def test_others_stay(made, first, last, result):
    text = ITERATIONS.format(made=made, first=first, last=last, result=result)
    assert changed(text) == text.lstrip()


def test_an_iteration_that_may_end_before_it_has_set_the_element_to_zero_keeps_the_array():
    text = """
    def f(a, x, n, c):
        a_y = np.zeros(n)
        for i in range(n):
            t = a[i]
            a_y[i] += t
            if c:
                break
            a_y[i] = 0.0
        return x
    """
    assert "a_y[i] += t" in changed(text)


def test_uses_on_a_way_keep_the_array():
    text = """
    def f(a, x, n, c):
        a_y = np.zeros(n)
        for i in range(n):
            if c:
                a_y[i] += x
            t = a_y[i]
            a[i] = t
            a_y[i] = 0.0
        return x
    """
    assert "a_y[i] += x" in changed(text)


def recursion(r):
    """A scratch array that is written in one loop and read back in the next one."""
    n = r.shape[0]
    y, other = np.zeros(n), np.zeros(n)
    y[0] = -r[0]
    for k in range(1, n):
        s = r[k] + 0.1 * y[0]
        for i in range(k):
            other[i] = y[i] * s + 0.5 * y[k - i - 1]
        for i in range(k):
            y[i] = other[i]
        y[k] = s
    return (y * y).sum()


def test_the_adjoint_of_a_scratch_array_is_a_number():
    assert "other_bar[" not in tapec.emit(recursion, signature="f8[::1]", opt_level=2)
    check(recursion, (np.array([0.3, -0.2, 0.4, 0.1, 0.25]),), forward_level=0)
