"""How many iterations loops make at most: values of inner loops are kept in buffers if that is known early."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import tapec
from tests.oracles import check, interpreted


def grown_once(x, steps):
    a = x[:1] * 2.0
    total = 0.0
    for _ in range(steps):
        # one element in the first iteration, then as many as x
        for i in range(a.shape[0]):
            total += np.exp(a[i]) * total * 0.01 + a[i]
        a = np.sin(x) * total
    return total + a.sum()


def one_or_the_other(x, y, steps):
    a = x
    total = 1.0
    for t in range(steps):
        for i in range(a.shape[0]):
            total = np.sin(total + a[i])
        a = y * total if t % 2 == 0 else x * total
    return total


def shrinking(x, steps):
    a = x
    total = 1.0
    for _ in range(steps):
        for i in range(a.shape[0]):
            total = np.sin(total + a[i])
        a = a[1:] * total
    return total


def a_few(x, steps):
    total = 1.0
    for t in range(steps):
        n = x.shape[0] if x[t] > 0.5 else 2
        for i in range(n):
            total = np.sin(total + x[i])
    return total


X, Y = np.linspace(0.1, 0.9, 4), np.linspace(-0.5, 0.5, 7)
CASES = (
    (grown_once, (X, 3), True),
    (one_or_the_other, (X, Y, 4), True),
    (shrinking, (X, 3), True),
    (a_few, (X, 4), True),
)


@pytest.mark.slow
@pytest.mark.parametrize(("function", "args", "bounded"), CASES, ids=[case[0].__name__ for case in CASES])
def test_values_are_kept_in_a_buffer_where_the_iterations_are_bounded(function, args, bounded):
    types = [numba.typeof(arg) for arg in args]
    source = tapec.value_and_grad(function).source(*types)
    lists = "[0.0][:0]" in source or "_store_stack" in source
    assert lists != bounded
    with interpreted():
        check(function, args, wrt=(0,), forward_level=0)
        check(function, (*args[:-1], 0), wrt=(0,), forward_level=0)
