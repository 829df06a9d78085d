"""Arguments and answer of a gradient that lowered code asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import LoweringError
from tapec.frontend import dicts
from tapec.frontend.evaluator import Evaluator
from tapec.frontend.values import NONE, Dct, Items, Lst, Maybe, Static, Sym, Tup, Value, describe, is_none, number
from tapec.syntax.types import Array
from tapec.tape.derive import Derivative
from tapec_runtime.variables import UnconnectedGradients


def numbers(ev: Evaluator, value: Value, out: list[Sym], node: Any) -> None:
    """Collect the numbers and arrays of a target."""
    match value:
        case Sym():
            out.append(value)
        case Tup(items=items):
            for item in items:
                numbers(ev, item, out, node)
        case Lst():
            contents = ev.heap[value]
            if not isinstance(contents, Items):
                ev.fail(LoweringError, "a target in a list whose length is not known", node)
            for item in contents.values:
                numbers(ev, item, out, node)
        case Dct():
            for key in dicts.keys_of(ev, value, node):
                numbers(ev, dicts.get(ev, value, key, node), out, node)
        case Maybe(value=inner):
            numbers(ev, inner, out, node)
        case _:
            ev.fail(LoweringError, f"{describe(value)} is not a target", node)


def sources(ev: Evaluator, value: Value, out: list[Sym], node: Any) -> Any:
    """Collect the sources; a function that rebuilds their structure from the gradients."""
    match value:
        case Sym():
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
        ev.fail(LoweringError, f"unconnected_gradients is {describe(value)}", node)


def seeds(ev: Evaluator, given: Value, targets: list[Sym], derivative: Derivative, node: Any) -> list[Sym]:
    """The weights of the targets: those given, or ones."""
    if not derivative.seeds:
        return []
    if is_none(given):
        return [_ones(ev, target) for target in targets]
    found: list[Sym] = []
    numbers(ev, given, found, node)
    if len(found) != len(targets):
        ev.fail(LoweringError, f"{len(found)} output gradients for {len(targets)} targets", node)
    return [
        seed if isinstance(seed.type, Array) else ev.cast(seed, target.type)
        for seed, target in zip(found, targets, strict=True)
    ]


def _ones(ev: Evaluator, target: Sym) -> Sym:
    if isinstance(target.type, Array):
        return ev.sym(ev.materialise(ev.call_object(np.ones_like, [target], {}, None)))
    return ev.cast(number(1.0), target.type)


def adjoint(
    ev: Evaluator, source: Sym, positions: tuple[int, ...] | None, adjoints: list[Value], zero: bool
) -> Value:
    """One entry of the answer: the sum over a variable's versions."""
    if positions is None:
        if not zero or not source.type.is_float:
            return NONE
        if isinstance(source.type, Array):
            made: Value = ev.materialise(ev.call_object(np.zeros_like, [source], {}, None))
            return made
        return ev.cast(number(0.0), source.type)
    total = adjoints[positions[0]]
    for position in positions[1:]:
        total = ev.materialise(ev.binary("+", total, adjoints[position]))
    return total
