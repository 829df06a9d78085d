"""Checkpointed loops: right gradients, the fewest iterations, and memory for the slots alone."""

from __future__ import annotations

import functools
import tracemalloc
from math import comb
from typing import Any

import numba
import numpy as np
import pytest

import tapec
from tapec.backend.jit import load
from tapec.backend.signature import arguments
from tapec.options import Options
from tapec.pipeline import Program, build
from tests.oracles import interpreted
from tests.sampling import sampled
from tests.transforms.checkpointed import PROGRAMS, buffers, history, in_place, nested_values, new_array, numbers
from tests.well_typed import ill_typed

X = np.array([0.3, -1.2, 0.8, 2.0, -0.4])


def generated(f: Any, kind: str, level: int = 2, wrt: Any = 0) -> Program:
    types = arguments((numba.typeof(X), numba.typeof(3), numba.typeof(3)), ["x", "n", "k"])
    return build(f, types, kind, wrt, Options(level=level, quote=False, math="libm"))


@functools.cache
def forward_of(f: Any) -> Any:
    return load(generated(f, "jacfwd", 0))


@pytest.mark.parametrize("f", sampled(PROGRAMS, 10), ids=lambda f: f.__name__)
@pytest.mark.parametrize("level", [0, pytest.param(1, marks=pytest.mark.exhaustive), 2])
def test_reverse_is_forward(f: Any, level: int):
    reverse, forward = load(generated(f, "value_and_grad", level)), forward_of(f)
    for n in (0, 1, 2, 3, 5, 9):
        expected, theirs = forward(X.copy(), n, 1), X.copy()
        with interpreted():  # one program takes a gradient, of a new function in each iteration
            wanted = f(theirs, n, 1)
        for k in (1, 2, 3, 20):
            ours = X.copy()
            value, gradient = reverse(ours, n, k)
            assert value == pytest.approx(wanted, rel=1e-13)
            np.testing.assert_allclose(gradient, expected, rtol=1e-10, atol=1e-12)
            # the caller's array is what the function leaves
            np.testing.assert_array_equal(ours, theirs)


# the schedule


def fewest(iterations: int, slots: int) -> int:
    """Iterations that run to reverse `iterations` of them, the last of which need not run: Griewank & Walther
    (2000).
    """
    runs = 0
    while comb(slots + runs, slots) < iterations:
        runs += 1
    return runs * iterations - (comb(slots + runs, slots + 1) if runs else 0)


def the_exponential(x, n, k):
    s = x[0]
    for _ in tapec.checkpointed(range(n), slots=k):
        s = np.exp(s) * 0.1
    return s


class CountingNumpy:
    """NumPy, counting the exponentials."""

    def __init__(self) -> None:
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def exp(self, x: float) -> float:
        self.calls += 1
        return float(np.exp(x))


@pytest.mark.parametrize("level", [1, 2])
def test_no_schedule_runs_fewer_iterations(level: int):
    function = load(generated(the_exponential, "value_and_grad", level))
    for n in (1, 2, 3, 7, 12, 30):
        for k in (1, 2, 3, 4, 7, 40):
            counting = CountingNumpy()
            function.__globals__["np"] = counting
            function(X, n, k)
            # the forward sweep runs every iteration, and so does the reversal, just before it reverses it; what
            # follows the loop is one more iteration of the schedule, of which the forward sweep runs all but that one
            again = counting.calls - 2 * n
            assert again == fewest(n + 1, min(k, n)) - n, (n, k)


@pytest.mark.parametrize("iterations", [1, 2, 3, 10, 60])
@pytest.mark.parametrize("slots", [1, 2, 3, 8])
def test_the_formula_is_the_minimum(iterations: int, slots: int):
    def search(iterations: int, slots: int, known: dict[tuple[int, int], int]) -> int:
        if iterations == 1 or slots == 1:
            return iterations * (iterations - 1) // 2
        if (iterations, slots) not in known:
            ways = (
                m + search(iterations - m, slots - 1, known) + search(m, slots, known) for m in range(1, iterations)
            )
            known[iterations, slots] = min(ways)
        return known[iterations, slots]

    assert fewest(iterations, slots) == search(iterations, slots, {})


# what snapshots hold


def test_a_snapshot_holds_what_later_iterations_read():
    assert "s_saved" in generated(the_exponential, "value_and_grad").text
    text = generated(in_place, "value_and_grad").text
    assert text.count("np.empty((slots, ") == 1
    assert "e_saved" not in text
    # every state is still there
    assert "np.empty((slots, " not in generated(history, "value_and_grad").text


