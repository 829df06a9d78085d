"""Arrays whose stores the reverse sweep undoes: gradients are right, and the caller finds what the function left."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapec
from tests.oracles import interpreted
from tests.sampling import sampled
from tools.fuzz.conditions import harsh

ORDER = np.array([[0, 1, 0], [2, 0, 1], [3, 2, 2], [4, 4, 3]])


def tree(x, order, n):
    """Each node takes what others hold, which nothing tells beforehand."""
    held = np.zeros(x.shape[0] + order.shape[0])
    total = 0.0
    for s in range(n):
        for k in range(x.shape[0]):
            held[k] = x[k] * (s + 1)
        for m in range(order.shape[0]):
            y = 1.0
            for b in range(3):
                y *= 0.5 + 0.3 * held[order[m, b]] * x[b]
            held[x.shape[0] + m] = y
        total += held[x.shape[0] + order.shape[0] - 1] * held[0]
    return total


def relaxed(x, order, n):
    """Sums over all elements of what is overwritten one by one, added to in place."""
    m = np.zeros(x.shape[0])
    for _ in range(n):
        for i in range(x.shape[0]):
            s = x[i]
            for k in range(x.shape[0]):
                s += 0.1 * x[i] * m[k] * m[k]
            m[i] += np.tanh(s)
    return m[0] * m[2] + m.sum()


def behind_branches(x, order, n):
    """Stores that only some iterations make, one after the loop that reads and one before it."""
    a = x * 2.0
    total = 0.0
    for t in range(n):
        if t % 2 == 0:
            a[order[t % 4, 0]] = x[t % 3] * a[1]
        s = 0.0
        for k in range(3):
            for j in range(2):
                s += a[order[k, j]] * a[j] * x[k]
        if s > 0.4:
            a[t % 5] = 0.3 * s
        else:
            a[order[0, 1]] *= 0.9
        total += s
    return total


def until(x, order, n):
    """Loops whose iterations nobody knows beforehand."""
    a = x.copy()
    total, t = 0.0, 0
    while t < 3 * n:
        s = 0.0
        for k in range(4):
            for j in range(3):
                s += a[order[k, j]] * x[j] * a[t % 5]
            if s > 2.0:
                break
        a[t % 4] = s / (1.0 + s * s)
        total += s
        t += 1 + t % 2
    return total


def several(x, order, n):
    """Two arrays that need one another; the elements come by way of an operation."""
    a, b = x.copy(), x * x
    for t in range(n):
        for i in range(4):
            s = 0.0
            for k in range(3):
                d = a[order[i, k]] - b[order[k, i % 3]]
                s += d * d * x[k]
            a[i] = 0.5 * s
            b[order[i, 0]] = 0.1 * s + a[i]
    return a.sum() + (a * b).sum()


def of_each_sample(x, order, n):
    """Scratch memory that an iteration fills, of iterations that are reversed at once."""
    total = 0.0
    for s in range(n):
        a = np.zeros(6)
        for t in range(4):
            y = x[s % 5]
            for k in range(3):
                y += a[order[t, k]] * a[k] + x[k]
            a[t + 1] = y * 0.2
        total += a[4] ** 2
    return total


def by_changing_order(x, order, n):
    """Arrays without derivative are put back, too, and not before they are read: the loop that fills them stays."""
    k, a, m = order[0].copy(), np.zeros(5), order.shape[1]
    total = 0.0
    for s in range(n):
        for q in range(m):
            for c in range(m):
                total += a[k[c]] * x[c] + x[q] * x[c]
            a[k[q]] = 0.01 * total
            k[q] = (k[q] + 1) % 5
    return total


PROGRAMS = (tree, relaxed, behind_branches, until, by_changing_order, several, of_each_sample)
X = np.array([0.3, 0.8, -0.5, 0.6, 1.1])


@pytest.mark.parametrize("f", sampled(PROGRAMS, 7), ids=lambda f: f.__name__)
def test_reverse_is_forward(f: Callable[..., Any]):
    # what is read before it was written shows
    with interpreted(), harsh():
        for n in (0, 1, 4):
            value, x_bar = tapec.value_and_grad(f)(X, ORDER, n)
            assert value == pytest.approx(f(X, ORDER, n), rel=1e-12)
            tangents = [tapec.jvp(f, (X, ORDER, n), (unit, None, None))[1] for unit in np.eye(5)]
            np.testing.assert_allclose(x_bar, tangents, rtol=1e-10, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("f", PROGRAMS[:-1], ids=lambda f: f.__name__)
def test_elements_are_put_back(f: Callable[..., Any]):
    text = tapec.emit(f, signature="f8[::1], i8[:,::1], i8", opt_level=2)
    assert re.search(r"old_st|\bold = kept_stack\.pop\(\)", text)
    told = str(tapec.explain(f, signature="f8[::1], i8[:,::1], i8"))
    assert "is put back: the reverse sweep undoes what is stored into it" in told


def argument(a, order, n):
    """The caller sees what is stored."""
    total = 0.0
    for t in range(n):
        for i in range(4):
            s = 0.1
            for k in range(3):
                s += a[order[i, k]] * a[k]
            a[i] = 0.5 * s
            total += s
    return total


def part(x, order, n):
    """Another name for a part of the array."""
    a = x.copy()
    inner = a[1:]
    total = 0.0
    for t in range(n):
        for i in range(4):
            s = 0.1
            for k in range(3):
                s += a[order[i, k]] * inner[k]
            a[i] = 0.5 * s
            total += s
    return total


def where_it_stores(x, order, n):
    """The loop that reads stores as well."""
    a = x.copy()
    for t in range(n):
        for k in range(3):
            a[order[t % 4, k]] = a[k] * a[order[k, 0]]
    return a.sum()


@pytest.mark.parametrize("f", [argument, part, where_it_stores], ids=lambda f: f.__name__)
def test_not_put_back(f: Callable[..., Any]):
    assert "old_st" not in tapec.emit(f, signature="f8[::1], i8[:,::1], i8", opt_level=2)


def test_the_caller_finds_what_the_function_left():
    with interpreted():
        mine, theirs = X.copy(), X.copy()
        tapec.grad(argument)(mine, ORDER, 3)
        argument(theirs, ORDER, 3)
    np.testing.assert_allclose(mine, theirs, rtol=1e-13)


def test_a_pullback_may_be_called_twice():
    with interpreted():
        _, pull = tapec.vjp(relaxed, X, ORDER, 3)
        first, second = pull(1.0)[0], pull(1.0)[0]
        np.testing.assert_array_equal(first, second)
        np.testing.assert_allclose(first, tapec.grad(relaxed)(X, ORDER, 3), rtol=1e-12)
