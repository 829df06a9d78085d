"""Python's built-in functions, and the iterators of NumPy that stand beside `range`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import TypeMismatch, UnsupportedFunction, UnsupportedSyntax
from tapec.frontend.arrays.array_creation import as_array
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs, extents
from tapec.frontend.evaluator.unfinished_blocks import OpenIf
from tapec.frontend.evaluator.values import (
    NONE,
    Complex,
    Dct,
    Func,
    Instance,
    Items,
    Iteration,
    Lazy,
    Lst,
    Method,
    Partial,
    Record,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_array,
    is_scalar,
    number,
    with_keys,
)
from tapec.frontend.expressions import attributes, operators
from tapec.frontend.expressions.comprehensions import listed
from tapec.frontend.iteration import iterables
from tapec.frontend.iteration.iterables import refuse_items
from tapec.frontend.iteration.iterators import once, sources
from tapec.frontend.iteration.sequences import items_of, known_items, ordered
from tapec.frontend.library.list_methods import copied, list_from_array, new_list
from tapec.frontend.operations import elementwise
from tapec.frontend.operations.allocation import rank_of
from tapec.frontend.statements.simple_statements import print_
from tapec.frontend.structures import named_tuples


def len_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return iterables.len_(ev, args[0], node)


def callable_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`callable(obj)`."""
    obj = args[0]
    known = callable(obj.obj) if isinstance(obj, Static) else isinstance(obj, Func | Method | Partial)
    return number(known)


def range_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any, parallel: bool = False) -> Value:
    bounds = [ev.scalar(arg, node) for arg in args]
    if len(bounds) == 1:
        bounds = [number(0), *bounds]
    if len(bounds) == 2:
        bounds = [*bounds, number(1)]
    return Iteration("range", tuple(bounds), parallel)


