"""`tape.explain` of gradients that are zero or not finite: the line where the numbers become so."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant

pytestmark = pytest.mark.generated

ZERO = "the gradient is zero"


def lines(text: str) -> list[str]:
    """The lines of the program that an explanation names."""
    return [part.split(": ", 1)[1] for part in text.split(" at ")[1:]]


def zero(tape, target, source):
    assert not np.any(tape.gradient(target, source))
    text = tape.explain(target, source)
    assert text.startswith("connected") and ZERO in text
    return text


def test_a_saturated_unit():
    x = constant(-2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        a = x * 3.0
        y = np.maximum(a, 0.0)
        z = y * 2.0
        product = x * 0.0 + y
    assert lines(zero(tape, z, x)) == ["y = np.maximum(a, 0.0)"]
    text = zero(tape, product, x)
    assert "y = np.maximum(a, 0.0)" in text and "product = x * 0.0 + y" in text
    assert ZERO not in tape.explain(a, x)


def test_terms_that_cancel():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        up = x * 3.0
        down = x * -3.0
        total = up + down
    text = zero(tape, total, x)
    assert "cancel" in text and "up = x * 3.0" in text and "down = x * -3.0" in text


def test_arrays_variables_loops_and_branches():
    x, v = np.array([-1.0, -2.0, -3.0]), Variable(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = np.zeros(3)
        for i in range(3):
            y[i] = x[i] * 2.0
        h = np.maximum(y * v, 0.0)
        if v > 1.0:
            q = h * 2.0
        else:
            q = h * 3.0
        s = np.sum(q)
    for source in (x, v):
        assert lines(zero(tape, s, source)) == ["h = np.maximum(y * v, 0.0)"]


def test_targets_that_are_arrays():
    x = np.array([-1.0, -2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = np.clip(x, 0.0, 1.0) * 2.0
    assert "np.clip(x, 0.0, 1.0)" in zero(tape, y, x)


def test_a_way_that_was_not_gone():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x if x > 3.0 else 1.0
    assert tape.gradient(y, x) is None
    assert "not on the way that the block went" in tape.explain(y, x) or "not connected" in tape.explain(y, x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_where_a_nan_is_born():
    x, v = constant(-2.0), np.array([1.0, 0.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        tape.watch(v)
        y = np.sqrt(x * 2.0)
        z = np.sum(np.sqrt(v) * 3.0)
    assert np.isnan(tape.gradient(y, x))
    text = tape.explain(y, x)
    assert "the gradient is not finite: nan comes out of" in text and "y = np.sqrt(x * 2.0)" in text
    assert np.isinf(tape.gradient(z, v)[1])
    text = tape.explain(z, v)
    assert "inf comes out of" in text and "np.sqrt(v)" in text


def test_tables_and_complex_sources():
    table, z = Variable(np.zeros((3, 2))), constant(1.0 + 2.0j)
    with GradientTape(persistent=True) as tape:
        tape.watch(z)
        y = np.sum(np.maximum(table[1] - 1.0, 0.0))
        u = z.real * 0.0
    assert "np.maximum(table[1] - 1.0, 0.0)" in zero(tape, y, table)
    assert "u = z.real * 0.0" in zero(tape, u, z)


def test_gradients_of_several_words_stay():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tapec.stop_gradient(x) * x
    assert tape.gradient(y, x) == 3.0 and ";" not in tape.explain(y, x).split("the derivative ran")[1]
