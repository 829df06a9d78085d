"""Expressions: names, literals, operators, containers, text."""

from __future__ import annotations

import builtins
import os
from typing import Any

import gast
import numpy as np

from tapec.errors import TapecError, TypeMismatch, UndefinedName, UnsupportedType
from tapec.frontend.arrays import indexing
from tapec.frontend.evaluator import numba_types
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import DeadCode, Frame
from tapec.frontend.evaluator.unfinished_blocks import OpenIf
from tapec.frontend.evaluator.values import (
    NONE,
    Complex,
    Func,
    Instance,
    Items,
    Lazy,
    Lst,
    Maybe,
    Poison,
    Slice,
    Static,
    Sym,
    Template,
    Tup,
    Unseen,
    Value,
    describe,
    is_array,
    is_none,
    is_scalar,
    known_text,
    number,
    plain_number,
    static_int,
)
from tapec.frontend.expressions import declared_types
from tapec.frontend.iteration import collections_and_sets
from tapec.frontend.operations import complex_arithmetic, division_by_zero, elementwise, integer_checks, runtime_text
from tapec.frontend.operations.conditions import truth
from tapec.frontend.structures import dicts
from tapec.rules import function_name
from tapec.syntax.types import BOOL

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


def constant(ev: Evaluator, node: gast.Constant) -> Value:
    value = node.value
    if isinstance(value, bool | int | float):
        if isinstance(value, int) and abs(value) >= 2**63:
            ev.fail(UnsupportedType, "an integer beyond 64 bits is not supported", node)
        return number(value)
    if isinstance(value, complex):
        return complex_arithmetic.literal(value)
    return Static(value)


def name(ev: Evaluator, node: gast.Name) -> Value:
    value = lookup(ev, node.id, node)
    if isinstance(value, Maybe):
        unset = ev.op("not", Sym(value.flag, BOOL))
        side: list[Any] = []
        outer, ev.block = ev.block, side
        _raise_unset(ev, node.id)
        ev.block = outer
        ev.emit(OpenIf(unset.atom, side, [], ev.span))
        ev.frame.env[node.id] = value.value
        return value.value
    if isinstance(value, Poison) and not isinstance(value, Unseen):
        ev.fail(TypeMismatch, f"`{node.id}` cannot be used here", node, reason=value.reason)
    if isinstance(value, Lst) and value not in ev.heap:
        reason = "a function that calls itself cannot use a list of the function around it"
        ev.fail(TypeMismatch, f"`{node.id}` cannot be used here", node, reason=reason, hint="fill an array instead")
    return value


def _raise_unset(ev: Evaluator, ident: str) -> None:
    """Raise what Python raises; the line's text tells where, as its number may have changed when cached code runs."""
    place = f": `{ev.span.text.strip()}` in {ev.span.function}, {os.path.basename(ev.span.file)}" if ev.span else ""
    ev.raise_("UnboundLocalError", f"variable '{ident}' is used before it is set{place}")


def lookup(ev: Evaluator, ident: str, node: Any) -> Value:
    frame: Frame | None = ev.frame
    while frame is not None:
        if ident in frame.env:
            return frame.env[ident]
        if ident in frame.local_names and frame is ev.frame:
            _raise_unset(ev, ident)
            raise DeadCode
        if frame.parent is None:
            found = frame.names(ident)
            if found is not None:
                return found
        frame = frame.parent
    if hasattr(builtins, ident):
        if ev.live is not None:
            ev.live.unshadowed(ev.frame.function, ident)
        return Static(getattr(builtins, ident))
    ev.fail(UndefinedName, f"name `{ident}` is not defined", node)


def binop(ev: Evaluator, node: gast.BinOp) -> Value:
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


def binary(ev: Evaluator, fn: str, left: Value, right: Value, node: Any = None) -> Value:
    left, right = plain_number(left), plain_number(right)
    for side in (left, right):
        if isinstance(side, Unseen):
            return side
    left, right = ev.present(left), ev.present(right)
    if collections_and_sets.is_set(left) or collections_and_sets.is_set(right):
        return collections_and_sets.combined(ev, fn, left, right, node)
    if fn == "|" and (both := dicts.united(ev, left, right, node)) is not None:
        return both
    if isinstance(left, Tup | Lst) != isinstance(right, Tup | Lst) and _is_of_numpy(ev, left, right):
        left, right = (ev.as_array(one, node) if isinstance(one, Tup | Lst) else one for one in (left, right))
    if isinstance(left, Tup) and isinstance(right, Tup) and fn == "+":
        return Tup(left.items + right.items)
    if ev.live is not None and (isinstance(left, Instance | Static) or isinstance(right, Instance | Static)):
        own = ev.live.operator(fn, [left, right], node)
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
    if fn == "**" and (known := integer_checks.power(left, right)) is not None:
        return known
    division_by_zero.check(ev, fn, left, right, node)
    return elementwise.elementwise(ev, fn, (left, right), node)


def _is_of_numpy(ev: Evaluator, left: Value, right: Value) -> bool:
    """Whether a list beside a number stands for an array: the number is NumPy's, or a variable."""
    other = right if isinstance(left, Tup | Lst) else left
    return ev.live is not None and isinstance(other, Sym) and ev.live.is_of_numpy(other)


