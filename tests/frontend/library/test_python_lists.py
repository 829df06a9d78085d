"""`heapq`, `bisect`, and methods of lists whose length only the run knows."""

from __future__ import annotations

import bisect
import heapq

import numpy as np
import pytest
from numba import njit

import tapec
from tests.oracles import check

X = np.array([0.7, 1.3, 2.1, 0.4, 1.9])


@njit
def heap(x):
    h = [x[2], x[1], x[4]]
    h.append(x[3] * 2)
    for i in range(int(x[2])):
        h.append(x[i] * 1.1)
    heapq.heapify(h)
    s = heapq.heappushpop(h, x[0] * 3.1) * heapq.heapreplace(h, x[1] * x[1])
    k = 1.0
    while len(h) > 0:
        s += k * heapq.heappop(h)
        k *= 2
    return s


@njit
def heap_of_tuples(x):
    h = [(x[0], 0)]
    for i in range(1, len(x)):
        heapq.heappush(h, (x[i] * x[0], i))
    s = 0.0
    while len(h) > 0:
        v, i = heapq.heappop(h)
        s += v * i
    return s


def sorted_lists(x):
    grid = [0.0, 1.0, 2.0, 3.0]
    s = x[1] * bisect.bisect(grid, x[1]) + x[0] * bisect.bisect_left(grid, x[2], 1)
    values = [x[0]]
    for i in range(1, 5):
        bisect.insort(values, x[i])
    return s * values[0] + 2 * values[1] + 3 * values[2] * values[4]


def methods(x):
    values = [v * v for v in x]
    values.sort()
    values.insert(1, x[0] * 3)
    values.reverse()
    values.insert(-1, x[1])
    values.append(x[2])
    return values[0] * values[1] + values[-1] + values[2] * values[-2] * values[-3]


def order_of_tuples(x):
    s = 0.0
    if (x[0], 1) < (x[1], 0):
        s += x[0] * 2
    if (1, x[1], x[2]) >= (1, x[1], x[3]) > (1, x[1]):
        s += x[3] * x[1]
    return s


CASES = [heap, heap_of_tuples, sorted_lists, methods, order_of_tuples]


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_derivatives(f):
    check(f, (X,))


@pytest.mark.compiled
@pytest.mark.slow
def test_a_heap_as_machine_code():
    check(heap_of_tuples, (X,), compiled="both")


def test_second_derivatives():
    def plainly(x):
        return (np.sort(x * x[0]) * 2.0 ** np.arange(5)).sum()

    def by_a_heap(x):
        h = [x[0] * x[0]]
        for i in range(1, 5):
            heapq.heappush(h, x[i] * x[0])
        s, k = 0.0, 1.0
        while len(h) > 0:
            s += k * heapq.heappop(h)
            k *= 2
        return s

    assert np.allclose(tapec.hessian(by_a_heap)(X), tapec.hessian(plainly)(X))