def wave(speed, start, steps, slots):
    rows, columns = speed.shape
    old, now, new = start.copy(), start.copy(), np.zeros((rows, columns))
    for _ in tapec.checkpointed(range(steps), slots=slots):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1] - 4.0 * now[i, j]
                new[i, j] = 2.0 * now[i, j] - old[i, j] + speed[i, j] * around
        old, now, new = now, new, old
    return (now * now)[: rows // 2].sum()


@pytest.mark.slow
@pytest.mark.compiled
def test_ten_thousand_steps_of_the_wave_equation_within_twenty_snapshots():
    # without the JIT, only that it runs
    side, slots, steps = 24, 20, 10 if numba.config.DISABLE_JIT else 10_000
    rng = np.random.default_rng(3)
    speed, start = 0.2 + 0.1 * rng.random((side, side)), rng.random((side, side))
    derivative = tapec.value_and_grad(wave)
    value, few = derivative(speed, start, 50, 4)
    _, all_kept = derivative(speed, start, 50, 50)
    assert value == pytest.approx(wave(speed, start, 50, 4), rel=1e-12)
    np.testing.assert_allclose(few, all_kept, rtol=1e-11)
    tracemalloc.start()
    try:
        derivative(speed, start, steps, slots)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # three buffers each; beside the snapshots the buffers, their shadows, and what one step keeps
    assert peak < (slots + 8) * 3 * side * side * 8


# beside gradients


@pytest.mark.slow
@pytest.mark.compiled
def test_an_ordinary_range_in_jitted_code():
    assert list(tapec.checkpointed(range(2, 9, 3), slots=1)) == [2, 5, 8]
    assert numba.njit(numbers)(X, 4, 2) == pytest.approx(numbers(X, 4, 2), rel=1e-14)
    with pytest.raises(ValueError, match="slots must be at least 1"):
        tapec.checkpointed(range(3), slots=0)


@pytest.mark.slow
@pytest.mark.compiled
def test_no_slots_at_run_time():
    with pytest.raises(ValueError, match="slots must be at least 1"):
        tapec.grad(the_exponential)(X, 3, 0)


@pytest.mark.parametrize("f", [nested_values, *sampled(PROGRAMS, 10)], ids=lambda f: f.__name__)
def test_types_are_those_of_the_values(f: Any):
    # a number of an iteration that is reversed in place had the name of a counter, and its type: it had no tangent
    assert not ill_typed(generated(f, "value_and_grad", 0).core)


@pytest.mark.slow
@pytest.mark.parametrize("f", [numbers, new_array, buffers, in_place, nested_values], ids=lambda f: f.__name__)
def test_second_derivatives(f: Any):
    few, kept = (load(generated(f, "hessian", 1))(X.copy(), 5, k) for k in (2, 9))
    np.testing.assert_allclose(few, kept, rtol=1e-10, atol=1e-12)
    gradient, step = load(generated(f, "grad", 1)), 1e-6
    for i in range(X.shape[0]):
        ahead, behind = X.copy(), X.copy()
        ahead[i] += step
        behind[i] -= step
        difference = (gradient(ahead, 5, 2) - gradient(behind, 5, 2)) / (2 * step)
        np.testing.assert_allclose(few[i], difference, rtol=1e-6, atol=1e-7)


def several(x, n, k):
    u = x.copy()
    for t in tapec.checkpointed(range(n), slots=k):
        for i in range(1, u.shape[0]):
            u[i] = np.sin(u[i]) * u[i - 1] + 0.1 * t
    return u


@pytest.mark.slow
def test_a_pullback_pulls_again():
    value, pullback = tapec.vjp(several, X.copy(), 7, 2)
    rows = tapec.jacfwd(several)(X.copy(), 7, 2)
    for i in (1, 4, 1):
        unit = np.zeros(5)
        unit[i] = 1.0
        np.testing.assert_allclose(pullback(unit)[0], rows[i], rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(value, several(X.copy(), 7, 2), rtol=1e-13)


@pytest.mark.slow
def test_rows_of_a_jacobian():
    np.testing.assert_allclose(
        tapec.jacrev(several)(X.copy(), 7, 2), tapec.jacfwd(several)(X.copy(), 7, 2), rtol=1e-11, atol=1e-14
    )


def changing_shape(x, n, k):
    u = x.copy()
    for _ in tapec.checkpointed(range(n), slots=k):
        u = 2.0 * u[1:]
    return u.sum()


def test_arrays_that_change_their_shape():
    with pytest.raises(ValueError, match="changes its shape"):
        load(generated(changing_shape, "value_and_grad"))(X, 3, 3)


def buffers_of_two_sizes(x, n, k):
    old, new = np.empty(x.shape[0]), np.empty(x.shape[0] + 1)
    old[:] = x
    new[:] = 0.3
    for _ in tapec.checkpointed(range(n), slots=k):
        for i in range(1, min(old.shape[0], new.shape[0])):
            new[i] = np.sin(old[i - 1]) * old[i]
        old, new = new, old
    return (old * old).sum()


def test_buffers_of_two_sizes_that_change_places():
    with pytest.raises(ValueError, match="changes its shape"):
        load(generated(buffers_of_two_sizes, "value_and_grad"))(X, 3, 1)


@tapec.function
def taped(x, n, k):
    with tapec.GradientTape() as tape:
        tape.watch(x)
        u = x
        for t in tapec.checkpointed(range(n), slots=k):
            u = np.sin(u) + 0.1 * t
        y = (u * u).sum()
    return tape.gradient(y, x)


@pytest.mark.slow
def test_tapes():
    np.testing.assert_allclose(taped(X, 7, 2), taped(X, 7, 7), rtol=1e-12)
    with tapec.GradientTape() as tape:
        tape.watch(X)
        u = X
        for t in tapec.checkpointed(range(7), slots=2):
            u = np.sin(u) + 0.1 * t
        y = (u * u).sum()
    np.testing.assert_allclose(tape.gradient(y, X), taped(X, 7, 2), rtol=1e-12)
