"""Values that are what is left of large numbers: the program may round in another way than the block did."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable
from tapec.errors import LoweringError

OFFSETS = [0.0, 1e4, 1e8]
CANCELLING = {
    "reversed sum": lambda x: np.sum(x) - np.sum(x[::-1]),
    "variance": lambda x: np.mean(x**2) - np.mean(x) ** 2,
    "amplified": lambda x: (np.sum(x) - np.sum(x[::-1])) * 1e10,
    "by rows": lambda x: np.sum(x) - np.sum(x.reshape(8, -1).sum(axis=0)),
    "product": lambda x: (x @ x - np.sum(x * x)) * 3.0,
    "residual": lambda x: np.sum((MATRIX @ x - MATRIX @ (x * 1.0)) ** 2),
    "elements": lambda x: (x * 3.0 - x - x - x) * 1e6,
    "mean": lambda x: (x - np.mean(x)).sum(),
    "solve": lambda x: MATRIX @ np.linalg.solve(MATRIX, x) - x,
    "ratio": lambda x: _ratio(MATRIX @ np.linalg.solve(MATRIX, x) - x),
    "exponentials": lambda x: np.log(np.sum(np.exp(x - np.max(x)))) - np.log(np.sum(np.exp((x - np.max(x))[::-1]))),
}
MATRIX = np.random.default_rng(3).normal(size=(64, 64))


def _ratio(r):
    return r / np.sqrt(np.sum(r * r) + 1e-300)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("name", CANCELLING)
def test_what_is_left_of_large_numbers_is_no_other_value(name, offset):
    function = CANCELLING[name]
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=64) + offset
        with GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        assert tape.gradient(y, x).shape == x.shape


def test_single_precision():
    x = Variable(np.random.default_rng(0).normal(size=500).astype(np.float32) + np.float32(1e4))
    with GradientTape() as tape:
        y = np.mean(x**2) - np.mean(x) ** 2
    assert tape.gradient(y, x).dtype == np.float32


def test_near_convergence_the_tape_goes_on():
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(20, 20))
    matrix = matrix @ matrix.T + 20.0 * np.eye(20)
    right, x = rng.normal(size=20) * 1e3, Variable(np.zeros(20))
    for _ in range(150):
        with GradientTape() as tape:
            residual = matrix @ x - right
            scaled = residual / np.sqrt(np.sum(residual * residual))
            loss = np.sum(scaled * residual)
        assert np.all(np.isfinite(tape.gradient(loss, x)))
        x.assign_sub(0.02 * residual)


@pytest.mark.parametrize("size", [1.0, 1e8])
def test_what_the_source_does_not_say_is_found(size):
    hidden = iter([1.0, 1.5, 2.0, 2.5, 3.0])

    class Odd:
        def __float__(self):
            return next(hidden)

    odd, x = Odd(), Variable([size, size])
    with pytest.raises(LoweringError):
        with GradientTape() as tape:
            y = np.sum(x) * float(odd)
        tape.gradient(y, x)


def test_a_compiled_function_needs_no_check():
    @tapec.function
    def slope(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = np.sum(x) - np.sum(x[::-1])
        return tape.gradient(y, x)

    assert not slope(np.random.default_rng(0).normal(size=100) * 1e8).any()
