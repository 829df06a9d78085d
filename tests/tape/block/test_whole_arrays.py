"""First gradients of blocks over whole arrays: which blocks run so, and what happens when they are given up."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.backend import array_nests
from tapec.tape.run import compiled_derivative
from tapec.tape.run.compiled_derivative import CompiledDerivative

# with compilation switched off, nothing runs over whole arrays
pytestmark = pytest.mark.compiled


@pytest.fixture
def over_arrays(monkeypatch):
    """Neither compilation nor one number after the other."""

    def refused(*_):
        raise AssertionError("it does not run over whole arrays")

    monkeypatch.setattr(CompiledDerivative, "machine_code", refused)
    monkeypatch.setattr(CompiledDerivative, "interpreted", refused)


def network(dtype):
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(6, 5)).astype(dtype), rng.normal(size=(4, 6)).astype(dtype)
    pixels, labels = rng.integers(0, 255, size=(4, 6)).astype(np.uint8), np.array([0, 3, 1, 4], np.int32)
    with tapec.GradientTape() as tape:
        tape.watch(w)
        h = (x + (pixels / 255.0).astype(dtype)) @ w
        h = np.where(h > 0.1, h, 0.2 * h)
        h = (h - h.mean(axis=0)) / np.sqrt(h.var(axis=0) + 1e-3)
        z = h - h.max(axis=1, keepdims=True)
        logp = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        hot = (labels[:, None] == np.arange(5)).astype(dtype)
        loss = 0.01 * np.sum(w**2) - np.mean(logp[np.arange(4), labels]) - np.mean(hot * logp)
    return tape.gradient(loss, w)


def test_a_network_of_single_precision(over_arrays):
    found = network(np.float32)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, network(np.float64), rtol=1e-4, atol=1e-6)


def products(x):
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = np.sum(np.cumprod(x))
    return tape.gradient(y, x)


def slope(x):
    return np.cumsum(np.cumprod(x)[::-1])[::-1] / x


def test_a_loop_of_many_iterations(over_arrays):
    x = np.linspace(0.9, 1.1, 200)
    np.testing.assert_allclose(products(x), slope(x), rtol=1e-12)


def test_a_loop_that_runs_long_is_compiled(monkeypatch):
    monkeypatch.setattr(compiled_derivative, "STEPS_PER_STATEMENT", 1)
    asked = []
    monkeypatch.setattr(CompiledDerivative, "machine_code", lambda self: asked.append(self) or self.interpreted)
    x = np.linspace(0.9, 1.1, 300)
    np.testing.assert_allclose(products(x), slope(x), rtol=1e-12)
    assert asked


def test_what_a_run_wrote_is_restored_when_it_is_given_up(monkeypatch):
    monkeypatch.setattr(array_nests, "_LARGEST", 0)
    x, a = np.arange(1.0, 4.0), np.ones(3)
    with tapec.GradientTape(jit=False) as tape:
        tape.watch(x)
        a *= x
        y = np.sum(np.exp(0.1 * (a[:, None] - x)))
    each = 0.1 * np.exp(0.1 * (x[:, None] - x))
    np.testing.assert_allclose(tape.gradient(y, x), each.sum(axis=1) - each.sum(axis=0), atol=1e-12)
