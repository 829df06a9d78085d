"""Adjoints of dynamic programmes go back along the path that was chosen."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tapec
from tests.oracles import check, interpreted
from tests.programs.kernels import time_warping

_ASKS = "!= 0.0:"


def stairs(cost):
    """The cheapest way up, by one step or two."""
    best = np.zeros(cost.size + 2)
    for i in range(cost.size):
        best[i + 2] = min(best[i + 1], best[i]) + cost[i] ** 2
    return best[cost.size + 1]


def dearest(gain, skip):
    """The dearest alignment, whose elements all count in the end."""
    n, m = gain.shape
    score = np.zeros((n + 1, m + 1))
    for i in range(n):
        for j in range(m):
            score[i + 1, j + 1] = max(score[i, j] + gain[i, j], score[i, j + 1] - skip, score[i + 1, j] - 2.0 * skip)
    return (score * score).sum()


def softly(cost):
    """Two results before each one, neither chosen."""
    best = np.zeros(cost.size + 2)
    for i in range(cost.size):
        best[i + 2] = -math.log(math.exp(-best[i + 1]) + math.exp(-best[i])) + cost[i] ** 2
    return best[cost.size + 1]


def rectified(x, w):
    """One result before each one."""
    y = np.zeros(x.size + 1)
    for i in range(x.size):
        y[i + 1] = max(w * y[i] + x[i], 0.0)
    return y.sum()


@pytest.mark.parametrize("size", [0, 1, 2, 9])
def test_a_path_of_steps(size):
    with interpreted():
        check(stairs, (0.3 + np.sin(np.arange(size) * 2.0),), forward_level=0)


def test_ties_share_the_adjoint():
    with interpreted():
        _, (gradient,) = tapec.value_and_grad(stairs, wrt=(0,))(np.ones(3))
    # two ways up, of one price
    assert gradient.tolist() == [1.0, 1.0, 2.0]


@pytest.mark.slow
def test_all_elements_may_have_adjoints():
    with interpreted():
        check(dearest, (np.sin(np.arange(20.0)).reshape(4, 5), 0.3), (0, 1), forward_level=0)


def test_the_loop_asks_where_results_are_chosen():
    assert _ASKS in tapec.emit(stairs, 0, "f8[:]", opt_level=2)
    assert _ASKS in tapec.emit(dearest, (0, 1), "f8[:, :], f8", opt_level=2)
    assert _ASKS in tapec.emit(time_warping, (0, 1), "f8[:], f8[:]", opt_level=2)


def test_the_loop_asks_nowhere_else():
    assert _ASKS not in tapec.emit(softly, 0, "f8[:]", opt_level=2)
    assert _ASKS not in tapec.emit(rectified, (0, 1), "f8[:], f8", opt_level=2)


def test_explained():
    told = tapec.explain(time_warping, (0, 1), "f8[:], f8[:]")
    assert [str(note) for note in told.notes if note.by == "optimal_paths"]
