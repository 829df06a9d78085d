"""Generators, iterators and exceptions in blocks and compiled functions: Python's order of events, and its objects."""

from __future__ import annotations

import collections
import contextlib
import copy
import functools
import itertools
import warnings

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant
from tapec.errors import TapecError
from tests.oracles import interpreted


@pytest.fixture(autouse=True)
def _interpreted():
    with interpreted():
        yield


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n + 1.0


class Rows:
    def __init__(self, scale):
        self.scale = scale

    def __iter__(self):
        for k in range(3):
            yield k, self.scale * k


class Held:
    def __init__(self, value):
        self.value = value


def sent(x):
    def running():
        total = 0.0
        while True:
            more = yield total
            total = total + more

    total = running()
    next(total)
    total.send(x * x)
    return total.send(x)


def in_step(kind, x):
    held = Held(x)

    def products():
        for k in range(3):
            yield held.value * (k + 1.0)

    rows = {
        "enumerate": lambda: enumerate(products(), 1),
        "zip": lambda: zip([1.0, 2.0, 3.0], products()),
        "map": lambda: map(lambda u: (2.0, u), filter(lambda u: u > 0.0, itertools.islice(products(), 2))),
        "expression": lambda: ((k, u) for k, u in enumerate(itertools.chain([1.0], products())) if u > 0.0),
    }[kind]()
    y = 0.0
    for k, u in rows:
        y = y + u * k
        held.value = held.value * u
    return y


def objects(x):
    y = 0.0
    for k in Countdown(3):
        y = y + x**k
    first, *rest = Countdown(3)
    down = Countdown(2)
    y = y * next(down) + next(down) * first + next(down, 5.0) * sum(rest)
    for number, (k, u) in enumerate(Rows(x)):
        y = y + u * k * number
    return y + sum(u for _, u in Rows(x))


def lists(x):
    xs = [x, x * x, x + 1.0]
    ys = xs + [xs[0] * xs[1]]
    ys[1:3] = [xs[2]]
    del ys[0]
    ys.extend(u * 2.0 for u in xs)
    head, *tail = copy.copy(ys)
    tail.append(head)
    return functools.reduce(lambda a, b: a * b + 1.0, map(lambda u: u * 0.5, filter(lambda u: u > 1.0, tail)))


