"""Functions of `math` that take several numbers: products, sums, distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.errors import TypeMismatch
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import Value, is_array, number
from tapec.frontend.iteration.sequences import items_of, known_items
from tapec.frontend.library.builtin_functions import sum_


def prod(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`math.prod(items, start=1)`."""
    start = kwargs.get("start", number(1))
    items = None if is_array(args[0]) else items_of(ev, ev.materialise(args[0]), node)
    if items is None:
        return ev.binary("*", start, ev.call_object(np.prod, args, {}, node), node)
    result = start
    for item in items:
        result = ev.binary("*", result, item, node)
    return result


def fsum(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`math.fsum(items)`, rounded as a sum is."""
    return ev.binary("*", number(1.0), sum_(ev, args, {}, node), node)


def hypot(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`math.hypot(...)` of any number of coordinates."""
    if len(args) == 2:
        return ev.call_object(np.hypot, args, {}, node)
    return _length(ev, args, node)


def _length(ev: Evaluator, coordinates: list[Value], node: Any) -> Value:
    result: Value = number(0.0)
    for coordinate in coordinates:
        result = ev.call_object(np.hypot, [result, coordinate], {}, node)
    return result


def dist(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`math.dist(p, q)`."""
    return _length(ev, [ev.binary("-", p, q, node) for p, q in _pairs(ev, args, node)], node)


def sumprod(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`math.sumprod(p, q)`."""
    result: Value = number(0)
    for p, q in _pairs(ev, args, node):
        result = ev.binary("+", result, ev.binary("*", p, q, node), node)
    return result


def _pairs(ev: Evaluator, args: Args, node: Any) -> list[tuple[Value, Value]]:
    """The items of two sequences, one beside the other."""
    first, second = (known_items(ev, arg, node) for arg in args)
    if len(first) != len(second):
        ev.fail(TypeMismatch, f"{len(first)} numbers and {len(second)} numbers make no pairs", node)
    return list(zip(first, second, strict=True))


SPECIAL: dict[Any, Any] = {
    math.prod: prod,
    math.fsum: fsum,
    math.dist: dist,
    math.hypot: hypot,
    **({math.sumprod: sumprod} if hasattr(math, "sumprod") else {}),
}
