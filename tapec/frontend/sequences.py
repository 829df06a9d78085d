"""Sequences whose length is known: their items, and what lists and built-in functions do with them."""

from __future__ import annotations

import functools
import itertools
from typing import Any

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend import conditions, dicts
from tapec.frontend.arguments import Args, Kwargs
from tapec.frontend.evaluator import Evaluator, Raised
from tapec.frontend.iteration import iterable
from tapec.frontend.suspended import Generator, collected
from tapec.frontend.values import (
    NONE,
    Dct,
    Items,
    Iteration,
    Lst,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_array,
    is_none,
    number,
    static_int,
)


def items_of(ev: Evaluator, value: Value, node: Any) -> tuple[Value, ...] | None:
    """The items of something that can be looped over; None if their number is not known."""
    value = iterable(ev, value, node)
    if isinstance(value, Generator):
        value = collected(ev, value)
    if isinstance(value, Tup):
        return value.items
    if isinstance(value, Lst):
        contents = ev.heap[value]
        return contents.values if isinstance(contents, Items) else None
    if isinstance(value, Dct):
        return tuple(ev.wrap(key) for key in dicts.keys_of(ev, value, node))
    if is_array(value):
        value = Iteration("items", (ev.materialise(value),))
    if isinstance(value, Iteration):
        count = static_int(ev.known(ev.iteration_length(value, node), node))
        if count is not None and count <= 10_000:
            return tuple(ev.iteration_item(value, number(k), node) for k in range(count))
    return None


def known_items(ev: Evaluator, value: Value, node: Any) -> tuple[Value, ...]:
    """The items; an error if their number is not known."""
    found = items_of(ev, value, node)
    if found is None:
        ev.fail(UnsupportedSyntax, f"how many items {describe(value)} has is not known here", node)
    return found


def list_method(ev: Evaluator, owner: Lst, name: str, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    """Methods of a list of known length, beyond those that lists of numbers have too."""
    contents = ev.heap[owner]
    if not isinstance(contents, Items):
        return None
    values = list(contents.values)
    result: Value = NONE
    match name:
        case "insert":
            values.insert(_place(ev, args[0], node), ev.materialise(args[1]))
        case "pop":
            place = _place(ev, args[0], node)
            if not -len(values) <= place < len(values):
                _fails(ev, IndexError, f"index {place} is outside a list of {len(values)}", node)
            result = values.pop(place)
        case "reverse":
            values.reverse()
        case "sort":
            values = ordered(ev, values, kwargs, node)
        case "index" | "count" | "remove":
            same = [ev.known(conditions.truth(ev, ev.compare("==", one, args[0], node))).constant for one in values]
            if None in same:
                return None
            if name == "count":
                return number(sum(same))
            if True not in same:
                _fails(ev, ValueError, "the value is not in the list", node)
            if name == "index":
                return number(same.index(True))
            del values[same.index(True)]
        case _:
            return None
    ev.heap[owner] = Items(tuple(values))
    return result


def _fails(ev: Evaluator, cls: type[Exception], message: str, node: Any) -> None:
    if ev.deciding:
        raise Raised(cls)
    ev.fail(TypeMismatch, message, node)


def _place(ev: Evaluator, index: Value, node: Any) -> int:
    place = static_int(ev.known(ev.scalar(index, node), node))
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
    if isinstance(first, Static) and isinstance(second, Static) and isinstance(first.obj, str):
        return isinstance(second.obj, str) and first.obj < second.obj
    verdict = ev.known(ev.truth(ev.compare("<", first, second, node)), node).constant
    if not isinstance(verdict, bool):
        message = "cannot put a list in an order that only the run knows"
        ev.fail(UnsupportedSyntax, message, node, hint="use np.sort of an array")
    return verdict


def sorted_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return ev.new_list(Items(tuple(ordered(ev, list(known_items(ev, args[0], node)), kwargs, node))))


def any_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return _combined(ev, args[0], False, node)


def all_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return _combined(ev, args[0], True, node)


def _combined(ev: Evaluator, value: Value, conjunction: bool, node: Any) -> Value:
    result: Value = number(conjunction)
    for item in known_items(ev, value, node):
        test = ev.truth(item, node)
        result = ev.op("and" if conjunction else "or", ev.sym(result), test)
    return result


def map_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    function, *rest = args
    columns = [known_items(ev, one, node) for one in rest]
    return Tup(tuple(ev.materialise(ev.apply(function, list(row), {}, node)) for row in zip(*columns, strict=False)))


def filter_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    kept: list[Value] = []
    for item in known_items(ev, args[1], node):
        verdict = item if is_none(args[0]) else ev.apply(args[0], [item], {}, node)
        test = ev.known(ev.truth(verdict), node)
        if not isinstance(test.constant, bool):
            ev.fail(UnsupportedSyntax, "which items `filter` keeps is not known here", node)
        if test.constant:
            kept.append(item)
    return Tup(tuple(kept))


def reduce(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`functools.reduce`; over an array or a list that grows it is a loop."""
    function, sequence, *initial = args
    items = items_of(ev, ev.materialise(sequence), node) if not is_array(sequence) else None
    if items is None:
        return ev.call_object(_folded if initial else _folded_from_first, args, {}, node)
    values = [*initial, *items]
    if not values:
        _fails(ev, TypeError, "reduce() of an empty sequence with no initial value", node)
    result = values[0]
    for item in values[1:]:
        result = ev.apply(function, [result, item], {}, node)
    return result


def iter_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`iter(value)`, for a loop: what it is taken from."""
    return args[0]


def chosen(name: str) -> Any:
    """A function of itertools that puts items of known sequences together."""
    function = getattr(itertools, name)
    counted = name in ("combinations", "permutations")

    def select(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
        sequences = args[:1] if counted else args
        rest = [_place(ev, count, node) for count in args[1:]] if counted else []
        known = {key: _place(ev, value, node) for key, value in kwargs.items()}
        found = function(*(known_items(ev, one, node) for one in sequences), *rest, **known)
        return Tup(tuple(Tup(one) if isinstance(one, tuple) else one for one in found))

    return select


def chained(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`itertools.chain.from_iterable(sequences)`."""
    rows = [known_items(ev, one, node) for one in known_items(ev, args[0], node)]
    return Tup(tuple(item for row in rows for item in row))


# lowered as if the user had written them


def _folded(function: Any, sequence: Any, total: Any) -> Any:
    for item in sequence:
        total = function(total, item)
    return total


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
    map: map_,
    filter: filter_,
    functools.reduce: reduce,
    iter: iter_,
    **{
        getattr(itertools, name): chosen(name)
        for name in ("chain", "combinations", "pairwise", "permutations", "product")
    },
    itertools.chain.from_iterable: chained,
}
