"""Functions of `itertools` that give the items of others: `accumulate`, `islice`, `cycle` and the like."""

from __future__ import annotations

import itertools
from typing import Any

from tapec.errors import UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import NONE, Tup, Value, is_none, number, static_int
from tapec.frontend.iteration.iterables import as_iteration, iterable
from tapec.frontend.iteration.iterators import each, once
from tapec.frontend.iteration.sequences import known_items


def _items(ev: Evaluator, values: list[Value]) -> Value:
    return once(ev, "items", Tup(tuple(values)))


def accumulate(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`itertools.accumulate(items, function, initial=value)`."""
    sequence, function, *_ = [*args, *([kwargs["func"]] if "func" in kwargs else []), NONE]
    initial = kwargs.get("initial", NONE)
    found = [] if is_none(initial) else [initial]
    for item in known_items(ev, sequence, node):
        if not found:
            found.append(item)
        elif is_none(function):
            found.append(ev.binary("+", found[-1], item, node))
        else:
            found.append(ev.apply(function, [found[-1], item], {}, node))
    return _items(ev, found)


def islice(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`itertools.islice(items, stop)` and `islice(items, start, stop, step)`."""
    sequence, *bounds = args
    places = [None if is_none(bound) else static_int(ev.decided(ev.scalar(bound, node), node)) for bound in bounds]
    if any(place is None and not is_none(bound) for place, bound in zip(places, bounds, strict=True)):
        ev.fail(UnsupportedSyntax, "the bounds of `islice` are not known here", node, hint="use a slice")
    items = each(ev, as_iteration(ev, iterable(ev, sequence, node), node), node)
    return _items(ev, list(itertools.islice(items, *places)))


def starmap(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`itertools.starmap(function, items)`."""
    function, sequence = args
    given = [list(known_items(ev, item, node)) for item in known_items(ev, sequence, node)]
    return _items(ev, [ev.apply(function, one, {}, node) for one in given])


def zip_longest(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`itertools.zip_longest(...)`."""
    sequences = [known_items(ev, one, node) for one in args]
    fill = kwargs.get("fillvalue", NONE)
    return _items(ev, [Tup(one) for one in itertools.zip_longest(*sequences, fillvalue=fill)])


def _holds(ev: Evaluator, function: Value, item: Value, node: Any) -> bool:
    verdict = ev.decided(ev.truth(ev.apply(function, [item], {}, node), node), node).constant
    if not isinstance(verdict, bool):
        hint = "ask for the condition in a loop over the items"
        ev.fail(UnsupportedSyntax, "how many items are taken is not known here", node, hint=hint)
    return verdict


def takewhile(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`itertools.takewhile(function, items)`."""
    function, sequence = args
    items = known_items(ev, sequence, node)
    return _items(ev, list(itertools.takewhile(lambda item: _holds(ev, function, item, node), items)))


def dropwhile(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`itertools.dropwhile(function, items)`."""
    function, sequence = args
    items = known_items(ev, sequence, node)
    return _items(ev, list(itertools.dropwhile(lambda item: _holds(ev, function, item, node), items)))


# without an end


def count(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`itertools.count(start, step)`."""
    given = dict(zip(("start", "step"), args, strict=False)) | kwargs
    start, step = given.get("start", number(0)), given.get("step", number(1))
    return once(ev, "count", ev.scalar(start, node), ev.scalar(step, node))


def cycle(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`itertools.cycle(items)`."""
    items = known_items(ev, args[0], node)
    return once(ev, "cycle", Tup(items)) if items else _items(ev, [])


def repeat(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`itertools.repeat(item)` and `repeat(item, times)`."""
    item, times = args[0], kwargs.get("times", args[1] if len(args) > 1 else NONE)
    if is_none(times):
        return once(ev, "cycle", Tup((item,)))
    iterations = static_int(ev.decided(ev.scalar(times, node), node))
    if iterations is None:
        ev.fail(UnsupportedSyntax, "how often `repeat` gives its item is not known here", node, hint="use `range`")
    return _items(ev, [item] * iterations)


SPECIAL: dict[Any, Any] = {
    itertools.accumulate: accumulate,
    itertools.islice: islice,
    itertools.starmap: starmap,
    itertools.zip_longest: zip_longest,
    itertools.takewhile: takewhile,
    itertools.dropwhile: dropwhile,
    itertools.count: count,
    itertools.cycle: cycle,
    itertools.repeat: repeat,
}
