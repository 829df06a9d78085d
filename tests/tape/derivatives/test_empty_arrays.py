"""Arrays without elements are connected: what a NumPy function makes of them has zeros for derivatives, not None."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable

pytestmark = pytest.mark.usefixtures("mostly_plainly")

ROWS, NOBODY = np.ones((0, 3)), np.ones(0)

# functions of w (3,) that go through arrays without elements
THROUGH_NOTHING = {
    "sum of a product": lambda w: np.sum((ROWS @ w) ** 2),
    "method": lambda w: (ROWS @ w).sum(),
    "dot": lambda w: np.dot(NOBODY, w[3:]),
    "elementwise": lambda w: np.sum(np.exp(ROWS * w)),
    "slice": lambda w: np.sum(w[3:] * 2),
    "slice alone": lambda w: np.sum(w[:0]),
    "mask": lambda w: np.sum(w[w > 10.0] ** 2),
    "indices": lambda w: np.sum(w[np.zeros(0, dtype=np.int64)]),
    "list without items": lambda w: np.sum(w[[]] ** 2),
    "prod": lambda w: np.prod(w[3:]),
    "where": lambda w: np.sum(np.where(ROWS > 0, ROWS * w, w)),
    "concatenate": lambda w: np.sum(np.concatenate((w[:0], NOBODY))),
    "stack": lambda w: np.sum(np.stack((w[:0], w[3:]))),
    "reshape": lambda w: np.sum(np.reshape(w[:0], (0, 4))),
    "transpose": lambda w: np.sum((ROWS * w).T),
    "axis": lambda w: np.sum(np.sum(ROWS * w, axis=0)),
    "other axis": lambda w: np.sum(np.sum(ROWS * w, axis=1) ** 2),
    "cumsum": lambda w: np.sum(np.cumsum(w[3:])),
    "outer": lambda w: np.sum(np.outer(w, NOBODY)),
    "broadcast": lambda w: np.sum(np.broadcast_to(w, (0, 3)) ** 2),
    "clip": lambda w: np.sum(np.clip(ROWS * w, 0.0, 1.0)),
    "tile": lambda w: np.sum(np.tile(w[:0], 3)),
    "norm": lambda w: np.linalg.norm(w[3:]) ** 2 + 0.0,
    "einsum": lambda w: np.einsum("ij,j->", ROWS, w),
    "matrix product": lambda w: np.sum(np.ones((2, 0)) @ np.outer(w[:0], w)),
    "where, no number": lambda w: np.sum(np.where(ROWS > 0, w, 0.0)),
    "where, none chosen": lambda w: np.sum(np.where(w > 10.0, w, 0.0)),
    "where inside where": lambda w: np.sum(np.where(w < 10.0, np.where(w > 9.0, 1.0, 2.0), np.exp(w))),
    "where of numbers": lambda w: np.where(w[0] > 10.0, w[0] * w[1], 0.0),
    "where by a known test": lambda w: np.sum(np.where(False, w, 0.0)),
    "where of numbers by a known test": lambda w: np.where(False, w[0], 0.0) * 2.0 + np.where(True, 0, w[1]),
    "select by a known test": lambda w: np.sum(np.select([False], [w * w], 0.0)),
    "piecewise, none chosen": lambda w: np.sum(np.piecewise(w * 1.0, [w > 10.0], [lambda z: z * z, 0.0])),
    "sums of what is not chosen": lambda w: np.sum(np.cumsum(np.where(w > 10.0, w, 0.0))),
    "filled array": lambda w: np.sum(_filled(w)),
}
# a loop of the user's that does not run connects nothing, nor does a test
NOT_RUN = {
    "functions that are constants": lambda w: np.sum(np.piecewise(w * 1.0, [w > 10.0], [1.0, 0.0])),
    "statement": lambda w: _looped(w),
    "comprehension": lambda w: sum([np.sum(w) * one for one in NOBODY], 0.0),
    "generator": lambda w: sum((np.sum(row * w) for row in ROWS), 0.0),
}


def _filled(w):
    out = np.zeros((0, 3))
    out[:] = w * 2.0
    return out


def _looped(w):
    total = 0.0
    for row in ROWS:
        total = total + row @ w  # noqa: E701
    return total


def recorded(function, source):
    with GradientTape(persistent=True) as tape:
        tape.watch(source)
        y = function(source)
    return tape.gradient(y, source), tape.jacobian(y, source)


@pytest.mark.parametrize("name", THROUGH_NOTHING)
@pytest.mark.parametrize("kind", [np.array, Variable])
def test_a_gradient_through_nothing_is_zero(name, kind):
    for answer in recorded(THROUGH_NOTHING[name], kind([1.0, 2.0, 3.0])):
        assert answer is not None and answer.shape == (3,) and not answer.any()


@pytest.mark.parametrize("name", NOT_RUN)
def test_a_loop_that_does_not_run_connects_nothing(name):
    assert recorded(NOT_RUN[name], np.array([1.0, 2.0, 3.0])) == (None, None)


@pytest.mark.parametrize("iterations", range(3))
def test_a_loop_that_only_renames_is_no_function(iterations):
    def slope(x, n):
        with GradientTape() as tape:
            tape.watch(x)
            a, b = x * 1.0, np.ones(2)
            for _ in range(n):
                a, b = b, a
            y = np.sum(a * 0.0)
        return tape.gradient(y, x)

    x = np.array([1.0, 2.0])
    for function in (slope, tapec.function(slope)):
        assert (function(x, iterations) is None) == (iterations == 1)


@pytest.mark.slow
def test_in_a_compiled_function():
    @tapec.function
    def step(w, rows):
        with GradientTape(persistent=True) as tape:
            tape.watch(w)
            y = (rows @ w) ** 2
            loss = np.sum(y)
        return tape.gradient(loss, w), tape.jacobian(y, w)

    gradient, jacobian = step(np.ones(3), ROWS)
    assert gradient.shape == (3,) and not gradient.any()
    assert jacobian.shape == (0, 3)


@pytest.mark.slow
def test_jacobians_without_rows_or_columns():
    w, nothing = Variable([1.0, 2.0, 3.0]), Variable(np.ones(0))
    with GradientTape(persistent=True) as tape:
        y, z, none = (ROWS @ w) ** 2, nothing * np.sum(w), np.sum(nothing) * w
    assert tape.jacobian(y, w).shape == (0, 3)
    assert tape.jacobian(z, [w, nothing])[0].shape == (0, 3)
    assert tape.jacobian(z, nothing).shape == (0, 0)
    assert tape.jacobian(none, nothing).shape == (3, 0)
    assert tape.gradient(z, nothing).shape == (0,)
