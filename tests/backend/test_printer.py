"""Core to text: parentheses where Python needs them, and no others."""

from __future__ import annotations

import itertools

import numba
import numpy as np
import pytest

import tapec
from tapec.backend.printer import expression
from tapec.syntax.core import Const, Name, Op
from tests.sampling import sampled

A, B, C = Name("a"), Name("b"), Name("c")


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (Op("*", (C, Op("stop_gradient", (Op("+", (A, B)),)))), "c * (a + b)"),
        (Op("stop_gradient", (Op("+", (A, B)),)), "a + b"),
        (Op("-", (A, Op("-", (B, C)))), "a - (b - c)"),
        (Op("**", (Op("neg", (A,)), Const(2))), "(-a) ** 2"),
    ],
)
def test_parentheses(expr, text):
    assert expression(expr) == text


def test_a_sum_that_is_stopped_is_a_factor_as_a_whole():
    def f(x, c):
        return c * tapec.stop_gradient(x + c)

    assert tapec.value_and_grad(f, wrt=1)(2.0, 3.0) == (15.0, 5.0)
    np.testing.assert_allclose(tapec.grad(f, wrt=0)(2.0, 3.0), 0.0)


@pytest.mark.parametrize(("ndim", "layout"), sampled([(0, "C"), *itertools.product((1, 2, 3), "CFA")], 3))
def test_empty_lists_have_the_elements_that_they_are_made_for(ndim, layout):
    """Numba takes a list for one of what stands in it first."""
    text = expression(Op("stack", (Const("float32"), Const(ndim), Const(layout))))
    namespace = {"np": np}
    exec(f"def made():\n    return {text}", namespace)
    made = numba.njit(namespace["made"])
    made.compile(())
    (kind,) = (overload.signature.return_type for overload in made.overloads.values())
    assert kind.dtype == numba.types.Array(numba.float32, ndim, layout)


def columns_in_turn(x, m):
    column = m[:, 0]
    for i in range(4):
        if column[1] > x:
            column = m[:, i]
        column[1] = 0.6 * column[2]
    return m[1, 0] * column[0] + m[1, 2]


@pytest.mark.slow
@pytest.mark.compiled
def test_columns_of_a_matrix_in_fortrans_order_are_kept_on_a_list():
    m = np.asfortranarray(np.random.default_rng(8).uniform(0.1, 1.0, (4, 4)))
    value, (x_bar, m_bar) = tapec.value_and_grad(columns_in_turn, (0, 1), opt_level=0)(0.3, m.copy(order="F"))
    assert value == columns_in_turn(0.3, m.copy(order="F"))
    assert x_bar == 0.0
    for place in np.ndindex(m.shape):
        moved = np.zeros_like(m)
        moved[place] = 1e-6
        difference = columns_in_turn(0.3, m + moved) - columns_in_turn(0.3, m - moved)
        assert m_bar[place] == pytest.approx(difference / 2e-6, abs=1e-8)
