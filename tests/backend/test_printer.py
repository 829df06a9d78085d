"""Core to text: parentheses where Python needs them, and no others."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.backend.printer import expression
from tapec.syntax.core import Const, Name, Op

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
