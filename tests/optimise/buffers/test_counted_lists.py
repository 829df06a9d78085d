"""Lists of numbers that become arrays: as many elements as loops with other bounds each time make iterations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import typeof

import tapec
from tests.oracles import check, interpreted
from tests.sampling import sampled

START = np.array([0, 3, 3, 4, 9, 9, 12])
RNG = np.random.default_rng(1)


def rows(x, w, start):
    """Rows of different lengths, none at all among them; what an iteration overwrites is kept."""
    h = np.array([0.3, 0.5, 0.2])
    total = 0.0
    for i in range(start.shape[0] - 1):
        for p in range(start[i], start[i + 1]):
            h[p % 3] = np.sin(h[(p + i) % 3]) * w[p] + x[i]
            total += h[0] * h[0]
    return total


def backwards(x, w, start):
    """Loops that count down, and in steps of two; bounds that are the wrong way round."""
    h = np.array([0.3, 0.5, 0.2])
    for i in range(start.shape[0] - 1):
        for p in range(start[i + 1] - 1, start[i] - 1, -1):
            h[p % 3] = np.sin(h[(p + i) % 3]) * w[p] + x[i]
        for p in range(start[i + 1], start[i]):
            h[0] = h[0] * h[0] * x[p]
        for p in range(start[i], start[i + 1], 2):
            h[i % 3] = np.cos(h[p % 3]) * w[p]
    return h[0] * h[1] + h[2]


def in_branches(x, w, start):
    """Loops in branches, of which the test follows from given numbers; iterations that keep more than others."""
    h = np.array([0.3, 0.5, 0.2])
    for i in range(start.shape[0] - 1):
        m = start[i + 1] - start[i]
        if m > 1:
            for p in range(m):
                h[p % 3] = np.sin(h[i % 3]) * w[start[i] + p]
                if h[0] > 0.1:
                    h[1] = h[2] * h[1] * x[i]
        else:
            for p in range(m + 2):
                h[(p + i) % 3] = np.exp(-h[p % 3] * x[i]) + h[0] * p
    return h[0] * h[1] + h[2]


def three_deep(x, w, start):
    """The innermost loop makes as many iterations for each iteration of the one around it."""
    h = np.array([0.3, 0.5, 0.2])
    for i in range(start.shape[0] - 1):
        for p in range(start[i], start[i + 1]):
            for k in range(start[i] // 3, 4):
                h[k % 3] = np.sin(h[p % 3]) * w[p] + x[k] * h[1]
        h[i % 3] = h[0] * h[1]
    return h[0] * h[1] + h[2]


def side_by_side(x, w, start):
    """Two loops fill lists of their own, one after the other."""
    h = np.array([0.3, 0.5, 0.2])
    for i in range(start.shape[0] - 1):
        for p in range(start[i], start[i + 1]):
            h[p % 3] = np.sin(h[i % 3] + h[0]) * w[p]
            h[1] = h[2] * h[1] + x[i]
        for k in range(start[i] // 2):
            h[k % 3] = np.tanh(h[i % 3] * h[1]) + x[k]
    return h[0] * h[1] + h[2]


def longest_of(v, w, start):
    """A knapsack: elements that take the better of two numbers."""
    held = np.zeros(13)
    for i in range(v.shape[0]):
        for c in range(12, start[i] - 1, -1):
            held[c] = max(held[c], held[c - start[i]] + v[i] * w[i])
    return held[12] * held[11]


PROGRAMS = (rows, backwards, in_branches, three_deep, side_by_side, longest_of)
ARGS = (RNG.uniform(0.3, 0.9, 6), RNG.uniform(0.3, 0.9, 12), START)


@pytest.mark.parametrize("f", sampled(PROGRAMS, 6), ids=lambda f: f.__name__)
def test_derivatives(f: Callable[..., Any]):
    source = tapec.value_and_grad(f, (0, 1)).source(*map(typeof, ARGS))
    assert "stack" in source
    assert ".append(" not in source
    assert ".pop(" not in source
    with interpreted():
        check(f, ARGS, (0, 1), forward_level=0)
        on = tapec.value_and_grad(f, (0, 1))(*ARGS)
        off = tapec.value_and_grad(f, (0, 1), opt_level=1)(*ARGS)
    assert on[0] == pytest.approx(off[0], rel=1e-14)
    for one, other in zip(on[1], off[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("f", sampled(PROGRAMS, 6, default=3), ids=lambda f: f.__name__)
def test_compiled(f: Callable[..., Any]):
    tangents = (np.ones(6), np.ones(12))
    got = tapec.jvp(tapec.value_and_grad(f, (0, 1)), ARGS, (*tangents, None))
    with interpreted():
        wanted = tapec.jvp(tapec.value_and_grad(f, (0, 1), opt_level=0), ARGS, (*tangents, None))
    np.testing.assert_allclose(_numbers(got), _numbers(wanted), rtol=1e-10, atol=1e-13)


def _numbers(tree: Any) -> np.ndarray:
    return np.concatenate([_numbers(one) for one in tree]) if isinstance(tree, tuple) else np.ravel(tree)


def test_no_rows():
    with interpreted():
        value, (x_bar, w_bar) = tapec.value_and_grad(rows, (0, 1))(ARGS[0], ARGS[1], np.array([4]))
    assert value == 0.0
    assert not x_bar.any()
    assert not w_bar.any()


def left_early(x, w, start):
    """How many iterations run follows from values."""
    h = np.array([0.3, 0.5, 0.2])
    for i in range(start.shape[0] - 1):
        for p in range(start[i], start[i + 1]):
            h[p % 3] = np.sin(h[(p + i) % 3]) * w[p] + x[i]
            if h[0] > 0.9:
                break
    return h[0] * h[1] + h[2]


def moving(x, w, start):
    """The bounds follow from what the loops hand from iteration to iteration."""
    h = np.array([0.3, 0.5, 0.2])
    m = 1
    for i in range(x.shape[0] - 2):
        for p in range(m):
            h[p % 3] = np.sin(h[(p + i) % 3]) * w[p] + x[i]
        m = (m * 3) % 7
    return h[0] * h[1] + h[2]


def overwritten(x, w, start):
    """The bounds are elements that an iteration changes."""
    h = np.array([0.3, 0.5, 0.2])
    for i in range(4):
        for p in range(start[i], start[i + 1]):
            h[p % 3] = np.sin(h[(p + i) % 3]) * w[p] + x[i]
        start[i + 2] -= 1
    return h[0] * h[1] + h[2]


@pytest.mark.parametrize("f", [left_early, moving, overwritten], ids=lambda f: f.__name__)
def test_lists_whose_room_is_not_known_stay(f: Callable[..., Any]):
    source = tapec.value_and_grad(f, (0, 1)).source(*map(typeof, ARGS))
    assert ".append(" in source or "extend" in source
    with interpreted():
        check(f, ARGS, (0, 1), forward_level=0)
