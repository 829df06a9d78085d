"""Sequences whose length is known: their items, and what lists and built-in functions do with them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tapec.errors import UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import (
    NONE,
    Dct,
    Items,
    Iteration,
    Lst,
    Stream,
    Sym,
    Tup,
    Value,
    is_array,
    is_none,
    known_text,
    number,
    static_int,
    with_keys,
)
from tapec.frontend.iteration.generators import collected
from tapec.frontend.iteration.iterables import iterable, refuse_items
from tapec.frontend.iteration.iterators import LEFT, count, each, ended, iter_, next_, once, sources, taken
from tapec.frontend.operations import conditions
from tapec.frontend.operations.broadcasting import value_rank
from tapec.frontend.structures import dicts, typed_containers
from tapec.frontend.structures.constant_containers import spelled


def items_of(ev: Evaluator, value: Value, node: Any) -> tuple[Value, ...] | None:
    """The items of something that can be looped over; None if their number is not known."""
    value = iterable(ev, value, node)
    value = with_keys(collected(ev, value))
    if isinstance(value, Tup):
        return value.items
    if isinstance(value, Lst):
        return spelled(ev, value)
    if isinstance(value, Dct):
        return tuple(ev.wrap(key) for key in dicts.ordered_keys(ev, value, node))
    if is_array(value):
        value = Iteration("items", (ev.materialise(value),))
    if isinstance(value, Iteration):
        if value.kind == "filter" or ended(ev, value):
            return tuple(each(ev, value, node))
        total = count(ev, replace(value, progress=None), node)
        if total is not None and total <= 10_000:
            return tuple(each(ev, value, node))
    return None


def unordered_items(ev: Evaluator, value: Value, node: Any) -> tuple[Value, ...]:
    """The items, in any order."""
    if isinstance(value, Dct):
        return tuple(ev.wrap(key) for key in dicts.keys_of(ev, value, node))
    return known_items(ev, value, node)


def known_items(ev: Evaluator, value: Value, node: Any) -> tuple[Value, ...]:
    """The items; an error if their number is not known."""
    found = items_of(ev, value, node)
    if found is None:
        refuse_items(ev, value, node)
    return found


def list_method(ev: Evaluator, owner: Lst, name: str, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    """Methods of a list of known length, beyond those that lists of numbers have too."""
    known = spelled(ev, owner)
    if known is None:
        return None
    values = list(known)
    result: Value = NONE
    match name:
        case "insert":
            item = typed_containers.item_of(ev, owner, ev.materialise(args[1]), node)
            values.insert(_place(ev, args[0], node), item)
        case "pop":
            place = _place(ev, args[0], node)
            if not -len(values) <= place < len(values):
                ev.fails(IndexError, f"index {place} is outside a list of {len(values)}", node)
            result = values.pop(place)
        case "reverse":
            values.reverse()
        case "sort":
            values = ordered(ev, values, kwargs, node)
        case "index" | "count" | "remove":
            same = [ev.decided(conditions.truth(ev, ev.compare("==", one, args[0], node))).constant for one in values]
            if None in same:
                return None
            if name == "count":
                return number(sum(same))
            if True not in same:
                ev.fails(ValueError, "the value is not in the list", node)
            if name == "index":
                return number(same.index(True))
            del values[same.index(True)]
        case _:
            return None
    ev.heap[owner] = Items(tuple(values))
    return result


def _place(ev: Evaluator, index: Value, node: Any) -> int:
    place = static_int(ev.decided(ev.scalar(index, node), node))
    if place is None:
        ev.fail(UnsupportedSyntax, "cannot change a list at a place that only the run knows", node)
    return place


def ordered(ev: Evaluator, values: list[Value], kwargs: Kwargs, node: Any) -> list[Value]:
    """`sorted(values)`, where comparisons are decided."""
    key, reverse = kwargs.get("key", NONE), kwargs.get("reverse", number(False))
    if not isinstance(reverse, Sym) or not isinstance(reverse.constant, bool):
        ev.fail(UnsupportedSyntax, "`reverse` is not known here", node)
    keys = values if is_none(key) else [ev.apply(key, [value], {}, node) for value in values]

    def order(first: int, second: int) -> int:
        if _less(ev, keys[first], keys[second], node):
            return -1
        return int(_less(ev, keys[second], keys[first], node))

    places = sorted(range(len(values)), key=functools.cmp_to_key(order), reverse=reverse.constant)
    return [values[place] for place in places]


def _less(ev: Evaluator, first: Value, second: Value, node: Any) -> bool:
    """Whether `first < second`, as Python compares sort keys."""
    if isinstance(first, Tup) and isinstance(second, Tup):
        for one, other in zip(first.items, second.items, strict=False):
            if _less(ev, one, other, node):
                return True
            if _less(ev, other, one, node):
                return False
        return len(first.items) < len(second.items)
    texts = known_text(first), known_text(second)
    if texts[0] is not None and texts[1] is not None:
        return texts[0] < texts[1]
    verdict = ev.decided(ev.truth(ev.compare("<", first, second, node)), node).constant
    if not isinstance(verdict, bool):
        message = "cannot put a list in an order that only the run knows"
        ev.fail(UnsupportedSyntax, message, node, hint="use np.sort of an array")
    return verdict


def sorted_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return ev.new_list(Items(tuple(ordered(ev, list(unordered_items(ev, args[0], node)), kwargs, node))))


def any_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return _combined(ev, args[0], False, node)


def all_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return _combined(ev, args[0], True, node)


def _combined(ev: Evaluator, value: Value, conjunction: bool, node: Any) -> Value:
    if is_array(value) and value_rank(value) == 1:
        return ev.call_object(np.all if conjunction else np.any, [value], {}, node)
    value = iterable(ev, value, node)
    if isinstance(value, Iteration):
        # what follows the item that decides is not asked for
        items = each(ev, taken(ev, value, node, LEFT), node)
        return _first(ev, items, conjunction, node)
    if isinstance(value, Stream):
        return _first(ev, value.items, conjunction, node)
    if isinstance(value, Lst) and items_of(ev, value, node) is None:
        return ev.call_object(_all_of if conjunction else _any_of, [value], {}, node)
    result: Value = number(conjunction)
    for item in unordered_items(ev, value, node):
        test = ev.truth(item, node)
        result = ev.op("and" if conjunction else "or", ev.sym(result), test)
    return result


def _first(ev: Evaluator, items: Iterator[Value], conjunction: bool, node: Any) -> Value:
    """Whether all items are true, or one of them is, each computed only if those before it do not tell."""
    item = next(items, None)
    if item is None:
        return number(conjunction)
    test = ev.decided(ev.truth(item, node), node)

    def others() -> Value:
        return _first(ev, items, conjunction, node)

    def decided() -> Value:
        return number(not conjunction)

    return ev.select(test, others if conjunction else decided, decided if conjunction else others, node)


def mapped(kind: str) -> Any:
    """`map` and `filter`."""

    def make(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
        return once(ev, kind, args[0], *sources(ev, args[1:], node))

    return make


def reduce(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`functools.reduce`; over an array or a list that grows it is a loop."""
    function, sequence, *initial = args
    items = items_of(ev, ev.materialise(sequence), node) if not is_array(sequence) else None
    if items is None:
        return ev.call_object(_folded if initial else _folded_from_first, args, {}, node)
    values = [*initial, *items]
    if not values:
        ev.fails(TypeError, "reduce() of an empty sequence with no initial value", node)
    result = values[0]
    for item in values[1:]:
        result = ev.apply(function, [result, item], {}, node)
    return result


