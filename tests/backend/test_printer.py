"""Core to text: parentheses where Python needs them, and no others."""

from __future__ import annotations

import itertools

import numba
import numpy as np
import pytest

import tapec
from tapec.backend.printer import expression, function, statements
from tapec.syntax.core import Break, Const, If, Name, Op
from tests.optimise.reading import read
from tests.sampling import sampled

A, B, C = Name("a"), Name("b"), Name("c")


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (Op("*", (C, Op("stop_gradient", (Op("+", (A, B)),)))), "c * (a + b)"),
        (Op("stop_gradient", (Op("+", (A, B)),)), "a + b"),
        (Op("-", (A, Op("-", (B, C)))), "a - (b - c)"),
        (Op("**", (Op("neg", (A,)), Const(2))), "(-a) ** 2"),
        # Python would compute the product of the literals, which is too large for Numba
        (Op("*", (Const(3 * 2**60), Const(-5))), "np.int64(3458764513820540928) * -5"),
    ],
)
def test_parentheses(expr, text):
    assert expression(expr) == text


@pytest.mark.compiled
def test_products_of_literals_wrap_around_as_in_numba():
    def product(x):
        return x * ((np.int64(3141592653589793235) * np.int64(-7046029254386353131)) >> 60)

    assert tapec.grad(product)(2.0) == numba.njit(product)(1.0)


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


def text_of(source: str) -> str:
    return function(read(source), quote=False)


def test_values_that_change_places_do_so_in_one_statement():
    assert "    a, b = b, a\n" in text_of("def f(a, b):\n    t = a\n    a = b\n    b = t\n    return a\n")
    text = text_of("def f(a, b, c):\n    t = a\n    a = b\n    b = c\n    c = t\n    return a\n")
    assert text.splitlines()[1] == "    a, b, c = b, c, a"


@pytest.mark.parametrize(
    "body",
    [
        "t = a\n    a = b\n    b = t\n    return t",  # it is read again
        "t = a\n    a = b\n    b = a\n    return b",
        "t = a\n    b = a\n    a = t\n    return b",
        "t = a\n    a = b\n    c = t\n    return c",
        "t = a\n    a = t\n    return a",
        "t = a\n    a = b\n    c = 2.0\n    b = t\n    return b",
    ],
)
def test_other_statements_stay(body: str):
    text = text_of(f"def f(a, b, c):\n    {body}\n")
    assert text.endswith(f"    {body}\n")


@pytest.mark.parametrize(
    ("test", "text"),
    [
        (Op("not", (Op("and", (Op("==", (A, B)), Op("==", (B, C)))),)), "a != b or b != c"),
        (Op("not", (Op("or", (Op("==", (A, B)), Op("!=", (B, C)))),)), "a != b and b == c"),
        (Op("not", (Op("and", (Op("<", (A, B)), Op("==", (B, C)))),)), "not (a < b and b == c)"),
        (Op("<", (A, B)), "a < b"),
    ],
)
def test_opposites_of_conditions(test: Op, text: str):
    assert statements((If(test, (Break(),), ()),), 0)[0] == f"if {text}:"
