"""Functions of long loops ask for the widest vectors."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba import njit

import tapec
import tapec_runtime
from tapec.optimise.vectors.wide_vectors import use_wide_vectors
from tests.optimise.reading import read
from tests.oracles import check


def wide(text: str) -> bool:
    return use_wide_vectors(read(text)).wide


LOOPS = """
def f(a, A, x, n, k):
    {first}
    for j in range(k):
        {second}
        for i in range({length}):
            y = a[i]
            z = y * x
            {last}
            a[i] = z
    return x
"""
PLAIN = {"first": "n_1 = n - 1", "second": "n_2 = k + 1", "length": "n_1", "last": "w = z + 1.0"}


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"first": "n_1 = a.shape[0]"},
        {"first": "n_3 = n - 1", "second": "n_1 = min(n_3, 64)"},
        # a loop that runs once takes no time, and one of few iterations is written out
        {"first": "n_1 = n - 1\n    n_3 = A.shape[1]\n    for i in range(n_3):\n        a[i] *= x"},
        {"second": "for i in range(4):\n            t = a[i]\n            a[i] = t * x"},
        # what an iteration hands to the next one alone, or adds up
        {"first": "n_1 = n - 1\n    v = 0.0", "last": "z = z + v\n            v = y * 2.0"},
        {"first": "n_1 = n - 1\n    v = 0.0", "last": "v = v + y"},
    ],
)
def test_long_loops(other: dict[str, str]):
    assert wide(LOOPS.format(**PLAIN | other))


@pytest.mark.parametrize(
    "other",
    [
        {"first": "n_1 = A.shape[1]"},
        {"first": "n_1 = A.shape[1] + n"},
        {"length": "j"},
        {"length": "10"},
        # a number that is set twice; no vectors at all
        {"first": "n_1 = n - 1\n    n_1 = n_1 + 1"},
        {"first": "n_1 = n - 1\n    v = 0.0", "last": "v = v * y\n            z = z + v"},
        {"last": "if x > z:\n                break"},
        {"second": "n_3 = A.shape[0]\n        for i in range(n_3):\n            t = a[i] * x\n            a[i] = t"},
    ],
)
def test_short_loops(other: dict[str, str]):
    assert not wide(LOOPS.format(**PLAIN | other))


def test_loops_that_run_once_are_wide_by_their_functions():
    text = "def f(a, n):\n    for i in range(n):\n        x = a[i]\n        y = {}(x)\n        a[i] = y\n    return n\n"
    assert wide(text.format("tapec_runtime.exp")) and not wide(text.format("np.sqrt"))


def heat(u0, kappa, steps):
    u = u0.copy()
    for _ in range(steps):
        left = u[0]
        for i in range(1, u.size - 1):
            here = u[i]
            u[i] = here + kappa * (left - 2.0 * here + u[i + 1])
            left = here
    return (u * u).sum()


@pytest.mark.compiled
def test_compiled_gradients_are_the_same(rng: np.random.Generator):
    assert check(heat, (rng.normal(size=67), 0.2, 5), forward_level=0)
    vector = numba.float64[::1]
    assert "tapec_runtime.wide_vectors()" in tapec.value_and_grad(heat, (0, 1)).source(
        vector, numba.float64, numba.int64
    )


def asking() -> None:
    tapec_runtime.wide_vectors()


@pytest.mark.compiled
@pytest.mark.parametrize("processor, asked", [("icelake-server", True), ("skylake-avx512", False)])
def test_processors_that_slow_down_are_spared(monkeypatch: pytest.MonkeyPatch, processor: str, asked: bool):
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_name", lambda: processor)
    monkeypatch.setattr(numba.config, "CPU_NAME", None)
    compiled = njit(asking)
    compiled()
    (text,) = compiled.inspect_llvm().values()
    assert ('"prefer-vector-width"="512"' in text) == asked


def test_nothing_happens_without_numba():
    assert tapec_runtime.wide_vectors() is None
