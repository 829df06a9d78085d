"""Operands of fewer axes than their expression has, computed once and not once per row."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.optimise.reading import loops_over_elements
from tests.oracles import check, interpreted


def standardised(x):
    z = (x - x.sum(axis=0) / x.shape[0]) / np.sqrt((x * x).sum(axis=0) + 1.0)
    return (z * z * x).sum()


def summed_at_once(x, v):
    return (x * np.exp(v)).sum()


def written_into(x, v):
    y = np.empty_like(x)
    y[:] = np.tanh(v)
    return (x * y).sum()


def chosen(x, v):
    """Where nothing of a column is chosen, its root at zero has no say."""
    return np.where(x > 0.0, x * np.sqrt(v), 0.0).sum()


def in_a_loop(x, v):
    total = 0.0
    for i in range(3):
        total += (x * np.cos(v * i)).sum()
    return total


CASES = (
    (standardised, (), "np.sqrt(", 1),
    (summed_at_once, (np.linspace(0.1, 0.5, 3),), "np.exp(", 1),
    (written_into, (np.linspace(0.1, 0.5, 3),), "np.tanh(", 1),
    (chosen, (np.linspace(0.1, 0.5, 3),), "np.sqrt(", 3),  # in the choice of two loops
    (in_a_loop, (np.linspace(0.1, 0.5, 3),), "np.cos(", 3),
)


@pytest.mark.slow
@pytest.mark.parametrize(("function", "rest", "call", "loops"), CASES, ids=[case[0].__name__ for case in CASES])
def test_an_operand_is_computed_in_the_loops_that_it_has_axes_for(function, rest, call, loops):
    x = np.random.default_rng(1).normal(size=(4, 3))
    with interpreted():
        check(function, (x, *rest), wrt=tuple(range(1 + len(rest))))
    signature = "f8[:, ::1], f8[::1]" if rest else "f8[:, ::1]"
    with loops_over_elements():
        text = tapec.emit(function, 0, signature, math="libm", opt_level=1)
    # of the function for arrays of the same lengths
    text = text.split("@numba.njit")[1].split("# reverse sweep")[0]
    (line,) = [line for line in text.splitlines() if call in line and not line.strip().startswith("#")]
    assert len(line) - len(line.lstrip()) == 4 + 4 * loops


def test_what_is_not_chosen_spoils_nothing():
    x, v = np.array([[1.0, -1.0], [2.0, -2.0]]), np.array([4.0, 0.0])
    with interpreted():
        by_x, by_v = tapec.grad(chosen, wrt=(0, 1))(x, v)
    np.testing.assert_allclose(by_x, [[2.0, 0.0], [2.0, 0.0]])
    np.testing.assert_allclose(by_v, [0.75, 0.0])
