"""Reading, proving, transposing, folding and showing formulas."""

from __future__ import annotations

import doctest
import itertools

import numpy as np
import pytest

from tapec.errors import UsageError
from tapec.rules import formula
from tapec.rules.formula import check_linear, contribution, parse, show, simplify
from tapec.syntax.core import Const, Name, Op

from .evaluation import evaluate

PARAMS = ("x", "z")


def contributions(text: str) -> list[str]:
    tangent = parse(text, PARAMS)
    check_linear(tangent, ("dx", "dz"))
    return [show(contribution(tangent, param, PARAMS)) for param in PARAMS]


def test_the_documented_examples_hold():
    assert doctest.testmod(formula).failed == 0


def test_names_become_operations():
    assert parse("sin(x) * dx", PARAMS) == Op("*", (Op("np.sin", (Name("x"),)), Name("dx")))
    assert parse("math.erf(x)", PARAMS) == parse("erf(x)", PARAMS) == Op("math.erf", (Name("x"),))
    assert parse("abs(x)", PARAMS) == Op("abs", (Name("x"),))
    assert parse("dx if not x < 1 else dz", PARAMS) == Op(
        "ifelse", (Op("not", (Op("<", (Name("x"), Const(1.0))),)), Name("dx"), Name("dz"))
    )


def test_literals_are_floats_except_where_an_integer_belongs():
    assert parse("2 * x", PARAMS) == Op("*", (Const(2.0), Name("x")))
    assert parse("x ** (z - 1)", PARAMS) == Op("**", (Name("x"), Op("-", (Name("z"), Const(1)))))
    assert parse("polygamma(z + 1, 2*x)", PARAMS).args[0] == Op("+", (Name("z"), Const(1)))


@pytest.mark.parametrize("text", ["dx * w", "dx < x < z", "x.real", "f(dx, k=1)", "[dx]", "'dx'", "1j * dx"])
def test_what_is_no_formula_is_refused(text):
    with pytest.raises(UsageError):
        parse(text, PARAMS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dx + dz", ["y_bar", "y_bar"]),
        ("dx - dz", ["y_bar", "-y_bar"]),
        ("z*dx + x*dz", ["z * y_bar", "x * y_bar"]),
        ("(dx - y*dz) / z", ["y_bar / z", "-(y * y_bar) / z"]),
        ("-(y*y)*dx", ["-(y * y * y_bar)", "0.0"]),
        ("dx if x > z else dz", ["y_bar if x > z else 0.0", "0.0 if x > z else y_bar"]),
        ("0.5*(dx + dz)", ["0.5 * y_bar", "0.5 * y_bar"]),
        ("ldexp(dx, z)", ["np.ldexp(y_bar, z)", "0.0"]),
    ],
)
def test_contributions_are_transposed_and_simplified(text, expected):
    assert contributions(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "dx * dz",
        "dx * dx",
        "sin(dx)",
        "x / dx",
        "dx ** 2",
        "dx + x",
        "x",
        "1 + dx",
        "dx if dx > 0 else dz",
        "dx if x > 0 else z",
        "abs(dx)",
        "ldexp(x, dx)",
        "maximum(dx, dz)",
        "dx % x",
    ],
)
def test_what_is_not_linear_is_refused(text):
    with pytest.raises(UsageError, match="not linear"):
        check_linear(parse(text, PARAMS), ("dx", "dz"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x*0 + 1*z - 0", "z"),
        ("-(-x)", "x"),
        ("x - -z", "x + z"),
        ("-x + z", "z - x"),
        ("-x * -z", "x * z"),
        ("0 - x", "-x"),
        ("x / 1 + 0/z", "x"),
        ("x * (2 - 3)", "-x"),
        ("x ** (3 - 2)", "x"),
        ("z ** 0 * x", "x"),
        ("x if 1 < 2 and True else z", "x"),
        ("x if z > 0 and False else z", "z"),
        ("x if not (x > z or True) else z", "z"),
        ("x if x > z else x", "x"),
        ("x if isnan(2) else z", "z"),
        ("1 / 0 * x", "1.0 / 0.0 * x"),
    ],
)
def test_folding(text, expected):
    assert show(simplify(parse(text, PARAMS))) == expected


def test_folding_neither_reorders_nor_reassociates():
    for text in ("x + (z + x)", "x * (z * x)", "x + z + x", "x * z / x", "(x + z) * 2.0"):
        assert simplify(parse(text, PARAMS)) == parse(text, PARAMS)


def test_true_is_not_one():
    assert simplify(Op("*", (Name("x"), Const(True)))) == Op("*", (Name("x"), Const(True)))


def test_folding_keeps_values_and_is_idempotent():
    rng = np.random.default_rng(3)
    operands = [Name("x"), Name("z"), Const(0.0), Const(1.0), Const(-1.0), Const(2.5)]
    signs = ["+", "-", "*", "ifelse", "neg"]

    def draw(depth: int):
        if depth == 0:
            return operands[rng.integers(len(operands))]
        fn = signs[rng.integers(len(signs))]
        if fn == "ifelse":
            return Op(fn, (Op("<", (draw(0), draw(0))), draw(depth - 1), draw(depth - 1)))
        return Op(fn, tuple(draw(depth - 1) for _ in range(1 if fn == "neg" else 2)))

    for _ in range(300):
        expr = draw(3)
        folded = simplify(expr)
        assert evaluate(folded, x=0.7, z=-1.3) == evaluate(expr, x=0.7, z=-1.3)
        assert simplify(folded) == folded


def test_shown_formulas_read_back_as_they_are():
    texts = [
        "-x ** 2 - (x - z) - (x if z > 0 else z)",
        "(-x) ** 2 * (x * z) / (x / z)",
        "x ** z ** 2",
        "(x ** z) ** 2",
        "(x if z > 0 else z) + x",
        "x if z > 0 and (x < 1 or not z == 2) else (z if x > 0 else x)",
        "(x < z) == (z < x)",
        "~x & z | x ^ z << x >> z",
        "--x % (z // x)",
    ]
    for text in texts:
        expr = parse(text, PARAMS)
        assert parse(show(expr), PARAMS) == expr, text


def test_negative_literals_are_shown_with_the_parentheses_they_need():
    minus = Const(-2)
    for fn, left, right in itertools.product(("+", "-", "*", "**"), (minus, Const(3)), (minus, Const(3))):
        assert eval(show(Op(fn, (left, right)))) == eval(f"({left.value}) {fn} ({right.value})")
