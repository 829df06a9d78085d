"""`strict=True`: every operation in its order, to the last bit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapec
from tapec.errors import UsageError
from tests.sampling import sampled

# what is promised of machine code
pytestmark = pytest.mark.compiled

RANDOM = np.random.default_rng(11)
X = RANDOM.normal(size=37)


def long_sum(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += np.sin(x[i]) * x[i - 1]
    return s


def stencil(x):
    u = x.copy()
    for _ in range(5):
        v = np.zeros_like(u)
        for i in range(1, u.shape[0] - 1):
            v[i] = 0.3 * u[i - 1] + 0.4 * u[i] * u[i] + 0.3 * u[i + 1]
        u = v
    return (u * u).sum()


def small_arrays(x):
    total = 0.0
    for i in range(x.shape[0] - 2):
        p = np.zeros(3)
        for k in range(3):
            p[k] = x[i + k] * 1.7
        total += np.exp(-(p[0] * p[0] + p[1] * p[2])) / (1.0 + p @ p)
    return total


def scattered(x):
    bins = np.zeros(4)
    for i in range(x.shape[0]):
        bins[i % 4] += x[i] * x[i]
    return np.log(bins).sum()


def branches(x):
    s = 1.0
    for i in range(x.shape[0]):
        if x[i] > 0.2:
            s = s * 0.9 + x[i]
        elif x[i] < -1.0:
            s -= np.tanh(x[i]) * s
    return s


PROGRAMS: tuple[Callable[..., Any], ...] = (long_sum, stencil, small_arrays, scattered, branches)


@pytest.mark.slow
@pytest.mark.parametrize("f", sampled(PROGRAMS, 5), ids=lambda f: f.__name__)
def test_the_bits_of_the_textbook_adjoint(f: Any):
    value, gradient = tapec.value_and_grad(f, strict=True)(X.copy())
    textbook_value, textbook = tapec.value_and_grad(f, strict=True, opt_level=0)(X.copy())
    assert value == textbook_value
    np.testing.assert_array_equal(gradient, textbook)
    _, fast = tapec.value_and_grad(f)(X.copy())
    np.testing.assert_allclose(gradient, fast, rtol=1e-11, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_bits_are_the_same_from_run_to_run(f: Any):
    derivative = tapec.value_and_grad(f)
    value, gradient = derivative(X.copy())
    for shift in range(4):
        # wherever the argument begins in memory
        moved = np.empty(X.shape[0] + 4)[shift : shift + X.shape[0]]
        moved[:] = X
        again, other = derivative(moved)
        assert again == value
        np.testing.assert_array_equal(other, gradient)


def test_values_are_those_of_the_source():
    def plain(x):
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i] * x[i - 1]
        return s

    expected = 0.0
    for i in range(X.shape[0]):
        expected += X[i] * X[i - 1]
    assert tapec.value_and_grad(plain, strict=True)(X)[0] == expected


def test_flags_of_the_generated_module():
    text = tapec.emit(long_sum, signature="f8[::1]", strict=True, opt_level=2)
    assert "fastmath" not in text
    assert "tapec_runtime" not in text
    assert re.search(r"@numba.njit\(error_model=\"numpy\", boundscheck=True\)", tapec.emit(
        long_sum, signature="f8[::1]", strict=True, boundscheck=True, opt_level=2
    ))  # fmt: skip


def beyond(x):
    s = 0.0
    for i in range(x.shape[0] + 1):
        s += x[i] * x[i]
    return s


def test_an_index_out_of_range():
    with pytest.raises(IndexError):
        tapec.grad(beyond, boundscheck=True)(X)


@pytest.mark.slow
def test_a_derivative_that_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("TAPEC_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TAPEC_CACHE", "1")
    tapec.grad(long_sum, cache=False)(X)
    assert not list(tmp_path.rglob("*long_sum*"))
    tapec.grad(long_sum)(X)
    assert list(tmp_path.rglob("*long_sum*"))


@pytest.mark.parametrize("option", ["strict", "boundscheck", "cache"])
def test_switches_are_true_or_false(option):
    with pytest.raises(UsageError, match=f"{option} must be True or False"):
        tapec.grad(long_sum, **{option: 1})
