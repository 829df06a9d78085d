"""Calls of functions before they are compiled."""

from __future__ import annotations

import numpy as np
import pytest

from tapec import GradientTape, Variable, function


def made(jit=None):
    w, slots = Variable(np.ones(3)), {}

    @function(jit=jit)
    def step(x):
        with GradientTape() as tape:
            loss = np.sum((w * x) ** 2)
        slope = tape.gradient(loss, w)
        if "m" not in slots:
            slots["m"] = Variable(np.zeros(3))
        slots["m"].assign(0.9 * slots["m"] + 0.1 * slope)
        w.assign_sub(0.1 * slots["m"])
        return loss

    return step, w


@pytest.mark.compiled
@pytest.mark.slow
def test_a_call_that_makes_slots_is_not_compiled():
    step, w = made()
    x = np.array([1.0, 2.0, 3.0])
    first, second = step(x), step(x)
    # the structure is final at the second call
    assert [plan.first is None for plan in step._plans] == [True, False]
    compiled, v = made(jit=True)
    assert type(first) is float
    np.testing.assert_allclose([first, second], [compiled(x), compiled(x)])
    np.testing.assert_allclose(w.numpy(), v.numpy())
    assert all(plan.first is None for plan in compiled._plans)
