"""Gradients that only some ways connect, in compiled functions: None is None, never a zero in arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from tapec import GradientTape, Variable, function

pytestmark = pytest.mark.usefixtures("mostly_plainly")

NONE_AS_NUMBER = "what is None here is used as a number"


def slope(x, c, n=2):
    """None unless `c` is positive."""
    with GradientTape() as tape:
        tape.watch(x)
        y = 1.0
        if c > 0.0:
            y = x * x
        for _ in range(n):
            y = y + 0.0 * c
    return tape.gradient(y, x)


def slopes(x, c):
    """The same for arrays."""
    with GradientTape() as tape:
        tape.watch(x)
        y = 1.0
        if c > 0.0:
            y = np.sum(x * x)
        for _ in range(2):
            y = y + 0.0 * c
    return tape.gradient(y, x)


v = Variable(2.0)


@function
def arithmetic(x, c):
    return 1.0 - 0.1 * slope(x, c)


@function
def negated(x, c):
    return -slope(x, c)


@function
def compared(x, c):
    return 1.0 if slope(x, c) < 10.0 else 2.0


@function
def function_of(x, c):
    g = slope(x, c)
    return np.sin(g) + np.sum(g) + max(g, 1.0)


@function
def stored(x, c):
    made = np.zeros(2)
    made[0] = slope(x, c)
    return made


@function
def assigned(x, c):
    v.assign_sub(slope(x, c))
    return x


@function
def accumulated(x, c):
    total = 0.0
    for k in range(3):
        g = slope(x, c, k)
        total += g
    return total


@function
def summed(x, c):
    return sum([slope(x, c), slope(x, c)])


@function
def a_target(x, c):
    with GradientTape() as outer:
        outer.watch(x)
        g = slope(x, c)
    return outer.gradient(g, x)


@function
def in_an_outer_tape(x, c):
    with GradientTape() as outer:
        outer.watch(x)
        z = slope(x, c) * x
    return outer.gradient(z, x)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (arithmetic, 1.0 - 0.1 * 6.0),
        (negated, -6.0),
        (compared, 1.0),
        (function_of, np.sin(6.0) + 6.0 + 6.0),
        (stored, [6.0, 0.0]),
        (assigned, 3.0),
        (accumulated, 18.0),
        (summed, 12.0),
        (a_target, 2.0),
        (in_an_outer_tape, 12.0),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_arithmetic_with_none_raises(f, expected):
    np.testing.assert_allclose(f(3.0, 1.0), expected)
    with pytest.raises(TypeError, match=NONE_AS_NUMBER):
        f(3.0, -1.0)


@pytest.mark.slow
def test_arrays():
    @function
    def step(x, c):
        g = slopes(x, c)
        return x - 0.1 * g, g.shape[0]

    @function
    def element(x, c):
        return slopes(x, c)[0]

    @function
    def total(x, c):
        return slopes(x, c).sum()

    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(step(x, 1.0)[0], 0.8 * x)
    assert element(x, 1.0) == 2.0 and total(x, 1.0) == 6.0
    for f in (step, element, total):
        with pytest.raises(TypeError, match=NONE_AS_NUMBER):
            f(x, -1.0)


@pytest.mark.slow
def test_none_is_asked_for():
    @function
    def step(x, c):
        g = slope(x, c)
        return x if g is None else x - g

    @function
    def default(x, c):
        g = slope(x, c)
        if g is None:
            g = 0.5
        return x + g

    @function
    def truth(x, c):
        return 1.0 if slope(x, c) else 2.0

    @function
    def chosen(x, c):
        return [None if g is None else x - g for g in [slope(x, c), slope(x, -c)]]

    assert [step(3.0, 1.0), step(3.0, -1.0)] == [-3.0, 3.0]
    assert [default(3.0, 1.0), default(3.0, -1.0)] == [9.0, 3.5]
    assert [truth(3.0, 1.0), truth(3.0, -1.0)] == [1.0, 2.0]
    assert [chosen(3.0, 1.0), chosen(3.0, -1.0)] == [[-3.0, None], [None, -3.0]]


def test_where_ways_meet():
    """A branch or loop keeps which one is None."""

    @function
    def either(x, c, first):
        g, h = slope(x, c), x
        return g if first > 0.0 else h

    @function
    def replaced(x, c):
        g = slope(x, c)
        for k in range(3):
            if k == 1:
                g = slope(x + 1.0, -c, k)
        return g

    assert either(3.0, 1.0, 1.0) == 6.0 and either(3.0, -1.0, 1.0) is None
    assert either(3.0, -1.0, -1.0) == 3.0
    assert replaced(3.0, 1.0) is None and replaced(3.0, -1.0) == 8.0


@pytest.mark.slow
@pytest.mark.parametrize("iterations", range(4))
def test_buffers_that_a_loop_swaps(iterations):
    """Each buffer keeps what it depends on, whatever its name."""

    def slope(x, n):
        with GradientTape() as tape:
            tape.watch(x)
            a, b = x * 1.0, np.ones(2)
            for _ in range(n):
                a, b = b, a
            y = np.sum(a * 0.0)
        return tape.gradient(y, x)

    def refilled(x, n):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            a, b = x * 1.0, np.zeros(2)
            for i in range(n):
                for k in range(2):
                    b[k] = 0.0 * a[k] if i > 0 else 1.0
                a, b = b, a
            y, z = np.sum(a), np.sum(b[1:])
        return tape.gradient(y, x), tape.gradient(z, x)

    x = np.array([1.0, 2.0])
    assert (function(slope)(x, iterations) is None) == (slope(x, iterations) is None) == (iterations % 2 == 1)
    # an array that held what depends on x counts as connected, whatever was stored over it since
    expected = [(False, True), (True, False), (False, True), (False, False)][iterations]
    assert tuple(g is None for g in refilled(x, iterations)) == expected
    assert tuple(g is None for g in function(refilled)(x, iterations)) == expected
