"""How values reach the reverse sweep: what is kept, and that the gradient is that of forward mode."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

import tapec
from tapec.backend.jit import load
from tapec.backend.signature import arguments
from tapec.options import Options
from tapec.pipeline import Program, build
from tests import oracles
from tests.sampling import sampled

X = np.array([0.3, -1.2, 0.8, 2.0, -0.4])


def two_buffers(x, n):
    now, old = x.copy(), x.copy()
    for _ in range(n):
        for i in range(1, x.shape[0] - 1):
            old[i] = 2.0 * now[i] - old[i] + 0.1 * now[i - 1] * now[i + 1]
        now, old = old, now
    return now[1] * now[2] + old[3]


def three_buffers(x, n):
    a, b, c = x.copy(), 2.0 * x, np.zeros(x.shape[0])
    for _ in range(n):
        for i in range(x.shape[0]):
            c[i] = a[i] * b[i] + 0.1 * c[i]
        a, b, c = b, c, a
    return a[0] + 2.0 * b[1] + 3.0 * c[2]


def an_array_per_iteration(x, n):
    best = x.copy()
    for t in range(n):
        new = np.empty(x.shape[0])
        for j in range(x.shape[0]):
            new[j] = best[j] * best[(j + t) % x.shape[0]] * 0.5
        best = new
    return best[0] + best[2] * best[3]


def the_best_way(x, n):
    best = x.copy()
    for t in range(n):
        new = np.empty(x.shape[0])
        for j in range(x.shape[0]):
            top = -np.inf
            for i in range(x.shape[0]):
                value = best[i] - 0.1 * t * x[i]
                if value > top:
                    top = value
            new[j] = top
        best = new
    return best[1] + best[2]


def passed_on_and_kept(x, n):
    first = x.copy()
    last = first
    for _ in range(n):
        new = np.empty(x.shape[0])
        for j in range(x.shape[0]):
            new[j] = last[j] * first[j]
        last = new
    return last[0] + first[1] * last[2]


def relaxed(x, n):
    state = x.copy()
    new = np.empty(x.shape[0])
    for _ in range(n):
        for i in range(x.shape[0]):
            s = x[i]
            for j in range(x.shape[0]):
                s -= 0.1 * state[j] * state[i] * (i - j)
            new[i] = s
        for i in range(x.shape[0]):
            state[i] = new[i]
    return state[0] * state[4]


def eliminated(x, n):
    a = np.empty((4, 4))
    for i in range(4):
        for j in range(4):
            a[i, j] = x[i] * x[j] + (3.0 + n if i == j else 0.0)
    for k in range(4):
        for i in range(k + 1, 4):
            a[i, k] = a[i, k] / a[k, k]
            for j in range(k + 1, 4):
                a[i, j] -= a[i, k] * a[k, j]
    return a[3, 3] * a[2, 3]


PROGRAMS = (
    two_buffers,
    three_buffers,
    an_array_per_iteration,
    the_best_way,
    passed_on_and_kept,
    relaxed,
    eliminated,
)


def generated(f: Any, kind: str, level: int = 2) -> Program:
    types = arguments((numba.typeof(X), numba.typeof(3)), ["x", "n"])
    return build(f, types, kind, (0,), Options(level=level, quote=False, math="libm"))


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("f", sampled(PROGRAMS, 7), ids=lambda f: f.__name__)
def test_reverse_is_forward(f: Any, level: int):
    gradient, tangent = (load(generated(f, kind, level)) for kind in ("value_and_grad", "jvp"))
    for n in (0, 1, 2, 5):
        value, (x_bar,) = gradient(X.copy(), n)
        assert value == pytest.approx(f(X.copy(), n), rel=1e-13), n
        for k, direction in enumerate(np.eye(X.shape[0])):
            assert x_bar[k] == pytest.approx(tangent(X.copy(), n, direction)[1], rel=1e-11, abs=1e-13), n


@pytest.mark.parametrize(
    "f", [two_buffers, three_buffers, an_array_per_iteration, the_best_way], ids=lambda f: f.__name__
)
def test_shadows_that_are_passed_on_are_not_kept(f: Any):
    assert "bar_stack" not in generated(f, "value_and_grad").text


@pytest.mark.slow
def test_what_does_not_change_in_a_loop_is_kept_once():
    text = generated(eliminated, "value_and_grad").text
    assert "np.empty((4, 4, 4))" not in text
    assert "np.empty((4, 3, 3))" not in text


def test_an_array_that_a_nest_reads_again_and_again_is_copied():
    assert "_kept = " in generated(relaxed, "value_and_grad").text


def test_nothing_searches_for_the_iteration_that_set_the_maximum():
    text = generated(the_best_way, "value_and_grad").text
    assert "dtype=np.bool_" not in text and "last_store" in text


def shrinking(a):
    r = a.copy()
    total = 0.0
    for k in range(2):
        x = r[k:, k].copy()
        r[k:, k:] -= 2 * np.outer(x, x @ r[k:, k:])
        total += x[-1] * r[k, k]
    return total


def test_what_runs_again_reads_nothing_of_another_iteration():
    reverse_sweep = tapec.emit(shrinking, 0, signature="f4[:,::1]", opt_level=0).partition("# reverse sweep")[2]
    # it is made in the forward sweep, with other extents in each iteration
    assert "out[" not in reverse_sweep


def noisy(x, n):
    total = 1.0
    for i in range(n):
        t = np.empty(2)
        for k in range(2):
            t[k] = np.sin(x[i]) * x[k]
        if np.random.rand() > 2.0:
            total += 1.0
        for k in range(2):
            total += np.exp(t[k]) * t[k] * total
    return total + np.random.normal()


@pytest.mark.slow
def test_derivatives_draw_as_often_as_their_functions():
    """Draws that no derivative needs are made, and those of an iteration not once more."""
    with oracles.interpreted():
        np.random.seed(3)
        noisy(X, 3)
        later = np.random.rand()
        for level in (0, 1, 2):
            for derivative in (tapec.grad, tapec.value_and_grad, lambda f, **options: lambda x, n: tapec.vjp(f, x, n)):
                np.random.seed(3)
                derivative(noisy, opt_level=level)(X.copy(), 3)
                assert np.random.rand() == later


def upwind(x, n):
    u = x.copy()
    for _ in range(n):
        for i in range(1, x.shape[0]):
            d = u[i] - u[i - 1]
            if d > 0.0:
                g = np.sqrt(1.0 + d)
            elif d > -1.0:
                g = np.exp(d)
            else:
                g = np.exp(2.0 * d) + 0.1
            u[i] = u[i] * g
    return u[-1] * u[2]


@pytest.mark.slow
def test_what_branches_are_merged_into_is_kept_once():
    text = tapec.emit(upwind, signature="f8[::1], i8", opt_level=2)
    # the differences, and roots and exponentials of all branches; the last one's exponential is not what it leaves
    assert text.count("g_store = np.empty(") == 1 and "g_store_1" not in text
    with oracles.interpreted():
        oracles.check(upwind, (X, 3), forward_level=0)
