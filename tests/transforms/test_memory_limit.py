"""`memory=`: loops that would keep more than the limit are checkpointed, if it is enough for that."""

from __future__ import annotations

import tracemalloc

import numba
import numpy as np
import pytest

import tapec
from tapec.errors import NotDifferentiable, UsageError
from tests.oracles import interpreted
from tests.sampling import sampled

X = np.linspace(0.2, 1.1, 40)


def steps(x, n):
    u = x.copy()
    for t in range(n):
        for i in range(1, u.shape[0]):
            u[i] = np.sin(u[i]) * u[i - 1] + 0.01 * t
    return (u * u).sum()


def two_loops(x, n):
    u = x.copy()
    s = 0.0
    for t in range(2, n):
        for i in range(1, u.shape[0]):
            u[i] = np.sin(u[i]) * u[i - 1] + 0.01 * t
    for t in range(n, 0, -2):
        s = np.cos(s) * u[t % u.shape[0]] + 0.1 * t
    return s * s


def fresh_arrays(x, n):
    u = x
    for _ in range(n):
        u = np.sin(u) * x + 0.1
    return u.sum()


def independent(x, n):
    s = 0.0
    for i in range(x.shape[0]):
        s += np.sin(x[i]) * n
    return s


@pytest.mark.slow
@pytest.mark.parametrize("f", sampled([steps, two_loops, fresh_arrays, independent], 1, 2), ids=lambda f: f.__name__)
def test_the_gradient_is_the_same(f):
    free = tapec.value_and_grad(f)
    limited = [tapec.value_and_grad(f, memory=limit) for limit in ("3kB", "20kB", "1GB")]
    for n in (0, 1, 3, 30):
        value, expected = free(X.copy(), n)
        for derivative in limited:
            again, gradient = derivative(X.copy(), n)
            assert again == pytest.approx(value, rel=1e-13)
            np.testing.assert_allclose(gradient, expected, rtol=1e-11, atol=1e-14)
        rows = tapec.vjp(f, X.copy(), n, memory="5kB")[1](1.0)[0]
        np.testing.assert_allclose(rows, expected, rtol=1e-11, atol=1e-14)


def test_a_loop_that_stores_nothing_stays():
    text = tapec.emit(independent, signature="f8[::1], i8", memory="1kB", opt_level=2)
    assert text == tapec.emit(independent, signature="f8[::1], i8", opt_level=2)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="memory of compiled code")
def test_memory_stays_below_the_limit():
    derivative = tapec.grad(steps, memory="10kB")
    with interpreted():
        expected = tapec.grad(steps)(X.copy(), 40)
    np.testing.assert_allclose(derivative(X.copy(), 40), expected, rtol=1e-11, atol=1e-14)
    tracemalloc.start()
    try:
        derivative(X.copy(), 20_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # beside it, what the function itself and its gradient take
    assert peak < 10_000 + 20 * X.nbytes


@pytest.mark.slow
@pytest.mark.compiled
def test_a_limit_that_is_too_small():
    derivative = tapec.grad(steps, memory=500)
    with pytest.raises(MemoryError, match=r"the loop at line \d+, steps, has no room for a snapshot"):
        derivative(X.copy(), 30)


def until_small(x, n):
    s = x[0]
    while s > 0.01 * n:
        s = np.sin(s) * x[1]
    return s


def test_a_loop_of_unknown_length_is_refused():
    for f in (until_small, growing):
        with pytest.raises(NotDifferentiable, match="how much this loop keeps"):
            tapec.grad(f, memory="1MB")(X, 3)


def with_break(x, n):
    s = x[0]
    for _ in range(n):
        s = np.sin(s) * x[1] + 0.3
        if s < 0.01:
            break
    return s


def growing(x, n):
    values = [x[0]]
    for _ in range(n):
        values.append(np.sin(values[-1]) * x[1])
    return values[-1]


def test_a_loop_that_cannot_be_checkpointed_may_be_small():
    derivative = tapec.grad(with_break, memory="2kB")
    np.testing.assert_allclose(derivative(X, 5), tapec.grad(with_break)(X, 5), rtol=1e-12)
    with pytest.raises(MemoryError, match="cannot be checkpointed"):
        derivative(X, 5000)


def four_iterations_with_break(x):
    for i in range(1, 5):
        if x[0] > 9.0:
            break
        x[i] = np.sin(x[i - 1]) * x[i]
        x[0] *= x[i] * x[i]
    return x[0]


def test_a_limit_that_known_iterations_exceed():
    with pytest.raises(MemoryError, match="cannot be checkpointed"):
        tapec.grad(four_iterations_with_break, memory="8B")(X.copy())


@pytest.mark.parametrize("memory", [0, -5, "lots", "5 PB", True, 2.5])
def test_what_is_no_size(memory):
    with pytest.raises(UsageError, match="memory must be a number of bytes"):
        tapec.grad(steps, memory=memory)


@pytest.mark.parametrize("transform", [tapec.jacfwd, tapec.jacrev, tapec.hessian])
def test_transforms_without_a_limit(transform):
    with pytest.raises(UsageError, match="takes no limit of memory"):
        transform(steps, memory="1MB")(X, 3)
