"""Loops that run forward and back in one pass, and loops that must not."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import pytest

import tapec
from tapec.backend.jit import load
from tapec.backend.signature import arguments
from tapec.options import Options
from tapec.pipeline import build
from tests.oracles import check

X = np.array([0.3, -1.2, 0.8, 2.0])


def mean_of_squares(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        r = w * x[i] - 1.0
        total += r * r
    return total / x.shape[0]


def sums_in_two_loops(x, w):
    first = 0.0
    for i in range(x.shape[0]):
        first += math.sin(w * x[i])
    second = 0.0
    for i in range(x.shape[0]):
        second += x[i] * x[i] * w
    return 0.5 * first - 2.0 * second


def a_branch_adds_more(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            total += w * x[i]
        else:
            total -= x[i] * x[i]
    return total


def scratch(x, w):
    row = np.empty(3)
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(3):
            row[j] = math.exp(w * x[i] * j)
        for j in range(3):
            total += row[j] / (1.0 + row[0])
    return total


def a_loop_in_a_loop(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            d = x[i] - x[j]
            total += math.exp(-w * d * d)
    return total


FUSED = (mean_of_squares, sums_in_two_loops, a_branch_adds_more, scratch, a_loop_in_a_loop)


def the_seed_needs_the_sum(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        total += math.exp(w * x[i])
    return math.log(total)


def a_later_loop_uses_the_sum(x, w):
    """The adjoint of `norm` is complete only after the second loop, which is fused itself."""
    norm = 0.0
    for i in range(x.shape[0]):
        norm += math.exp(x[i])
    loss = 0.0
    for i in range(x.shape[0]):
        loss -= w * x[i] - math.log(norm)
    return loss


def a_later_nest_uses_the_sum(x, w):
    """The nest is fused, and so is its inner loop, which adds to the adjoint of `norm`."""
    norm = 0.0
    for i in range(x.shape[0]):
        norm += math.exp(x[i])
    loss = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            r = w * x[i] - x[j] * norm
            loss += r * r
    return loss


def a_nest_behind_a_nest_uses_the_sum(x, w):
    outer = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            outer += w * x[i] * math.sin(x[j])
    loss = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            for k in range(2):
                loss += (x[i] - k * outer) ** 2 * x[j]
    return loss


def an_iteration_uses_the_one_before(x, w):
    state = w
    total = 0.0
    for i in range(x.shape[0]):
        state = math.tanh(state + x[i])
        total += state
    return total


def the_sum_is_read_in_the_loop(x, w):
    total = w
    for i in range(x.shape[0]):
        total += x[i] * total
    return total


def an_array_is_read_later(x, w):
    y = np.zeros(x.shape[0])
    total = 0.0
    for i in range(x.shape[0]):
        y[i] = w * x[i]
        total += y[i] * y[i]
    return total + y[0] * y[1]


def left_by_break(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] > 1.5:
            break
        total += w * x[i] * x[i]
    return total


APART = (
    the_seed_needs_the_sum,
    a_later_loop_uses_the_sum,
    a_later_nest_uses_the_sum,
    a_nest_behind_a_nest_uses_the_sum,
    an_iteration_uses_the_one_before,
    the_sum_is_read_in_the_loop,
    an_array_is_read_later,
    left_by_break,
)


def generated(f: Any, level: int) -> Any:
    types = arguments((numba.typeof(X), numba.typeof(0.7)), ["x", "w"])
    return build(f, types, "value_and_grad", (0, 1), Options(level=level, quote=False, math="libm"))


def backward_loops(f: Any) -> int:
    _, _, backward = generated(f, 2).text.partition("# reverse sweep")
    return backward.count("for ")


@pytest.mark.parametrize("f", FUSED, ids=lambda f: f.__name__)
def test_no_loop_is_left_in_the_reverse_sweep(f: Any):
    assert backward_loops(f) == 0


@pytest.mark.parametrize("f", APART, ids=lambda f: f.__name__)
def test_a_loop_that_depends_on_later_adjoints_runs_twice(f: Any):
    assert backward_loops(f) > 0


@pytest.mark.parametrize("f", (*FUSED, *APART), ids=lambda f: f.__name__)
def test_the_gradient_is_the_same(f: Any):
    (value, (x_bar, w_bar)), (again, (x_again, w_again)) = (load(generated(f, level))(X, 0.7) for level in (1, 2))
    assert value == pytest.approx(again, rel=1e-14)
    assert value == pytest.approx(f(X, 0.7), rel=1e-14)
    np.testing.assert_allclose(x_again, x_bar, rtol=1e-12, atol=1e-14)
    assert w_again == pytest.approx(w_bar, rel=1e-12)


def grown(x, y):
    s = x
    while s < y:
        s = s * s + x
    return s


def slopes(x, w):
    """The reverse sweep of a derivative keeps numbers on a list of each iteration, whose adjoints are on another."""
    total = 0.0
    for i in range(x.shape[0]):
        total += tapec.grad(grown)(x[i] * x[i] + 1.0, 9.0) * w
    return total


def test_lists_of_an_iteration():
    check(slopes, (X, 0.7), forward_level=0)
