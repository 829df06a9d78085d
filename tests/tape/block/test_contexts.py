"""Contexts other than tapes inside a block, imports inside functions, and what only the run knows."""

from __future__ import annotations

import contextlib
import time

import numpy as np
import pytest

from tapec import GradientTape, Variable, constant, function
from tapec.errors import LoweringError

events: list[str] = []


@contextlib.contextmanager
def noted(factor):
    events.append("in")
    try:
        yield factor * 2.0
    finally:
        events.append("out")


@contextlib.contextmanager
def doubling(x):
    yield x * 2.0


@contextlib.contextmanager
def keeping(kind):
    try:
        yield
    except kind:
        pass


@contextlib.contextmanager
def timed(name):
    start = time.perf_counter()
    yield
    print(f"{name}: {time.perf_counter() - start:.3f}")


def test_a_generator_is_a_context():
    x = constant(2.0)
    events.clear()
    with GradientTape() as tape:
        tape.watch(x)
        with noted(x) as factor:
            y = x * factor
    assert tape.gradient(y, x) == 8.0
    assert events == ["in", "out"]


def test_its_body_may_be_left():
    def cube(x):
        for k in range(4):
            with doubling(x) as twice, doubling(x):
                if k == 2:
                    return x * x * twice
        return x

    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = cube(x)
        for k in range(3):
            with doubling(y) as z:
                if k == 1:
                    break
            y = y + 1.0
    assert tape.gradient(z, x) == 48.0


def test_it_may_keep_an_exception():
    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with keeping(KeyError):
            y = y * x
            raise KeyError
        with contextlib.suppress(ValueError), contextlib.nullcontext(3.0) as k:
            y = y * k
            raise ValueError
    assert tape.gradient(y, x) == 36.0


def test_it_may_be_defined_inside():
    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)

        @contextlib.contextmanager
        def times(k):
            yield x * k

        with times(5.0) as y:
            z = y * x
    assert tape.gradient(z, x) == 20.0


def test_in_a_compiled_function():
    @function
    def slope(x):
        with doubling(3.0) as factor, GradientTape() as tape:
            tape.watch(x)
            y = factor * x * x
        return tape.gradient(y, x)

    assert slope(2.0) == 24.0


def test_a_clock_is_not_in_the_way(capsys):
    w = Variable(3.0)
    started = time.time()
    with GradientTape() as tape, timed("block"):
        y = w * w
        seconds = time.time() - started
        print(seconds)
    assert tape.gradient(y, w) == 6.0
    assert "block: " in capsys.readouterr().out


def test_a_clock_in_the_value_is_refused():
    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        now = time.time()
        y = x * (now - 1.0)
    with pytest.raises(LoweringError, match="computed from what only the run knows\n") as refused:
        tape.gradient(y, x)
    assert refused.value.reason.startswith("`time` gives")
    assert refused.value.span.text.strip() == "tape.gradient(y, x)"


def test_imports():
    def sine(x):
        import math as m
        import os.path

        from numpy import linalg, sin

        assert os.path.sep
        return sin(x) * m.pi * linalg.norm(np.ones(1))

    x = constant(2.0)
    with GradientTape() as tape:
        from math import pi

        tape.watch(x)
        y = sine(x) / pi
    np.testing.assert_allclose(tape.gradient(y, x), np.cos(2.0))

    @function
    def slope(x):
        import math

        with GradientTape() as tape:
            tape.watch(x)
            y = sine(x) / math.pi
        return tape.gradient(y, x)

    np.testing.assert_allclose(slope(2.0), np.cos(2.0))


def test_a_generator_of_more_values_than_are_unrolled():
    def numbers(n):
        yield from range(n)

    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * sum(numbers(6000))
    with pytest.raises(LoweringError, match="unrolled beyond 5000 iterations"):
        tape.gradient(y, x)