def pairwise(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`itertools.pairwise(sequence)`."""
    (inner,) = sources(ev, args, node)
    if inner.kind not in ("items", "range"):
        # an item is part of two pairs, and must be made once
        inner = Iteration("items", (Tup(known_items(ev, inner, node)),))
    return once(ev, "pairwise", inner)


def chain(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`itertools.chain(...)`."""
    return once(ev, "chain", *sources(ev, args, node))


def chosen(name: str) -> Any:
    """A function of itertools that takes all items of known sequences and puts them together."""
    function = getattr(itertools, name)
    counted = name in ("combinations", "permutations")

    def select(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
        sequences = args[:1] if counted else args
        rest = [_place(ev, count, node) for count in args[1:]] if counted else []
        known = {key: _place(ev, value, node) for key, value in kwargs.items()}
        found = function(*(known_items(ev, one, node) for one in sequences), *rest, **known)
        return once(ev, "items", Tup(tuple(Tup(one) for one in found)))

    return select


def chained(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`itertools.chain.from_iterable(sequences)`."""
    return chain(ev, list(known_items(ev, args[0], node)), kwargs, node)


# lowered as if the user had written them


def _folded(function: Any, sequence: Any, total: Any) -> Any:
    for item in sequence:
        total = function(total, item)
    return total


def _all_of(sequence: Any) -> Any:
    for item in sequence:
        if not item:
            break
    else:
        return True
    return False


def _any_of(sequence: Any) -> Any:
    for item in sequence:
        if item:
            break
    else:
        return False
    return True


def _folded_from_first(function: Any, sequence: Any) -> Any:
    if len(sequence) == 0:
        raise TypeError("reduce() of an empty sequence with no initial value")
    total = sequence[0]
    for k in range(1, len(sequence)):
        total = function(total, sequence[k])
    return total


SPECIAL: dict[Any, Any] = {
    sorted: sorted_,
    any: any_,
    all: all_,
    map: mapped("map"),
    filter: mapped("filter"),
    functools.reduce: reduce,
    iter: iter_,
    next: next_,
    **{getattr(itertools, name): chosen(name) for name in ("combinations", "permutations", "product")},
    itertools.pairwise: pairwise,
    itertools.chain: chain,
    itertools.chain.from_iterable: chained,
}
