"""`global`, `nonlocal`, `import`, and what else a tape alone takes: the hint says so."""

from __future__ import annotations

import enum
from collections import deque

import numpy as np
import pytest

import tapec
from tapec.errors import TapecError, UnsupportedSyntax
from tests.oracles import check
from tests.typed import interpreted

SCALE = 2.0


class Parity(enum.IntEnum):
    EVEN = 0
    ODD = 1


def read(x):
    global SCALE
    return np.sum(x) * SCALE


def read_inside(x):
    scale = 3.0

    def scaled(v):
        nonlocal scale
        global SCALE
        return v * scale * SCALE

    return np.sum(scaled(x))


def set_inside(x):
    def scaled(v):
        global SCALE

        def change():
            global SCALE
            SCALE = 3.0

        change()
        return v * SCALE

    return np.sum(scaled(x))


@pytest.mark.parametrize(("function", "slope"), [(read, 2.0), (read_inside, 6.0)])
def test_what_is_read_alone_is_an_outer_variable(function, slope):
    x = np.ones(2)
    with interpreted():
        assert tapec.grad(function)(x).tolist() == [slope] * 2
        assert tapec.function(function)(x) == function(x)


def test_what_a_function_inside_sets_is_refused():
    with interpreted(), pytest.raises(UnsupportedSyntax, match="global"):
        tapec.grad(set_inside)(np.ones(2))


def imported(x):
    import math as m
    from math import cos

    return m.sin(x) * cos(x)


def test_modules_that_are_loaded_are_imported():
    with interpreted():
        assert tapec.grad(imported)(0.5) == pytest.approx(np.cos(1.0))


def nonlocal_sum(x):
    total = 0.0

    def add(v):
        nonlocal total
        total += v

    add(x)
    add(x * x)
    return total


def caught(x):
    try:
        return x * x
    except ValueError:
        return x


def yielded(x):
    def powers():
        yield x
        yield x * x

    return sum(powers())


def keyed(x):
    made = {}
    for k in range(int(x)):
        made[k] = x * k
    return sum(made.values())


def queued(x):
    queue, total = deque([x, x * x]), 0.0
    while queue:
        total += queue.popleft()
    return total


def by_member(x):
    total = 0.0
    for k in range(3):
        total += x if Parity(k % 2) is Parity.EVEN else x * x
    return total


@pytest.mark.parametrize("function, slope", [(nonlocal_sum, 7.0), (caught, 6.0), (yielded, 7.0)])
def test_tapes_and_gradients_take_the_same(function, slope):
    x = tapec.Variable(3.0)
    with interpreted():
        assert tapec.grad(function)(3.0) == slope
        with tapec.GradientTape() as tape:
            y = function(x)
        assert tape.gradient(y, x) == slope


def one_by_one(x):
    def powers():
        yield x
        yield x * x

    items = powers()
    return next(items) + next(items)


@pytest.mark.parametrize("function, slope", [(one_by_one, 7.0), (keyed, 3.0), (queued, 7.0), (by_member, 8.0)])
def test_the_hint_of_a_tape_works(function, slope):
    x = tapec.Variable(3.0)
    with interpreted():
        with pytest.raises(TapecError) as refusal:
            tapec.grad(function)(3.0)
        assert "take the gradient by a tape" in refusal.value.hint
        with tapec.GradientTape() as tape:
            y = function(x)
        assert tape.gradient(y, x) == slope


def known_members(x):
    return x * Parity(1) + (x * x if Parity(Parity.ODD) is Parity(1) else x)


def test_members_of_known_values_are_known():
    with interpreted():
        assert tapec.grad(known_members)(3.0) == 7.0


def added(x):
    total = 0.0

    def add(v):
        nonlocal total
        total += v * v

    for i in range(len(x)):
        add(x[i])
    return total


def of_branches(x):
    count, best = 0, x[0]

    def see(v):
        nonlocal count, best
        if v > best:
            best = v
            count += 1
        return count

    total = 0.0
    for v in x * x:
        total += v * see(v)
    return total * best + count


def of_arrays(x):
    state = 1.0 * x

    def step(k):
        nonlocal state
        state = np.sin(state) * x[k]

    for k in range(3):
        step(k)
    return np.sum(state)


def of_two_functions(x):
    a = 1.0

    def outer():
        b = 2.0

        def inner(v):
            nonlocal a, b
            a = a * v
            b = b + a

        for v in x:
            inner(v)
        return b

    return outer() * a


def of_a_parameter(x, k=2.0):
    def scaled(v):
        nonlocal k
        k = k * v
        return k

    return scaled(x[0]) + scaled(x[1]) * k


def of_a_generator(x):
    total = 0.0

    def running():
        nonlocal total
        for v in x:
            total += v
            yield total * v

    product = 0.0
    for w in running():
        product += w * total
    return product


SHARED = [added, of_branches, of_arrays, of_two_functions, of_a_parameter, of_a_generator]


@pytest.mark.parametrize("function", SHARED, ids=lambda f: f.__name__)
def test_variables_that_functions_inside_set(function):
    x = np.array([0.7, 1.3, 2.1, 0.4])
    check(function, (x,), compiled="")