def unaryop(ev: Evaluator, node: gast.UnaryOp) -> Value:
    value = ev.expr(node.operand)
    fn = SIGNS[type(node.op)]
    if fn != "not":
        value = ev.present(value)
    if fn != "not" and ev.live is not None and isinstance(value, Instance | Static):
        own = ev.live.operator({"~": "__invert__"}.get(fn, f"__{fn}__"), [value], node)
        if own is not None:
            return own
    if fn == "not":
        return ev.op("not", truth(ev, value, node))
    if fn == "pos" and (is_scalar(value) or isinstance(value, Complex)):
        return value
    return elementwise.elementwise(ev, fn, (value,), node)


def namedexpr(ev: Evaluator, node: gast.NamedExpr) -> Value:
    value = declared_types.variable(ev, ev.frame, node.target.id, ev.expr(node.value), node)
    value = ev.named(ev.materialise(value), node.target.id)
    ev.frame.env[node.target.id] = value
    return value


def tuple_(ev: Evaluator, node: gast.Tuple) -> Value:
    return Tup(tuple(_starred(ev, node.elts)))


def list_(ev: Evaluator, node: gast.List) -> Value:
    return ev.new_list(Items(tuple(_starred(ev, node.elts))))


def at_once(node: Any) -> Any:
    """A generator expression whose items are all taken where it stands, as a list; other nodes as they are."""
    if not isinstance(node, gast.GeneratorExp):
        return node
    return gast.copy_location(gast.ListComp(node.elt, node.generators), node)


def _starred(ev: Evaluator, elts: list[Any]) -> list[Value]:
    out: list[Value] = []
    for elt in elts:
        if isinstance(elt, gast.Starred):
            out += ev.known_items(ev.expr(at_once(elt.value)), elt)
        else:
            out.append(ev.materialise(ev.expr(elt)))
    return out


def subscript(ev: Evaluator, node: gast.Subscript) -> Value:
    owner = ev.expr(node.value)
    return indexing.load(ev, owner, index(ev, node.slice), node)


def index(ev: Evaluator, node: Any) -> Value:
    if isinstance(node, gast.Slice):
        return slice_(ev, node)
    if isinstance(node, gast.Tuple):
        return Tup(tuple(index(ev, elt) for elt in node.elts))
    return ev.expr(node)


def slice_(ev: Evaluator, node: gast.Slice) -> Slice:
    parts: list[Sym | None] = []
    for part in (node.lower, node.upper, node.step):
        value = NONE if part is None else ev.expr(part)
        parts.append(None if is_none(value) else ev.scalar(value, part))
    return Slice(*parts)


def lambda_(ev: Evaluator, node: gast.Lambda) -> Value:
    return closure(ev, node)


def closure(ev: Evaluator, node: Any) -> Func:
    # evaluated here, once: what they read may change before a call
    defaults = tuple(ev.materialise(ev.expr(d)) for d in node.args.defaults)
    kw_defaults = tuple(None if d is None else ev.materialise(ev.expr(d)) for d in node.args.kw_defaults)
    return Func(node, ev.frame, defaults, kw_defaults)


def joined_string(ev: Evaluator, node: Any) -> Value:
    """The text, if all of it is known; else a template, with what the run would fill in as it was written."""
    parts: list[str] = []
    for part in node.values:
        if isinstance(part, gast.Constant):
            parts.append(str(part.value))
            continue
        shown = _formatted(ev, part)
        if shown is not None:
            parts.append(shown)
            continue
        span = ev.where(part.value)
        inside = getattr(part.value, "id", None) or (span.text[span.column : span.end_column] if span else "...")
        parts.append(_of_run(ev, part, "{" + inside + "}"))
    return Static(runtime_text.joined(parts))


def _of_run(ev: Evaluator, part: Any, shown: str) -> str:
    """The text of a part of an f-string; `shown` stands for what only the run knows."""
    spec = "" if part.format_spec is None else known_text(joined_string(ev, part.format_spec))
    if spec is None:
        return Template(shown)
    if ev.live is not None:
        return runtime_text.of_value(ev, ev.expr(part.value), shown, spec, part.conversion)
    state, count = ev.snapshot(), len(ev.block)
    try:
        return runtime_text.of_value(ev, ev.expr(part.value), shown, spec, part.conversion)
    except TapecError:
        # it may be no more than a message
        ev.restore(state)
        del ev.block[count:]
        return Template(shown)


def _formatted(ev: Evaluator, part: Any) -> str | None:
    """The text of a part of an f-string, if it is known."""
    if ev.live is not None:
        value: Value | None = ev.expr(part.value)
    else:
        ident = getattr(part.value, "id", "")
        value = ev.frame.env.get(ident) or ev.frame.names(ident)
    obj = value.obj if isinstance(value, Static) else None
    if ev.live is not None and isinstance(value, Sym):
        obj = value.constant
    if not isinstance(obj, str | int) or isinstance(obj, Template):
        return None
    if part.conversion == -1 and not part.format_spec:
        return str(obj)
    spec = "" if part.format_spec is None else joined_string(ev, part.format_spec)
    text = spec.obj if isinstance(spec, Static) else spec
    if ev.live is None or not isinstance(text, str) or isinstance(text, Template):
        return None
    return format(repr(obj) if part.conversion == ord("r") else obj, text)


HANDLERS: dict[type, Any] = {
    **dicts.HANDLERS,
    gast.Constant: constant,
    gast.Name: name,
    gast.BinOp: binop,
    gast.UnaryOp: unaryop,
    gast.NamedExpr: namedexpr,
    gast.Tuple: tuple_,
    gast.List: list_,
    gast.Subscript: subscript,
    gast.Lambda: lambda_,
    gast.JoinedStr: joined_string,
}
