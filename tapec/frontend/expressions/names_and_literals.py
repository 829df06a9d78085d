"""Names, literals, tuples, lists, subscripts and `lambda`."""

from __future__ import annotations

import builtins
import os
from typing import Any

import gast

from tapec.errors import TypeMismatch, UndefinedName, UnsupportedType
from tapec.frontend.arrays import indexing
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import DeadCode, Frame
from tapec.frontend.evaluator.unfinished_blocks import OpenIf
from tapec.frontend.evaluator.values import (
    NONE,
    Func,
    Items,
    Lst,
    Maybe,
    Poison,
    Slice,
    Static,
    Sym,
    Tup,
    Unseen,
    Value,
    is_none,
    number,
)
from tapec.frontend.expressions import declared_types
from tapec.frontend.operations import complex_arithmetic
from tapec.frontend.structures import dicts
from tapec.syntax.types import BOOL


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
            if frame is not ev.frame and frame not in ev.frames:
                ev.captured[frame, ident] = frame.env[ident]
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


LITERALS: dict[type, Any] = {
    **dicts.HANDLERS,
    gast.Constant: constant,
    gast.Name: name,
    gast.NamedExpr: namedexpr,
    gast.Tuple: tuple_,
    gast.List: list_,
    gast.Subscript: subscript,
    gast.Lambda: lambda_,
}
