"""Which operations may have infinite partial derivatives, and how a zero is kept beside one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tapec
from tapec.rules import RULES, Rule, scipy_rules
from tapec.rules.formula import SCIPY, show
from tapec.syntax.core import Const, Expr, Name, Op
from tapec.syntax.types import Scalar
from tapec.transforms.strong_zeros import may_be_infinite, zero_kept
from tests.rules.evaluation import NAMESPACE, adjoints, primal

POINTS = (0.0, 1.0, -1.0, 2.0, 0.5)
APART = ("cast", "tapec_runtime", "strong")
ROWS = [rule for rule in RULES.values() if not rule.inert and not rule.fn.startswith(APART)]
# SciPy's with poles where one operand is a literal
ROWS += [scipy_rules()[f"{SCIPY}.{name}"] for name in ("rel_entr", "betaln", "xlogy", "boxcox", "powm1")]


def infinite_at(rule: Rule, numbers: tuple[float, ...]) -> set[str]:
    """The operands by which the partial derivative at a point is no number, though the operation itself is one."""
    values = dict(zip(rule.params, numbers, strict=True))
    try:
        value, found = primal(rule, values), adjoints(rule, values, 0.0)
    except (TypeError, ValueError):
        return set()  # integers are asked for, or other numbers
    if not np.isfinite(value):
        return set()
    return {name for name, adjoint in zip(rule.params, found, strict=True) if adjoint is not None and adjoint != 0.0}


def test_nothing_else_is_infinite_at_numbers():
    """Of names and of literals: an adjoint of zero times a partial derivative is then zero by itself."""
    poles = 0
    for rule in ROWS:
        for numbers in itertools.product(POINTS, repeat=len(rule.params)):
            for active in infinite_at(rule, numbers):
                poles += 1
                for literal in itertools.product((False, True), repeat=len(numbers)):
                    args: list[Expr] = [
                        Const(number) if is_literal and name != active else Name(name)
                        for name, number, is_literal in zip(rule.params, numbers, literal, strict=True)
                    ]
                    assert may_be_infinite(rule.fn, tuple(args)), (rule.heading, numbers, args)
    assert poles > 50


@pytest.mark.parametrize(
    ("fn", "second", "expected"),
    [
        *(("/", Const(2.0), False), ("/", Const(0.0), True), ("/", Name("y"), True), ("*", Name("y"), False)),
        *(("**", Const(2), False), ("**", Const(1.0), False), ("**", Const(0.5), True), ("**", Const(-1), True)),
        *(("np.arctan2", Const(1.0), False), (f"{SCIPY}.rel_entr", Const(2.0), True)),
    ],
)
def test_literals_that_keep_a_derivative_finite(fn: str, second: Expr, expected: bool):
    assert may_be_infinite(fn, (Name("x"), second)) is expected


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("again", [False, True])
def test_a_product_is_zero_where_its_factor_is(kind: str, again: bool):
    product = Op("*", (Name("t"), Op("/", (Name("one"), Name("x")))))
    expr = zero_kept(product, "t", (Scalar(kind), Scalar(kind)), again)
    number = np.dtype(kind).type

    def value(t: float, x: float) -> float:
        with np.errstate(all="ignore"):
            return eval(show(expr), NAMESPACE, {"t": number(t), "x": number(x), "one": number(1.0)})

    assert value(0.0, 0.0) == 0.0 and value(3.0, 0.0) == np.inf and value(3.0, 2.0) == 1.5
    assert np.isnan(value(np.nan, 1.0))
    assert (expr.fn == "strong") is again  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["rel_entr", "kl_div", "betaln", "boxcox"])
def test_adjoints_and_tangents_of_zero_stay_zero_beside_a_literal(name: str):
    special = pytest.importorskip("scipy.special")
    f = getattr(special, name)
    held = lambda x: f(x, 0.5)  # noqa: E731
    assert tapec.vjp(held, 0.0)[1](0.0) == (0.0,)
    assert tapec.jvp(held, (0.0,), (0.0,))[1] == 0.0
