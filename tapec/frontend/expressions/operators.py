"""Operators: `a + b`, `-x`, `not x`, `x @ y`; comparisons are in `comparisons.py`."""

from __future__ import annotations

import builtins
import types
from typing import Any

import gast
import numpy as np

from tapec.errors import TypeMismatch
from tapec.frontend.evaluator import numba_types
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import (
    Complex,
    Instance,
    Lazy,
    Lst,
    Record,
    Static,
    Sym,
    Template,
    Tup,
    Unseen,
    Value,
    describe,
    is_array,
    is_scalar,
    number,
    plain_number,
    static_int,
)
from tapec.frontend.iteration import collections_and_sets
from tapec.frontend.operations import division_by_zero, elementwise, integer_checks, python_errors, runtime_text
from tapec.frontend.operations.conditions import truth
from tapec.frontend.operations.repeated_factors import factor, is_product, known_factor
from tapec.frontend.structures import dicts, sparse_matrices
from tapec.rules import function_name

SIGNS: dict[type, str] = {
    gast.Add: "+",
    gast.Sub: "-",
    gast.Mult: "*",
    gast.Div: "/",
    gast.FloorDiv: "//",
    gast.Mod: "%",
    gast.Pow: "**",
    gast.LShift: "<<",
    gast.RShift: ">>",
    gast.BitAnd: "&",
    gast.BitOr: "|",
    gast.BitXor: "^",
    gast.Lt: "<",
    gast.LtE: "<=",
    gast.Gt: ">",
    gast.GtE: ">=",
    gast.Eq: "==",
    gast.NotEq: "!=",
    gast.USub: "neg",
    gast.UAdd: "pos",
    gast.Invert: "~",
    gast.Not: "not",
}


def binop(ev: Evaluator, node: gast.BinOp) -> Value:
    known = integer_checks.of_literals(node)
    if known is not None:
        return number(known)
    if isinstance(node.op, gast.Mult | gast.Div):
        left = before_calls(ev, factor(ev, node.left), node.right)
        right = known_factor(ev, node, factor(ev, node.right))
    else:
        left = before_calls(ev, ev.expr(node.left), node.right)
        right = ev.expr(node.right)
    return binary(ev, SIGNS.get(type(node.op), "@"), left, right, node)


def before_calls(ev: Evaluator, value: Value, following: Any) -> Value:
    """Write a lazy operand to memory if a call that follows might change what it reads."""
    if isinstance(value, Lazy) and any(
        isinstance(n, gast.Call) and not is_pure(ev, n.func) for n in gast.walk(following)
    ):
        return ev.materialise(value)
    return value


def is_pure(ev: Evaluator, func: Any) -> bool:
    """Whether a called name is that of a NumPy or math function, which writes nothing."""
    if ev.frame.library:
        return True
    path: list[str] = []
    while isinstance(func, gast.Attribute):
        path.insert(0, func.attr)
        func = func.value
    if not isinstance(func, gast.Name) or func.id in ev.frame.env:
        return False
    found = ev.frame.names(func.id)
    obj = found.obj if isinstance(found, Static) else getattr(builtins, func.id, None)
    for part in path:
        obj = getattr(obj, part, None)
    return function_name(obj) is not None or obj is np.roll


def _either_class(left: Value, right: Value) -> Value | None:
    """`float | int`; None of what are no classes."""
    if not isinstance(left, Static) or not isinstance(right, Static):
        return None
    classes = (left.obj, right.obj)
    if not any(isinstance(one, type | types.UnionType) for one in classes):
        return None
    return Static(left.obj | right.obj) if all(isinstance(one, _CLASSES) for one in classes) else None


# what `isinstance` may be asked for, joined by `|`
_CLASSES = (type, types.UnionType, type(None))


