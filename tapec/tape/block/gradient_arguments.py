"""Arguments and answer of a gradient that lowered code asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import LoweringError, UnsupportedType, UsageError
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import (
    NONE,
    Complex,
    Dct,
    Items,
    Lst,
    Maybe,
    MaybeNone,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_none,
    number,
)
from tapec.frontend.operations.complex_arithmetic import joined
from tapec.frontend.structures import dicts
from tapec.syntax.core import Const, Op
from tapec.syntax.types import BOOL, INT64, Array
from tapec.tape.derivatives.block_derivative import DerivedProgram
from tapec_runtime.variables import UnconnectedGradients


def numbers(ev: Evaluator, value: Value, out: list[Any], node: Any, none: bool = False) -> None:
    """Collect the numbers and arrays of a target; of output gradients (`none`) also what is None."""
    value = ev.materialise(value if none else ev.present(value))
    match value:
        case Sym() | Complex():
            out.append(value)
        case Tup(items=items):
            for item in items:
                numbers(ev, item, out, node, none)
        case Lst():
            contents = ev.heap[value]
            if not isinstance(contents, Items):
                ev.fail(LoweringError, "a target in a list whose length is not known", node)
            for item in contents.values:
                numbers(ev, item, out, node, none)
        case Dct():
            for key in dicts.keys_of(ev, value, node):
                numbers(ev, dicts.get(ev, value, key, node), out, node, none)
        case Maybe(value=inner):
            numbers(ev, inner, out, node, none)
        case Static(obj=None) if none:
            out.append(None)
        case _:
            ev.fail(UnsupportedType, f"{describe(value)} is not a target", node)


def sources(ev: Evaluator, value: Value, out: list[Sym | Complex], node: Any) -> Any:
    """Collect the sources; a function that rebuilds their structure from the gradients."""
    value = ev.present(value)
    match value:
        case Sym() | Complex():
            position = len(out)
            out.append(value)
            return lambda new: new[position]
        case Tup(items=items, cls=cls):
            parts = [sources(ev, item, out, node) for item in items]
            return lambda new: Tup(tuple(part(new) for part in parts), cls)
        case Lst():
            contents = ev.heap[value]
            if isinstance(contents, Items):
                parts = [sources(ev, item, out, node) for item in contents.values]
                return lambda new: ev.new_list(Items(tuple(part(new) for part in parts)))
        case Dct():
            keyed = {key: sources(ev, dicts.get(ev, value, key, node), out, node)
                     for key in dicts.keys_of(ev, value, node)}
            return lambda new: dicts.new_dict(ev, {key: part(new) for key, part in keyed.items()})
    ev.fail(LoweringError, f"{describe(value)} is not a source", node)


def zero_policy(ev: Evaluator, value: Value, node: Any) -> bool:
    """Whether unconnected sources give zeros."""
    if is_none(value):
        return False
    obj = value.obj if isinstance(value, Static) else None
    try:
        return UnconnectedGradients(obj) is UnconnectedGradients.ZERO
    except ValueError:
        ev.fail(UsageError, f"unconnected_gradients is {describe(value)}", node, hint='it is "none" or "zero"')


def seeds(
    ev: Evaluator, targets: list[Sym], weights: list[Sym | None], derivative: DerivedProgram, node: Any
) -> list[Sym]:
    """The weights of the targets: those given, or ones."""
    if not derivative.seeds:
        return []
    return [
        _ones(ev, target) if weight is None else _like(ev, weight, target, node)
        for target, weight in zip(targets, weights, strict=True)
    ]


def _like(ev: Evaluator, weight: Sym, target: Sym, node: Any) -> Sym:
    """A weight in its target's dtype."""
    if not isinstance(target.type, Array):
        return ev.cast(weight, target.type)
    if isinstance(weight.type, Array) and weight.type.dtype == target.type.dtype:
        return weight
    dtype = Static(np.dtype(target.type.dtype))
    return ev.sym(ev.materialise(ev.call_object(np.array, [weight, dtype], {}, node)))


def _ones(ev: Evaluator, target: Sym) -> Sym:
    if isinstance(target.type, Array):
        return ev.sym(ev.materialise(ev.call_object(np.ones_like, [target], {}, None)))
    return ev.cast(number(1.0), target.type)


def adjoint(
    ev: Evaluator,
    source: Sym,
    positions: tuple[int, ...] | None,
    adjoints: list[Value],
    zero: bool,
    target: Sym | None = None,
    batch: bool = False,
) -> Value:
    """One entry of the answer: the sum over a variable's versions.

    target  that of a Jacobian, whose shape stands before the source's
    """
    if positions is None:
        if not zero or not source.type.is_float:
            return NONE
        return _zeros(ev, source, target, batch)
    total = adjoints[positions[0]]
    for position in positions[1:]:
        total = ev.materialise(ev.binary("+", total, adjoints[position]))
    return total


def _zeros(ev: Evaluator, source: Sym, target: Sym | None, batch: bool) -> Value:
    shape: list[Value] = []
    for one in (target, source):
        if one is not None and isinstance(one.type, Array):
            own = [ev.assign(Op("dim", (one.atom, Const(axis))), INT64) for axis in range(one.type.ndim)]
            shape += own[1:] if batch and one is source else own
    if not shape:
        # a number of its own, not the literal
        return ev.assign(ev.cast(number(0.0), source.type).atom, source.type, "zero")
    dtype = Static(np.dtype(source.type.dtype))  # type: ignore[union-attr]
    made: Value = ev.materialise(ev.call_object(np.zeros, [Tup(tuple(shape)), dtype], {}, None))
    return made


def joined_adjoint(
    ev: Evaluator, source: Sym | Complex, found: list[Value], target: Sym | None, batch: bool
) -> Value:
    """The answer for a source, from those for its parts: None only if neither is connected."""
    if not isinstance(source, Complex) or all(is_none(part) for part in found):
        return found[0]
    flags = [part.present for part in found if isinstance(part, MaybeNone)]
    halves = []
    for part, own in zip(found, (source.re, source.im), strict=True):
        inner = part.value if isinstance(part, MaybeNone) else part
        halves.append(ev.sym(_zeros(ev, own, target, batch) if is_none(inner) else inner))
    re, im = halves
    whole = joined(ev, re, im) if isinstance(re.type, Array) else Complex(re, im)
    certain = any(isinstance(part, Sym) for part in found)
    if not flags or certain:
        return whole
    flag = flags[0]
    for other in flags[1:]:
        flag = ev.op("or", Sym(flag, BOOL), Sym(other, BOOL)).atom
    return MaybeNone(whole, flag)
