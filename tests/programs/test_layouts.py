"""Loops that carry matrices of one layout after another, from arrays of every layout, read-only ones too."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tapec
from tests.oracles import check
from tests.sampling import sampled

BEGIN = np.array([[1.5, 0.2], [0.3, 1.2]])
CONSTANT = BEGIN.copy()
CONSTANT.flags.writeable = False
STEPS = {
    "inverse": lambda x: np.linalg.inv(x),
    "pseudoinverse": lambda x: np.linalg.pinv(x),
    "solution": lambda x: np.linalg.solve(x, np.eye(2)),
    "factor": lambda x: np.linalg.cholesky(x @ x.T + np.eye(2)),
    "vectors": lambda x: np.linalg.eigh(x + x.T)[1] + x,
    "product": lambda x: x @ CONSTANT,
    "transpose": lambda x: x.T,
    "elements": lambda x: np.sin(x) + 0.5,
    "copy": lambda x: x.copy(),
    "slice": lambda x: x[::-1, ::-1],
    "constant": lambda x: x + CONSTANT if x[0, 0] > 0.0 else CONSTANT,
}


def readonly(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda x: np.repeat(np.repeat(x, 2, 0), 2, 1)[::2, ::2],
    "read-only": readonly,
}


def carried(first, second):
    def f(x):
        state = x
        for _ in range(2):
            state = first(state)
            state = 0.5 * second(state) if state[0, 0] > -9.0 else state
        return np.sum(state * state)

    return f


def held(first, second):
    def f(x):
        states = [x, x]
        for _ in range(2):
            states = [first(states[1]), second(states[0])]
        return np.sum(states[0] * states[1])

    return f


PROGRAMS = list(itertools.product((carried, held), STEPS, STEPS, LAYOUTS))


@pytest.mark.slow
@pytest.mark.generated
@pytest.mark.parametrize(("way", "first", "second", "layout"), sampled(PROGRAMS[::97], 5, default=2))
def test_derivatives(way, first: str, second: str, layout: str):
    f, x = way(STEPS[first], STEPS[second]), LAYOUTS[layout](BEGIN)
    check(f, (x,), differences=False)
    product = tapec.hvp(f)(x, np.ones_like(x))
    step = 1e-6
    slope = (tapec.grad(f)(x + step) - tapec.grad(f)(x - step)) / (2 * step)
    assert np.allclose(product, slope, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.generated
def test_lists_that_expressions_are_pushed_on():
    """An expression that stands in a push is laid out as its own name was."""
    begin = np.array([[2.0, 0.3], [0.3, 1.5]])

    def f(x):
        state = begin * x[0]
        for _ in range(3):
            state = np.linalg.eigh(state @ state.T + begin)[0] * state
        return np.sum(state)

    x, step = np.array([0.3]), 1e-5
    slope = (tapec.grad(f)(x + step) - tapec.grad(f)(x - step)) / (2 * step)
    assert tapec.hessian(f)(x)[0, 0] == pytest.approx(slope[0], rel=1e-5)
