"""Generators that a tape's block seeds before it draws from them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tapec import GradientTape, Variable

STATE = np.random.RandomState(1)
SEEDED = {
    "module": (lambda seed: np.random.seed(seed), lambda: np.random.normal()),
    "python": (lambda seed: random.seed(seed), lambda: random.random()),
    "state": (lambda seed: STATE.seed(seed), lambda: STATE.rand()),
}


@pytest.mark.parametrize("name", SEEDED)
def test_a_draw_behind_a_seed(name):
    seed, draw = SEEDED[name]
    x = Variable(2.0)
    for round_ in range(4):
        with GradientTape() as tape:
            first = draw()
            seed(round_ % 2)
            second, third = draw(), draw()
            y = x * (first + 10.0 * second + 100.0 * third)
        after = draw()
        assert np.isclose(tape.gradient(y, x), y / 2.0, rtol=1e-14)
        assert draw() != after
        seed(round_ % 2)
        assert second == draw() and third == draw() and after == draw()


def test_a_seed_in_a_loop():
    x = Variable(np.ones(3))
    for _ in range(3):
        with GradientTape() as tape:
            total = 0.0
            for k in range(3):
                np.random.seed(k)
                total = total + np.sum(x * np.random.normal(size=3))
        expected = sum(np.random.RandomState(k).normal(size=3) for k in range(3))
        assert np.allclose(tape.gradient(total, x), expected, rtol=1e-14)
