"""Conventions: ties, zeros, infinities and nan."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tapec.rules import RULES
from tapec.rules.formula import fold, show
from tapec.syntax.core import Const, substitute

from .evaluation import adjoints, evaluate, primal

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("fn", "values", "expected"),
    [
        # a tie splits evenly, whichever function chooses
        *[(fn, (1.5, 1.5), (0.5, 0.5)) for fn in ("max", "min", "np.maximum", "np.minimum", "np.fmax", "np.fmin")],
        ("np.maximum", (0.0, -0.0), (0.5, 0.5)),
        ("np.maximum", (INF, INF), (0.5, 0.5)),
        ("max", (2.0, 1.0), (1, 0)),
        ("min", (2.0, 1.0), (0, 1)),
        # nan: the operand that the function returns
        ("np.maximum", (NAN, 1.0), (1, 0)),
        ("np.maximum", (1.0, NAN), (0, 1)),
        ("np.minimum", (NAN, 1.0), (1, 0)),
        ("np.minimum", (1.0, NAN), (0, 1)),
        ("np.fmax", (NAN, 1.0), (0, 1)),
        ("np.fmax", (1.0, NAN), (1, 0)),
        ("np.fmin", (NAN, 1.0), (0, 1)),
        ("np.fmin", (1.0, NAN), (1, 0)),
        ("max", (NAN, 1.0), (1, 0)),
        ("max", (1.0, NAN), (1, 0)),
        ("min", (NAN, 1.0), (1, 0)),
        ("min", (1.0, NAN), (1, 0)),
        # powers: the base at 0
        ("**", (0.0, 0.0), (0, 0)),
        ("**", (0.0, 1.0), (1, 0)),
        ("**", (0.0, 2.0), (0, 0)),
        ("**", (0.0, 0.5), (INF, 0)),
        ("**", (0.0, 0), (0, 0)),
        ("**", (0.0, 1), (1, 0)),
        ("**", (0.0, 2), (0, 0)),
        ("**", (2.0, 0.0), (0, math.log(2.0))),
        ("**", (INF, 0.0), (0, INF)),
        # a negative base: an integer exponent has a derivative, the exponent itself has none
        ("**", (-2.0, 3), (12, NAN)),
        ("**", (-2.0, 3.0), (12, NAN)),
        ("**", (-2.0, -1), (-0.25, NAN)),
        # roots and norms
        ("np.sqrt", (0.0,), (INF,)),
        ("np.cbrt", (0.0,), (INF,)),
        ("np.cbrt", (-8.0,), (1 / 12,)),
        ("np.hypot", (0.0, 0.0), (0, 0)),
        ("np.hypot", (1e200, 1e200), (math.sqrt(0.5), math.sqrt(0.5))),
        ("np.hypot", (-3.0, 0.0), (-1, 0)),
        ("np.arctan2", (0.0, -1.0), (-1, 0)),
        ("abs", (0.0,), (0,)),
        ("np.abs", (-0.0,), (0,)),
        ("np.abs", (-INF,), (-1,)),
        ("np.copysign", (-2.0, 3.0), (-1, 0)),
        ("np.copysign", (2.0, -0.0), (-1, 0)),
        # edges of domains
        ("np.log", (0.0,), (INF,)),
        ("np.arcsin", (1.0,), (INF,)),
        ("np.arccos", (1.0,), (-INF,)),
        ("np.arccosh", (1.0,), (INF,)),
        ("np.arctanh", (1.0,), (INF,)),
        ("np.log1p", (-1.0,), (INF,)),
        # infinities
        ("np.logaddexp", (-INF, -INF), (0.5, 0.5)),
        ("np.logaddexp", (-INF, 2.0), (0, 1)),
        ("np.logaddexp", (2.0, -INF), (1, 0)),
        ("np.logaddexp", (INF, 2.0), (1, 0)),
        ("np.logaddexp", (INF, INF), (0.5, 0.5)),
        ("np.logaddexp2", (-INF, -INF), (0.5, 0.5)),
        ("np.logaddexp2", (2.0, INF), (0, 1)),
        ("np.exp", (-INF,), (0,)),
        ("np.expm1", (-50.0,), (math.exp(-50.0),)),
        ("np.arctan", (INF,), (0,)),
        ("np.tanh", (INF,), (0,)),
        ("np.nan_to_num", (NAN,), (0,)),
        ("np.nan_to_num", (INF,), (0,)),
        ("np.sinc", (0.0,), (0,)),
        ("np.sinc", (1e-9,), (-math.pi**2 * 1e-9 / 3,)),
        # remainders: the quotient that the function has used
        ("%", (-7.0, 2.0), (1, 4)),
        ("%", (7.0, -2.0), (1, 4)),
        ("%", (6.0, 2.0), (1, -3)),
        ("%", (1.0, 0.1), (1, -9)),
        ("np.fmod", (-7.0, 2.0), (1, 3)),
        ("np.fmod", (1.0, 0.1), (1, -9)),
        ("np.fmod", (5.0, INF), (1, 0)),
    ],
)
def test_edge(fn, values, expected):
    rule = RULES[fn]
    found = adjoints(rule, dict(zip(rule.params, values, strict=True)))
    np.testing.assert_allclose(np.array(found, float), np.array(expected, float), rtol=1e-14)


@pytest.mark.parametrize(
    ("fn", "edge", "inside"),
    [
        ("np.sqrt", 0.0, 0.4),
        ("np.cbrt", 0.0, -0.4),
        ("np.arcsin", 1.0, 0.4),
        ("np.arcsin", -1.0, -0.4),
        ("np.arccos", 1.0, 0.4),
        ("np.arccosh", 1.0, 1.4),
    ],
)
def test_forward_mode_carries_a_tangent_of_zero_past_an_infinite_derivative(fn, edge, inside):
    rule = RULES[fn]
    at = {"x": edge, "y": primal(rule, {"x": edge})}
    assert evaluate(rule.forward, dx=0.0, **at) == 0
    assert math.isinf(evaluate(rule.forward, dx=1.0, **at))
    near = {"x": inside, "y": primal(rule, {"x": inside}), "dx": 0.3}
    assert evaluate(rule.forward, **near) == evaluate(rule.tangent, **near)


@pytest.mark.parametrize(
    ("exponent", "expected"),
    [
        (0, "0.0"),
        (1, "y_bar"),
        (2, "2 * x * y_bar"),
        (3, "3 * x ** 2 * y_bar"),
        (-1, "-(x ** -2 * y_bar)"),
        (0.5, "0.5 * x ** -0.5 * y_bar"),
    ],
)
def test_a_constant_exponent_leaves_a_plain_formula(exponent, expected):
    formula = RULES["**"].contributions[0]
    assert formula is not None
    assert show(fold(substitute(formula, {"z": Const(exponent)}))) == expected


def test_a_maximum_with_a_constant_leaves_a_plain_formula():
    first, _ = RULES["np.maximum"].contributions
    assert first is not None
    assert show(fold(substitute(first, {"x": Const(0.0)}))) == "y_bar if 0.0 > z else 0.5 * y_bar if 0.0 == z else 0.0"


def test_a_quantity_that_is_not_chosen_cannot_spoil_a_derivative():
    rule = RULES["ifelse"]
    assert adjoints(rule, {"c": True, "x": 1.0, "z": INF}, y_bar=INF)[1:] == [INF, 0.0]