def quiet(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x * x


def any_of_user(x):
    def total(items):
        return sum(items) * 2.0

    return total(u * x for u in (1.0, 2.0)) + collections.Counter([1])[1]


def caught(x):
    with contextlib.suppress(KeyError):
        x = x * 2.0
        {}["k"]
        x = x * 100.0
    notes = []
    try:
        try:
            raise KeyError("k")
        except LookupError as error:
            notes.append(str(error))
            if isinstance(error, KeyError) and type(error) is KeyError:
                x = x * 3.0
            raise
    except KeyError:
        x = x * 5.0
    return x * len(notes)


def returned(x):
    def parts():
        more = yield x
        if x > 0.5:
            return x * x if more is None else more
        return 5.0

    def nothing():
        return
        yield

    def whole():
        first = yield from parts()
        if (yield from nothing()) is None and (yield from [x]) is None:
            yield first * x

    begun = parts()
    y = next(begun)

    def rest():
        yield (yield from begun)

    asked = whole()
    next(asked)
    return y + sum(u * (k + 1.0) for k, u in enumerate(whole())) + sum(rest()) * x + asked.send(x * 3.0)


CASES = [
    sent, returned, objects, lists, quiet, any_of_user, caught,
    *(functools.partial(in_step, kind) for kind in ("enumerate", "zip", "map", "expression")),
]


def slope(function, x):
    return (function(x + 1e-6) - function(x - 1e-6)) / 2e-6


def gradient(function, x):
    with GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return y, tape.gradient(y, x)


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
def test_bodies_run_in_the_order_of_python(compiled):
    for function in CASES:
        run = tapec.function(lambda x, function=function: gradient(function, x))
        value, found = run(0.7) if compiled else gradient(function, constant(0.7))
        name = getattr(function, "__name__", "in_step"), getattr(function, "args", ())
        assert np.isclose(value, function(0.7)), name
        assert np.isclose(found, slope(function, 0.7), rtol=1e-6), name


def test_a_generator_that_is_an_only_argument_is_not_taken_for_any():
    def extended(x):
        ys = [x]
        ys.extend(u * 2.0 for u in [x, x])
        return sum(ys)

    assert tapec.value_and_grad(extended)(1.0) == (5.0, 5.0)
    with pytest.raises(TapecError, match="a generator expression"):
        tapec.grad(any_of_user)(1.0)


def test_two_tapes_on_one_stack():
    def both():
        v = Variable(3.0)
        with contextlib.ExitStack() as stack:
            first = stack.enter_context(GradientTape())
            second = stack.enter_context(GradientTape(persistent=True))
            y = v * v * v
        return first.gradient(y, v), second.gradient(y, v)

    assert both() == tapec.function(both)() == (27.0, 27.0)


def test_two_tapes_that_are_left_in_the_order_of_entering():
    x = constant(2.0)
    first, second = GradientTape(persistent=True), GradientTape(persistent=True)
    first.__enter__()
    first.watch(x)
    y = x * x
    second.__enter__()
    second.watch(x)
    z = y * x
    first.__exit__(None, None, None)
    w = z * x
    second.__exit__(None, None, None)
    pairs = [(z, x), (w, x), (z, y)]
    assert [tape.gradient(*p) for tape in (first, second) for p in pairs] == [12.0, None, 2.0, 4.0, 16.0, None]


def test_numbers_that_an_operation_hands_on_are_others():
    def where(x):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            a = x * x
            b = np.where(x > 1.0, a, x)
            y = b * a
        return tape.gradient(y, b), tape.gradient(y, x)

    def turned(x):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            a = x * x
            b, c = +a, a.astype(float)
            y = a * b * c
        return tape.gradient(y, b), tape.gradient(y, c), tape.gradient(y, x)

    for _ in range(3):
        assert where(constant(2.0)) == (4.0, 32.0)
    assert tapec.function(where)(2.0) == (4.0, 32.0)
    assert tapec.function(turned)(2.0) == (16.0, 16.0, 192.0)


def test_the_lesser_of_two_is_one_of_them():
    def lesser(x):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            a = x * x
            b = a * x
            y = min(a, b) * a
        return tape.gradient(y, min(a, b))

    assert lesser(constant(2.0)) == tapec.function(lesser)(2.0) == 8.0


@pytest.mark.slow
def test_views_are_sources():
    def views(x):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            m = np.reshape(x, (2, 2))
            t = np.transpose(m)
            y = np.sum(t[0] * t[0]) + np.sum(m[1])
        return [tape.gradient(y, one).ravel() for one in (x, m, t)]

    right = [[2.0, 0.0, 7.0, 1.0], [2.0, 0.0, 7.0, 1.0], [2.0, 6.0, 0.0, 0.0]]
    assert np.array_equal(views(np.array([1.0, 2.0, 3.0, 4.0])), right)
    assert np.array_equal(tapec.function(views)(np.array([1.0, 2.0, 3.0, 4.0])), right)


def test_text_of_the_run_is_not_returned():
    for function in (lambda x: f"{x}", lambda x: [x, f"at {x}"], lambda x: {"a": str(x)}):
        with pytest.raises(TapecError, match="text that only the run knows"):
            tapec.function(function)(2.0)


def test_a_block_that_goes_on_where_its_program_raises():
    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = np.clip(x, None, None)
    with pytest.raises(TapecError, match="went on where the program"):
        tape.gradient(y, x)


def test_an_iterator_from_outside_is_refused():
    items = iter([1.0, 2.0])
    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * next(items)
    with pytest.raises(TapecError, match="made before"):
        tape.gradient(y, x)
