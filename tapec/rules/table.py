"""Rows, tables and the joining of tables.

    rule("arctan2(x, z)", "(z*dx - x*dz) / (x*x + z*z)", also="math.atan2")

A row's heading names the function and its parameters; `also` lists the other names that the same
mathematics goes by.  A row without a formula has no derivative, and its note says why.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tapec.errors import NotDifferentiable, Span, UsageError
from tapec.rules.formula import SCIPY, SIGNS, check_linear, contribution, function_key, parse, simplify, tangent_name
from tapec.syntax.core import Expr
from tapec.syntax.custom_rule import Opaque


@dataclass(frozen=True, slots=True)
class Rule:
    """The derivative of one elementwise operation, `y = fn(*params)`.

    fn             the operation: an operator sign or a dotted function name
    params         its parameters; the last `optional` of them may be left out
    tangent        `dy`, in the parameters, `y` and the d-names; None if there is no derivative
    contributions  per parameter what `y_bar` adds to its adjoint; None for nothing
    inert          no parameter has a derivative
    note           conventions at edges, or why there is no derivative
    source         where the formula comes from, if it is not elementary
    heading, text  the row as written, for documents
    refused        parameters that the result does depend on, but without a derivative that is known; the note says why
    """

    fn: str
    params: tuple[str, ...]
    tangent: Expr | None
    contributions: tuple[Expr | None, ...]
    inert: bool
    note: str
    source: str
    heading: str
    text: str
    optional: int = 0
    refused: tuple[str, ...] = ()


Row = tuple[Rule, ...]
Table = Mapping[str, Rule]


def rule(
    heading: str,
    formula: str = "",
    *,
    also: str = "",
    note: str = "",
    source: str = "",
    optional: int = 0,
    refused: str = "",
) -> Row:
    """One row of a table: the same mathematics for one or several operations.

    heading   "f(x, z)", "x / z" or "x if c else z"; a bare name is a builtin or NumPy's
    formula   `dy`, linear in `dx` and `dz`; "" if there is no derivative, and then a note is due
    also      other operations with the same parameters, separated by blanks
    note      conventions at edges, or why there is no derivative
    optional  how many of the last parameters may be left out
    refused   parameters by which no derivative is known, separated by blanks; the note says why
    raises    UsageError for a formula that is not evidently linear
    """
    fn, params = read_heading(heading)
    if not formula and not note:
        raise UsageError(f"`{heading}` has no derivative and does not say why")
    tangent = _linear(formula, params) if formula else None
    contributions = tuple(None if tangent is None else contribution(tangent, param, params) for param in params)
    return tuple(
        Rule(
            key,
            params,
            tangent,
            contributions,
            tangent is None,
            note,
            source,
            heading,
            formula,
            optional,
            tuple(refused.split()),
        )
        for key in (fn, *also.split())
    )


def _linear(formula: str, params: tuple[str, ...]) -> Expr:
    parsed = simplify(parse(formula, params))
    check_linear(parsed, map(tangent_name, params))
    return parsed


def read_heading(heading: str) -> tuple[str, tuple[str, ...]]:
    """The operation and the parameters that a row's heading names."""
    node = ast.parse(heading, mode="eval").body
    operands: list[ast.expr]
    match node:
        case ast.Call(func=func, args=operands):
            fn = function_key(ast.unparse(func))
        case ast.BinOp(left=left, op=op, right=right):
            fn, operands = SIGNS[type(op)], [left, right]
        case ast.UnaryOp(op=op, operand=operand):
            fn, operands = SIGNS[type(op)], [operand]
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            fn, operands = SIGNS[type(op)], [left, right]
        case ast.BoolOp(op=op, values=operands):
            fn = SIGNS[type(op)]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            fn, operands = "ifelse", [test, body, orelse]
        case _:
            raise UsageError(f"`{heading}` is not an operation on parameters")
    params = tuple(operand.id for operand in operands if isinstance(operand, ast.Name))
    if len(set(params)) < len(operands) or "y" in params:
        raise UsageError(f"the parameters in `{heading}` must be different names, none of them `y`")
    return fn, params


def no_rule(fn: str, span: Span | None) -> NotDifferentiable:
    """What says that there is no derivative of an operation."""
    if isinstance(fn, Opaque):
        hint = "give it a derivative by tapec.custom_gradient, or pass it `tapec.stop_gradient(x)`"
        return NotDifferentiable(f"`{fn.shown}` is called as it is, and has no derivative", span, hint=hint)
    return NotDifferentiable(f"`{fn}` has no derivative rule", span)


def refused_argument(found: Rule, param: str, span: Span | None) -> NotDifferentiable:
    """What says that there is no derivative by a parameter."""
    name = found.fn.replace(SCIPY, "scipy.special")
    hint = "pass a constant, or `tapec.stop_gradient` of it"
    return NotDifferentiable(f"`{name}` has no derivative by its argument `{param}`", span, found.note, hint)


def table(*rows: Row) -> Table:
    """A frozen table; raises UsageError if an operation has two rows."""
    return _collect(one for row in rows for one in row)


def join(*tables: Table) -> Table:
    """One frozen table of several; raises UsageError if an operation is in two of them."""
    return _collect(one for part in tables for one in part.values())


def _collect(rules: Iterable[Rule]) -> Table:
    joined: dict[str, Rule] = {}
    for one in rules:
        if one.fn in joined:
            raise UsageError(f"`{one.fn}` has two rules: `{joined[one.fn].heading}` and `{one.heading}`")
        joined[one.fn] = one
    return MappingProxyType(joined)
