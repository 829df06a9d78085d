"""`tape.explain`: the statement that cuts a path, with file and line."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant


def told(tape, target, source):
    text = tape.explain(target, source)
    assert tape.gradient(target, source) is None
    assert text.startswith("not connected")
    return text


def test_connected():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    assert tape.explain(y, x).startswith("connected")


def test_not_watched():
    x, v = constant(2.0), Variable(1.0, trainable=False)
    with GradientTape(persistent=True) as tape:
        y = x * v
    text = told(tape, y, x)
    assert "not watched" in text and "y = x * v" in text and __file__ in text
    assert "not watched" in told(tape, y, v)


def test_made_outside():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    z = y * 2.0
    assert "before the tape's block, or after it" in told(tape, z, x)
    assert "does not use the source" in told(tape, y, constant(2.0))


def test_integers():
    x, n = constant(2.0), 3
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        k = int(x)
        y = k * 1.5
        z = x * n
    assert "y = " not in told(tape, y, x) and "k = int(x)" in told(tape, y, x)
    assert "int64" in told(tape, k, x)
    assert "int64" in told(tape, z, n)


def test_stopped():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tapec.stop_gradient(x * x)
        with tape.stop_recording():
            z = x * 3.0
        u = z * 2.0
    assert "stop_gradient(x * x)" in told(tape, y, x)
    assert "stopped" in told(tape, u, x)


def test_before_the_watch():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        y = x * 5.0
        tape.watch(x)
        z = x * y
    assert "before the source was watched" in told(tape, y, x) and "y = x * 5.0" in told(tape, y, x)
    assert tape.explain(z, x).startswith("connected")


def test_a_comparison():
    x = np.array([1.0, 3.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = np.sum((x > 2.0) * 1.0)
    assert "comparison" in told(tape, y, x)


def test_without_a_record():
    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError):
        tape.explain(y, x)
