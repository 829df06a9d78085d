"""Truth, `and` and `or`, and values that depend on a condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from tapec.errors import TypeMismatch
from tapec.frontend.evaluator.class_methods import special_method
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import DeadCode
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import (
    Complex,
    Dct,
    Func,
    Instance,
    Lst,
    Maybe,
    MaybeNone,
    Poison,
    Static,
    Sym,
    Template,
    Tup,
    Unseen,
    Value,
    describe,
    is_array,
    is_complex_array,
    number,
)
from tapec.frontend.operations import complex_arithmetic, elementwise, runtime_text
from tapec.syntax.core import Assign, Const, Op
from tapec.syntax.types import BOOL, FLOAT64, Array, Scalar


def truth(ev: Evaluator, value: Value, node: Any = None) -> Sym:
    """Whether a value counts as true: a literal if that is known."""
    value = ev.present(value) if isinstance(value, Unseen) else value
    if isinstance(value, Static | Instance):
        for method in ("__bool__", "__len__"):
            own = ev.operator(method, [value], node)
            if own is not None:
                return truth(ev, own, node)
    if isinstance(value, Static):
        for name in ("__bool__", "__len__"):
            if (asked := special_method(ev, value.obj, name)) is not None:
                return truth(ev, ev.call_object(asked, [value], {}, node), node)
    match value:
        case MaybeNone(value=inner, present=there):
            return ev.op("and", Sym(there, BOOL), truth(ev, inner, node))
        case Sym(type=Scalar(dtype="bool")):
            return value
        case Sym(type=Scalar()):
            return ev.op("!=", value, number(0))
        case Sym(type=Array(ndim=0)):
            return truth(ev, ev.scalar(value), node)
        case Complex() if not value.is_array:
            return complex_arithmetic.truth(ev, value)
        case Tup(items=items):
            return number(bool(items))
        case Static(obj=Template() as text):
            return runtime_text.asked(ev, text, bool, "b1", node)
        case Static(obj=obj):
            return number(bool(obj))
        case Lst():
            return ev.op("!=", ev.length(value, node), number(0))
        case Dct(keys=keys):
            return ev.op("!=", ev.length(keys, node), number(0))
        case Func() | Instance():
            return number(True)
    ev.fail(TypeMismatch, f"the truth of {describe(value)} is ambiguous", node, hint="use .any() or .all()")


def boolop(ev: Evaluator, node: gast.BoolOp) -> Value:
    conjunction = isinstance(node.op, gast.And)

    def chain(position: int) -> Value:
        value = ev.expr(node.values[position])
        if position + 1 == len(node.values):
            return value
        return junction(ev, conjunction, value, lambda: chain(position + 1), node)

    return chain(0)


# safe to evaluate early: no error, no memory access, next to no cost
_HARMLESS = frozenset({"<", "<=", ">", ">=", "==", "!=", "and", "or", "not", "+", "-", "neg", "dim"})


def junction(ev: Evaluator, conjunction: bool, left: Value, right: Callable[[], Value], node: Any) -> Value:
    """`left and right` or `left or right`; the right side is evaluated only where Python would."""
    test = ev.decided(truth(ev, left, node))
    if isinstance(test.atom, Const):
        return right() if bool(test.atom.value) == conjunction else left
    outer, entry = ev.block, ev.snapshot()
    block: list[Any] = []
    value: Value | None
    ev.block = block
    try:
        value = right()
    except DeadCode:
        value = None  # it raises: where it is evaluated, nothing follows
    simple = ev.block is block and all(
        isinstance(s, Assign) and (not isinstance(s.value, Op) or s.value.fn in _HARMLESS) for s in block
    )
    if simple and isinstance(value, Sym) and value.type == BOOL and test is left:
        outer.extend(block)
        ev.block = outer
        return ev.op("and" if conjunction else "or", test, value)
    ev.block = outer
    ev.restore(entry)
    if conjunction:
        return select(ev, test, right, lambda: left, node)
    return select(ev, test, lambda: left, right, node)


def ifexp(ev: Evaluator, node: gast.IfExp) -> Value:
    test = ev.decided(truth(ev, ev.expr(node.test), node.test))
    if isinstance(test.atom, Const):
        return ev.expr(node.body if test.atom.value else node.orelse)
    return select(ev, test, lambda: ev.expr(node.body), lambda: ev.expr(node.orelse), node)


def select(
    ev: Evaluator, test: Sym, body: Callable[[], Value], orelse: Callable[[], Value], node: Any
) -> Value:
    """One of two values, each computed only if it is chosen."""
    if isinstance(test.atom, Const):
        return ev.materialise((body if test.atom.value else orelse)())
    slot = ev.fresh("$value")
    key = f"$select_{slot}"

    def side(make: Callable[[], Value]) -> Callable[[], None]:
        def run() -> None:
            try:
                ev.frame.env[key] = ev.materialise(make())
            except DeadCode:
                ev.dead = True

        return run

    ev.branch(test, side(body), side(orelse), None)
    if ev.dead:
        raise DeadCode
    value = ev.frame.env.pop(key)
    if isinstance(value, Poison | Maybe):
        reason = value.reason if isinstance(value, Poison) else ""
        ev.fail(TypeMismatch, "the two values of this expression have different types", node, reason=reason)
    return value


def where(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    if len(args) != 3:
        return ev.inert("np.where", [ev.materialise(arg) for arg in args], kwargs, node)
    test, first, second = args
    if not any(is_array(arg) or is_complex_array(arg) for arg in args):
        known = ev.decided(ev.truth(test))
        match first, second:
            case Sym(type=Scalar() as one), Sym(type=Scalar() as two) if ev.live is not None and _meet(one, two):
                # both are connected with the result, as those of arrays are
                type_ = one if one.is_float else two
                operands = (ev.cast(side, type_).atom for side in (first, second))
                return ev.assign(Op("ifelse", (known.atom, *operands)), type_)
        chosen = select(ev, known, lambda: first, lambda: second, node)
        if ev.live is None or not isinstance(chosen, Sym | Complex):
            return chosen
        # a number of its own, not one of the two
        own: Value = complex_arithmetic.each(ev, chosen, lambda part: _own(ev, part))
        return own
    return elementwise.elementwise(ev, "ifelse", (test, first, second), node)


def _meet(one: Scalar, two: Scalar) -> bool:
    """Whether one of two types of numbers, of which a float is one, takes the numbers of the other as they are."""
    if one.is_float and two.is_float:
        return one == two
    return FLOAT64 in (one, two)


def _own(ev: Evaluator, part: Sym) -> Sym:
    return ev.assign(Op("pos", (part.atom,)), part.type) if part.type.is_float else part


HANDLERS: dict[type, Any] = {gast.BoolOp: boolop, gast.IfExp: ifexp}