def binary(ev: Evaluator, fn: str, left: Value, right: Value, node: Any = None) -> Value:
    left, right = plain_number(left), plain_number(right)
    for side in (left, right):
        if isinstance(side, Unseen):
            return side
    left, right = ev.present(left), ev.present(right)
    if collections_and_sets.is_set(left) or collections_and_sets.is_set(right):
        return collections_and_sets.combined(ev, fn, left, right, node)
    if sparse_matrices.is_sparse(left) or sparse_matrices.is_sparse(right):
        return sparse_matrices.operator(ev, fn, left, right, node)
    if fn == "|" and (both := dicts.united(ev, left, right, node) or _either_class(left, right)) is not None:
        return both
    if isinstance(left, Tup | Lst) != isinstance(right, Tup | Lst) and _is_of_numpy(ev, left, right):
        left, right = (ev.as_array(one, node) if isinstance(one, Tup | Lst) else one for one in (left, right))
    if isinstance(left, Tup) and isinstance(right, Tup) and fn == "+":
        return Tup(left.items + right.items)
    if isinstance(left, Instance | Static) or isinstance(right, Instance | Static):
        own = ev.operator(fn, [left, right], node)
        if own is not None:
            return own
    repeated, count = (left, right) if isinstance(left, Tup | Lst) else (right, left)
    if fn == "*" and isinstance(repeated, Tup) and not is_array(count):
        times = static_int(count)
        if times is None:
            ev.fail(TypeMismatch, "a tuple can be repeated a constant number of times only", node)
        return Tup(repeated.items * times)
    if isinstance(left, Lst) or isinstance(right, Lst):
        return ev.list_arithmetic(fn, left, right, node)
    if isinstance(left, Static) and isinstance(right, Static) and isinstance(left.obj, str):
        if isinstance(right.obj, str) and Template in (type(left.obj), type(right.obj)) and fn == "+":
            return Static(runtime_text.joined((left.obj, right.obj)))
        if isinstance(right.obj, Template) and fn == "%":
            return Static(Template(left.obj))
        try:
            made = numba_types.OPERATORS[fn](left.obj, right.obj)
            return Static(Template(made) if isinstance(left.obj, Template) else made)
        except (TypeError, KeyError):
            ev.fail(TypeMismatch, f"cannot compute `{fn}` of {describe(left)} and {describe(right)}", node)
    if fn == "@":
        return ev.matmul(left, right, node)
    if isinstance(left, Static) or isinstance(right, Static):
        if isinstance(left, Static) and isinstance(left.obj, str) and fn == "%":
            return Static(runtime_text.percent(ev, left.obj, right.items if isinstance(right, Tup) else (right,)))
        if isinstance(left, Static) and isinstance(left.obj, str):
            return Static(Template(f"{left.obj}{{}}"))
        ev.fail(TypeMismatch, f"cannot compute `{fn}` of {describe(left)} and {describe(right)}", node)
    if fn == "**" and (known := integer_checks.power(ev, left, right, node)) is not None:
        return known
    python_errors.check_operator(ev, fn, (left, right))
    division_by_zero.check(ev, fn, left, right, node)
    made = elementwise.elementwise(ev, fn, (left, right), node)
    if fn == "**" and ev.trying:
        python_errors.check_result(ev, fn, made)
    return made


def _is_of_numpy(ev: Evaluator, left: Value, right: Value) -> bool:
    """Whether a list beside a number stands for an array: the number is NumPy's, or a variable."""
    other = right if isinstance(left, Tup | Lst) else left
    return ev.live is not None and isinstance(other, Sym) and ev.live.is_of_numpy(other)


def unaryop(ev: Evaluator, node: gast.UnaryOp) -> Value:
    value = factor(ev, node.operand) if is_product(node) else ev.expr(node.operand)
    fn = SIGNS[type(node.op)]
    if fn != "not":
        value = ev.present(value)
    if fn != "not" and isinstance(value, Record) and sparse_matrices.is_sparse(value):
        return sparse_matrices.unary(ev, fn, value, node)
    if fn != "not" and isinstance(value, Instance | Static):
        own = ev.operator({"~": "__invert__"}.get(fn, f"__{fn}__"), [value], node)
        if own is not None:
            return own
    if fn == "not":
        return ev.op("not", truth(ev, value, node))
    if fn == "pos" and (is_scalar(value) or isinstance(value, Complex)):
        return value
    return elementwise.elementwise(ev, fn, (value,), node)


HANDLERS: dict[type, Any] = {gast.BinOp: binop, gast.UnaryOp: unaryop}
