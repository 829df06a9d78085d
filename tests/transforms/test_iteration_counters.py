"""Whole numbers to which each iteration of a loop adds the same: the reverse sweep has them by the number of the
iteration.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import typeof

import tapec
from tests.oracles import check, interpreted
from tests.sampling import sampled

X = np.array([0.7, 0.2, 0.9, 0.4, 0.35, 0.8, 0.1])
Q = np.array([3, 0, 5, 2, 6, 1, 4])


def sorted_by_insertion(x, q):
    a = x.copy()
    for i in range(1, a.shape[0]):
        key, j = a[i], i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * a[i] * (i + 1)
    return total


def strides(x, q):
    """A step that is given, and one that is looked up."""
    h = np.array([0.5, 0.3, 0.1])
    for i in range(q.shape[0]):
        p, stride = q[i], 1 + q[i] % 3
        while p < x.shape[0]:
            h[p % 3] = np.sin(h[i % 3]) * x[p]
            p += stride
        k = 2 * i
        while k > 0:
            h[k % 3] = np.cos(h[0]) + x[k % 7]
            k -= 3
    return h[0] * h[1] + h[2]


def left_in_the_middle(x, q):
    """Counters before and behind the way out, of a `while` and of a `for`."""
    h = np.array([0.5, 0.3, 0.1])
    for i in range(3):
        first, last = 0, q[i]
        while True:
            first += 1
            h[first % 3] = h[last % 3] * x[first % 7] + 0.2
            if h[first % 3] > 0.6 or first > 5:
                break
            last -= 1
            h[(last + 9) % 3] *= x[i] + 0.5
        place = 7
        for m in range(6, 0, -2):
            if h[m % 3] < 0.05:
                break
            h[place % 3] = np.sin(h[m % 3]) * x[place - 1]
            place -= 1
    return h[0] * h[1] + h[2]


def conditional(x, q):
    """Of two places one moves at a time: neither counts iterations."""
    h = np.array([0.5, 0.3, 0.1])
    low, high = 0, x.shape[0] - 1
    while low < high:
        h[(low + high) % 3] = np.sin(h[low % 3]) * x[low] + x[high]
        if h[0] > x[low]:
            low += 1
        else:
            high -= 1
    return h[0] * h[1] + h[2]


def moving(x, q):
    """The step is another one in each iteration, and what a loop leaves is where the next begins."""
    h = np.array([0.5, 0.3, 0.1])
    p, step = 0, 1
    while p < 40:
        h[p % 3] = np.sin(h[step % 3]) * x[p % 7]
        p += step
        step += 1
    while p > 0:
        h[p % 3] = np.cos(h[(p + 1) % 3]) * x[p % 7]
        p -= 4
    return h[0] * h[1] + h[2]


PROGRAMS = (sorted_by_insertion, strides, left_in_the_middle, conditional, moving)


@pytest.mark.slow
@pytest.mark.parametrize("f", sampled(PROGRAMS, 4), ids=lambda f: f.__name__)
def test_derivatives(f: Callable[..., Any]):
    with interpreted():
        check(f, (X, Q), (0,), forward_level=0)
        wanted = tapec.value_and_grad(f, opt_level=0)(X, Q)
        for options in ({}, {"opt_level": 1}, {"strict": True}):
            value, x_bar = tapec.value_and_grad(f, **options)(X, Q)
            assert value == pytest.approx(wanted[0], rel=1e-14)
            np.testing.assert_allclose(x_bar, wanted[1], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("f", "kept"),
    [(sorted_by_insertion, "j"), (strides, "p"), (strides, "k"), (left_in_the_middle, "last"), (moving, "step")],
    ids=lambda one: one if isinstance(one, str) else one.__name__,
)
def test_nothing_is_kept_of_them(f: Callable[..., Any], kept: str):
    source = tapec.value_and_grad(f).source(typeof(X), typeof(Q))
    assert not any(f"{kept}_{what}" in source for what in ("stack", "store"))


def test_others_are_kept():
    source = tapec.value_and_grad(conditional).source(typeof(X), typeof(Q))
    assert re.search(r"kept_stack\.append\(\(.*\blow\b", source)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled(f: Callable[..., Any]):
    value, x_bar = tapec.value_and_grad(f)(X, Q)
    with interpreted():
        wanted = tapec.value_and_grad(f, opt_level=0)(X, Q)
    assert value == pytest.approx(wanted[0], rel=1e-13)
    np.testing.assert_allclose(x_bar, wanted[1], rtol=1e-11, atol=1e-14)