def prange(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return range_(ev, args, kwargs, node, parallel=True)


def enumerate_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    start = kwargs.get("start", args[1] if len(args) > 1 else number(0))
    return once(ev, "enumerate", *sources(ev, args[:1], node), start)


def zip_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    parts = sources(ev, args, node)
    if "strict" in kwargs and ev.decided(ev.truth(kwargs["strict"], node), node).constant is not False:
        _same_lengths(ev, parts, node)
    return once(ev, "zip", *parts)


def _same_lengths(ev: Evaluator, parts: tuple[Iteration, ...], node: Any) -> None:
    """Raise ValueError, when the program runs, where sequences are not equally long."""
    lengths = [iterables.iteration_length(ev, part, node) for part in parts]
    for length in lengths[1:]:
        differs = ev.decided(ev.op("!=", lengths[0], length), node)
        if differs.constant is False:
            continue
        if differs.constant is True:
            ev.fail(TypeMismatch, "the arguments of a strict `zip` have different lengths", node)
        side: list[Any] = []
        outer, ev.block = ev.block, side
        ev.raise_("ValueError", "zip() arguments have different lengths")
        ev.block = outer
        ev.emit(OpenIf(differs.atom, side, [], ev.span))


def reversed_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    if isinstance(args[0], Iteration) and args[0].progress is not None:
        hint = "keep its items first: `reversed(tuple(...))`"
        ev.fail(UnsupportedSyntax, f"`reversed` needs a sequence, not {describe(args[0])}", node, hint=hint)
    (sequence,) = sources(ev, args[:1], node)
    # counted here: a list may grow before the items are taken
    return once(ev, "reversed", sequence, iterables.iteration_length(ev, sequence, node))


def ndindex(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    dims = args[0] if len(args) == 1 else Tup(tuple(args))
    return once(ev, "ndindex", *extents(ev, dims, node))


def ndenumerate(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    array = ev.sym(ev.materialise(args[0]))
    shape = attributes.get_attribute(ev, array, "shape", node)
    assert isinstance(shape, Tup)
    return once(ev, "ndindex", *shape.items, array)


def _collection(ev: Evaluator, value: Value, node: Any) -> Value:
    """What a built-in function that goes through all items works on: an array, a list or a tuple."""
    value = ev.materialise(iterables.iterable(ev, value, node))
    if isinstance(value, Lst) and isinstance(contents := ev.heap[value], Items):
        return Tup(contents.values)
    if isinstance(value, Instance | Record) or is_scalar(value) or (isinstance(value, Complex) and not value.is_array):
        refuse_items(ev, value, node)
    if not isinstance(value, Iteration | Dct | Static):
        return value
    items = items_of(ev, value, node) if isinstance(value, Iteration) else known_items(ev, value, node)
    return listed(ev, value, node) if items is None else Tup(items)


def min_max(fn: str) -> Any:
    def reduce(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
        if len(args) == 1:
            value = _collection(ev, args[0], node)
            if isinstance(value, Lst):
                value = as_array(ev, value, node)
            if not isinstance(value, Tup) and not kwargs:
                return ev.call_object(getattr(np, fn), [value], kwargs, node)
            args = list(known_items(ev, value, node))
            if not args and "default" in kwargs:
                return kwargs["default"]
        if ev.deciding or "key" in kwargs or not all(isinstance(arg, Sym | Lazy) for arg in args):
            # one of the values itself, the first of several that are equal
            key = {"key": kwargs.get("key", NONE), "reverse": number(fn == "max")}
            return ordered(ev, args, key, node)[0]
        result = args[0]
        for other in args[1:]:
            result = elementwise.elementwise(ev, fn, (result, other), node)
        return result

    return reduce


def sum_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    value = _collection(ev, args[0], node)
    start = kwargs.get("start", args[1] if len(args) > 1 else number(0))
    if isinstance(value, Lst):
        value = as_array(ev, value, node)
    if isinstance(value, Tup):
        total = start
        for item in value.items:
            total = operators.binary(ev, "+", total, item, node)
        return total
    # of rows, which are added up as they are
    along: dict[str, Value] = {"axis": number(0)} if getattr(getattr(value, "type", None), "ndim", 1) > 1 else {}
    return operators.binary(ev, "+", ev.call_object(np.sum, [value], along, node), start, node)


def tuple_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    if not args:
        return Tup(())
    return Tup(known_items(ev, ev.materialise(args[0]), node))


def new_tuple(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`tuple.__new__(cls, items)`, by which `_make` of a class of named tuples makes one."""
    cls: Any = args[0].obj if args and isinstance(args[0], Static) else None
    if not isinstance(cls, type) or not hasattr(cls, "_fields"):
        ev.fail(UnsupportedFunction, "cannot differentiate `tuple.__new__` of a class other than named tuples", node)
    made = tuple_(ev, args[1:], kwargs, node)
    named_tuples.check(ev, cls, node)
    assert isinstance(made, Tup)
    return Tup(made.items, cls)


def list_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    if not args:
        return new_list(ev, Items(()))
    value = with_keys(ev.materialise(args[0]))
    if isinstance(value, Tup):
        return new_list(ev, Items(value.items))
    if isinstance(value, Lst):
        return new_list(ev, copied(ev, ev.heap[value]))
    if is_array(value) and not ev.deciding:
        if rank_of(ev.sym(value)) != 1:
            what = f"a list of unknown length holds numbers, or tuples of those, not the rows of {describe(value)}"
            ev.fail(TypeMismatch, what, node, hint="take the rows by their numbers: `x[0]`, `x[1:]`")
        return new_list(ev, list_from_array(ev, value))
    items = items_of(ev, value, node)
    if items is not None:
        return new_list(ev, Items(items))
    if isinstance(value, Iteration):
        return listed(ev, value, node)
    refuse_items(ev, value, node)


def print_call(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    if kwargs:
        ev.fail(UnsupportedSyntax, "`print` takes no keyword arguments here", node, reason="Numba's has none")
    return print_(ev, [ev.materialise(arg) for arg in args], node)


def divmod_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return Tup(tuple(operators.binary(ev, fn, args[0], args[1], node) for fn in ("//", "%")))


def pow_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return operators.binary(ev, "**", args[0], args[1], node)
