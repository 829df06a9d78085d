"""Formulas as numbers and as reference values, for the tests of the rules."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
from numba import njit

import tapec_runtime
from tapec.rules import RULES, Rule, rule_for
from tapec.rules.formula import RESULT, show, simplify, tangent_name
from tapec.syntax.core import Const, Expr, Name, Op, substitute

NAMESPACE = {
    "np": np,
    "math": math,
    "tapec_runtime": tapec_runtime,
    "cast": SimpleNamespace(float64=np.float64, float32=np.float32, int64=np.int64, bool=np.bool_),
    "stop_gradient": lambda x: x,
    # of equal operands
    "known": lambda x, z: z,
    "strong": njit(lambda x, z: x * z if x != 0.0 else x),
}


def evaluate(expr: Expr | None, **values) -> float:
    """A formula's value; numbers count as NumPy's, so that nothing raises."""
    with np.errstate(all="ignore"):
        typed = {name: np.float64(v) if isinstance(v, float) else v for name, v in values.items()}
        return eval(show(expr), NAMESPACE, typed)


def operation(rule: Rule) -> Op:
    """The operation itself, applied to its parameters."""
    return Op(rule.fn, tuple(Name(param) for param in rule.params))


def primal(rule: Rule, values: dict) -> float:
    return evaluate(operation(rule), **values)


def tangent(rule: Rule, values: dict, directions: dict) -> float:
    """`dy` by the row's formula; a parameter without direction does not vary."""
    named = {tangent_name(p): float(directions.get(p, 0.0)) for p in rule.params}
    return evaluate(rule.tangent, y=primal(rule, values), **values, **named)


def along(rule: Rule, values: dict, name: str) -> float:
    """`dy` in forward mode, along one parameter."""
    y = primal(rule, values)
    one = type(y)(1.0)
    named = {tangent_name(p): one if p == name else 0 * one for p in rule.params}
    return evaluate(rule.tangent, y=y, **values, **named)


def adjoints(rule: Rule, values: dict, y_bar: float = 1.0) -> list:
    """What `y_bar` adds to the adjoint of each parameter."""
    y = primal(rule, values)
    return [evaluate(part, y=y, y_bar=y_bar, **values) for part in rule.contributions]


def derivative(expr: Expr, tangents: dict[str, Expr]) -> Expr:
    """The tangent of an expression, by the chain rule and the rules of its operations."""
    if isinstance(expr, Name):
        return tangents.get(expr.id, Const(0.0))
    if isinstance(expr, Const):
        return Const(0.0)
    rule = rule_for(expr.fn)
    assert rule is not None, f"{expr.fn} is in no table"
    if rule.tangent is None:
        return Const(0.0)
    values: dict[str, Expr] = dict(zip(rule.params, expr.args, strict=True))
    values |= {tangent_name(p): derivative(arg, tangents) for p, arg in zip(rule.params, expr.args, strict=True)}
    values[RESULT] = expr
    return simplify(substitute(rule.tangent, values))


def second(rule: Rule, values: dict, directions: dict) -> float:
    """The second derivative along a direction: the row's formula, differentiated with the tables."""
    assert rule.tangent is not None
    along: dict[str, Expr] = {p: Name(tangent_name(p)) for p in directions}
    first = substitute(rule.tangent, {tangent_name(p): Const(0.0) for p in rule.params if p not in directions})
    twice = derivative(first, {**along, RESULT: first})
    named = {tangent_name(p): float(v) for p, v in directions.items()}
    return evaluate(twice, y=primal(rule, values), **values, **named)


def active_rows() -> list[Rule]:
    return [rule for rule in RULES.values() if not rule.inert]
