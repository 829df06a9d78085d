"""Errors of library functions that a tape's block catches: extents that do not fit, singular matrices."""

from __future__ import annotations

import numpy as np
import pytest

import tapec


def added(x):
    try:
        return np.sum(x + np.ones(3))
    except ValueError:
        return np.sum(x * x)


def multiplied(x):
    try:
        return np.sum(x @ np.ones((3, 2)))
    except ValueError:
        return np.sum(x @ np.ones((2, 3)))


def shaped(x):
    try:
        z = x.reshape(3, 1)
        return np.sum(z)
    except ValueError:
        return np.sum(x * x)


def stored(x):
    z = np.zeros(3)
    try:
        z[:] = x
    except ValueError:
        z[1] = x[1]
    return np.sum(z)


def stacked(x):
    try:
        return np.sum(np.stack([x, np.ones(3)]))
    except ValueError:
        return np.sum(x * x)


def unpacked(x):
    try:
        a, b, c = x
        return a * b * c
    except ValueError:
        return np.sum(x * x)


@pytest.mark.parametrize("f", [added, multiplied, shaped, stored, stacked, unpacked])
def test_extents_that_do_not_fit(f):
    # each size twice: programs are used again where the same raises, and nothing else
    for x in (np.arange(1.0, 3.0), np.arange(1.0, 4.0), 2.0 * np.arange(1.0, 3.0), 2.0 * np.arange(1.0, 4.0)):
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        step = 1e-6
        by = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(x.size)]
        assert np.allclose(tape.gradient(y, x), by, rtol=1e-7), (f, x)


def inverted(x):
    try:
        return np.sum(np.linalg.inv(x))
    except np.linalg.LinAlgError:
        return np.sum(x * x)


@pytest.mark.parametrize("matrices", [(np.eye(2), np.ones((2, 2))), (np.ones((2, 2)), np.eye(2))])
def test_a_matrix_that_is_singular_at_times(matrices):
    for x in (*matrices, *matrices):
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = inverted(x)
        # of the inverse, minus its transposed outer products of sums
        wanted = 2.0 * x if x[0, 1] else -np.ones((2, 2))
        assert np.allclose(tape.gradient(y, x), wanted)


def root(x):
    jitter = 1e-3
    while True:
        try:
            return np.linalg.cholesky(x + jitter * np.eye(2))
        except np.linalg.LinAlgError:
            jitter *= 10.0


@tapec.function
def compiled_slope(x):
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = np.sum(root(x))
    return tape.gradient(y, x)


@pytest.mark.slow
def test_growing_jitter():
    for shift, jitter in ((-0.5, 1.0), (0.5, 1e-3), (-0.005, 1e-2)):
        x = shift * np.eye(2)
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = np.sum(root(x))
        r = np.sqrt(shift + jitter)
        wanted = [[0.5 / r, 0.0], [1.0 / r, 0.5 / r]]
        assert np.allclose(tape.gradient(y, x), wanted)
        assert np.allclose(compiled_slope(x), wanted)


def test_a_statement_that_stores_before_it_raises():
    def both(z, x):
        z[0] = 5.0 * x[0]
        z[1:] = x

    x = np.ones(4)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        z = np.zeros(3)
        try:
            both(z, x)
        except ValueError:
            z[1] = x[1]
        y = np.sum(z)
    assert np.array_equal(tape.gradient(y, x), [5.0, 1.0, 0.0, 0.0])


def test_sums_in_a_loop_that_goes_on():
    x = np.eye(2)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = 0.0
        for k in range(3):
            try:
                y += np.sum(np.linalg.inv(x - k * np.eye(2)))
            except np.linalg.LinAlgError:
                y += np.sum(x)
                continue
    assert np.allclose(tape.gradient(y, x), -np.ones((2, 2)))


def test_an_error_that_is_not_caught():
    x = np.ones((2, 2))
    with tapec.GradientTape() as tape:
        tape.watch(x)
        try:
            y = np.sum(np.linalg.inv(x))
        except np.linalg.LinAlgError:
            y = np.sum(x)
    with pytest.raises(np.linalg.LinAlgError), tapec.GradientTape() as other:
        other.watch(x)
        try:
            np.linalg.inv(x)
        except KeyError:
            other.reset()
    assert np.array_equal(tape.gradient(y, x), np.ones((2, 2)))


class Machine:
    """Mutable state that a statement reaches first, which then raises."""

    def __init__(self):
        self.rate, self.table, self.steps, self.failed = 2.0, {"a": 1.5}, [0.5], 0
        self.weight = tapec.Variable(3.0)

    def __call__(self, x):
        try:
            y = np.linalg.cholesky(np.zeros((2, 2))) * self.weight * self.rate * self.table["a"] * self.steps[0]
        except np.linalg.LinAlgError:
            self.failed += 1
            y = x * self.weight * self.rate * self.table["a"] * self.steps[0]
        self.table["a"] += 1.0
        return np.sum(y)


def test_state_that_a_statement_reaches_before_it_raises():
    machine, x = Machine(), np.ones((2, 2))
    for count in range(3):
        scale = 2.0 * (1.5 + count) * 0.5
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = machine(x)
        by_x, by_weight = tape.gradient(y, [x, machine.weight])
        assert np.array_equal(by_x, np.full((2, 2), 3.0 * scale)) and by_weight == 4.0 * scale
        assert machine.failed == count + 1
