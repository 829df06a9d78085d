"""Iterators: what can be run over once.

How far an iterator has run is state of the evaluator, beside the contents of lists, so that branches and loops
know of it: a number of items taken that is known here, the end, or a reason why it is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tapec.errors import UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import DeadCode, Raised
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import (
    Instance,
    Items,
    Iteration,
    Lst,
    Progress,
    Static,
    Tup,
    Value,
    describe,
    is_none,
    number,
    static_int,
)
from tapec.frontend.iteration.iterables import as_iteration, iterable, iteration_item, iteration_length, refuse_items
from tapec.frontend.structures.merging import leaves
from tapec.syntax.core import Name

END = Static(None)
LEFT = Static("a loop over it was left early")
HANDED = Static("another iterator takes its items")
NOTHING = Iteration("items", (Tup(()),))
_HINT = "make it where it is used, or keep its items: `pairs = tuple(zip(a, b))`"


def fresh(ev: Evaluator) -> Progress:
    """The progress of an iterator that is made here."""
    progress = Progress("iterator", len(ev.loops))
    note(ev, progress, Static(0))
    return progress


def once(ev: Evaluator, kind: str, *args: Value) -> Iteration:
    """An iterator."""
    for arg in args:
        if isinstance(arg, Tup):
            # its items may be bound more than once: they keep their names
            ev.temporary -= {leaf.atom.id for _, leaf in leaves(arg) if isinstance(leaf.atom, Name)}
    return Iteration(kind, args, progress=fresh(ev))


def note(ev: Evaluator, progress: Progress | None, state: Static) -> None:
    """How far an iterator has run from here on; nothing for what can be run over again and again."""
    if progress is not None:
        ev.heap[progress] = Items((state,))


def position(ev: Evaluator, value: Value, progress: Progress, node: Any) -> int | None:
    """How many items an iterator has given; None at its end."""
    if len(ev.loops) > progress.loops:
        message = f"{describe(value)} is made outside this loop and used inside it"
        ev.fail(UnsupportedSyntax, message, node, reason="it has items for one iteration only", hint=_HINT)
    contents = ev.heap.get(progress)
    state = contents.values[0] if isinstance(contents, Items) else None
    if isinstance(state, Static) and (state.obj is None or isinstance(state.obj, int)):
        return state.obj
    reason = state.obj if isinstance(state, Static) else "it depends on the run"
    message = f"which items {describe(value)} still has is not known here"
    ev.fail(UnsupportedSyntax, message, node, reason=reason, hint=_HINT)


def taken(ev: Evaluator, iteration: Iteration, node: Any, then: Static = END) -> Iteration:
    """What is left of an iterator, as something that can be run over again; `then` is left of the iterator."""
    if iteration.progress is None:
        return iteration
    given = position(ev, iteration, iteration.progress, node)
    note(ev, iteration.progress, then)
    return _after(iteration, given)


def _after(iteration: Iteration, given: int | None) -> Iteration:
    """The items behind the first `given`."""
    whole = replace(iteration, progress=None)
    if given is None:
        return NOTHING
    return Iteration("every", (whole, number(given), number(1))) if given else whole


def ended(ev: Evaluator, iteration: Iteration) -> bool:
    """Whether an iterator is known to have given all its items."""
    return iteration.progress is not None and ev.heap.get(iteration.progress) == Items((END,))


def sources(ev: Evaluator, values: Args, node: Any) -> tuple[Iteration, ...]:
    """What an iterator over `values` takes its items from; an iterator that comes several times gives in turns."""
    found = [as_iteration(ev, iterable(ev, value, node), node) for value in values]
    if any(one.slots is not None for one in found):
        ev.fail(
            UnsupportedSyntax,
            "a checkpointed range inside another iterator",
            node,
            hint="let the `for` run over tapec.checkpointed() itself",
        )
    rests: dict[Progress, Iteration] = {}
    turns: dict[Progress, int] = {}
    result: list[Iteration] = []
    for one in found:
        if one.progress is None:
            result.append(one)
            continue
        if one.progress not in rests:
            rests[one.progress] = taken(ev, one, node, HANDED)
        turn = turns.get(one.progress, 0)
        turns[one.progress] = turn + 1
        step = sum(other.progress is one.progress for other in found)
        rest = rests[one.progress]
        result.append(Iteration("every", (rest, number(turn), number(step))) if step > 1 else rest)
    return tuple(result)


def count(ev: Evaluator, iteration: Iteration, node: Any) -> int | None:
    """How many items there are, those that an iterator has given included; None if only the run knows."""
    return static_int(ev.decided(iteration_length(ev, iteration, node), node))


def each(ev: Evaluator, iteration: Iteration, node: Any) -> Iterator[Value]:
    """The items, one after the other, each taken when it is asked for; their number must be known."""
    if iteration.kind == "filter":
        yield from _kept(ev, iteration, node)
        return
    whole, progress = replace(iteration, progress=None), iteration.progress
    number_of_items = None if _over_list(iteration) else count(ev, whole, node)
    given: int | None = 0
    while True:
        if progress is not None:
            given = position(ev, iteration, progress, node)
        if given is None:
            return
        end = count(ev, whole, node) if number_of_items is None else number_of_items
        if end is None:
            refuse_items(ev, iteration, node)
        if given >= end:
            note(ev, progress, END)
            return
        note(ev, progress, Static(given + 1))
        yield iteration_item(ev, whole, number(given), node)
        given += 1


def _over_list(iteration: Iteration) -> bool:
    """Whether items come from a list, which may change on the way."""
    return any(isinstance(arg, Lst) or (isinstance(arg, Iteration) and _over_list(arg)) for arg in iteration.args)


def _kept(ev: Evaluator, iteration: Iteration, node: Any) -> Iterator[Value]:
    function, inner = iteration.args
    assert isinstance(inner, Iteration)
    if iteration.progress is not None:
        if position(ev, iteration, iteration.progress, node) is None:
            return
        note(ev, iteration.progress, LEFT)
    for item in each(ev, inner, node):
        verdict = item if is_none(function) else ev.apply(function, [item], {}, node)
        test = ev.decided(ev.truth(verdict, node), node)
        if not isinstance(test.constant, bool):
            hint = ev.or_by_a_tape("write a list comprehension")
            ev.fail(UnsupportedSyntax, "which items `filter` keeps is not known here", node, hint=hint)
        if test.constant:
            yield item
    note(ev, iteration.progress, END)


def iter_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`iter(value)`."""
    if len(args) != 1:
        ev.fail(UnsupportedSyntax, "`iter` of a function and a sentinel", node, hint="write a `while` loop")
    value = as_iteration(ev, iterable(ev, ev.materialise(args[0]), node), node)
    return value if value.progress is not None else replace(value, progress=fresh(ev))


def next_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`next(iterator)` and `next(iterator, default)`."""
    iterator, *default = args
    if ev.live is not None and isinstance(iterator, Static | Instance):
        own = _own_next(ev, iterator, default, node)
        if own is not None:
            return own
    if not isinstance(iterator, Iteration) or iterator.progress is None:
        ev.fail(UnsupportedSyntax, f"`next` needs an iterator, not {describe(iterator)}", node)
    whole = replace(iterator, progress=None)
    total = None if iterator.kind == "filter" else iteration_length(ev, whole, node)
    if total is None or static_int(ev.decided(total, node)) is not None:
        item = next(each(ev, iterator, node), None)
        if item is not None:
            return item
        return default[0] if default else _stop(ev)
    given = position(ev, iterator, iterator.progress, node)
    if given is None:
        return default[0] if default else _stop(ev)
    note(ev, iterator.progress, Static(given + 1))
    there = ev.op("<", number(given), total)

    def missing() -> Value:
        return default[0] if default else _stop(ev)

    return ev.select(there, lambda: iteration_item(ev, whole, number(given), node), missing, node)


def _own_next(ev: Evaluator, iterator: Value, default: list[Value], node: Any) -> Value | None:
    """What the `__next__` of an object's class gives, or the default; None for other objects."""
    assert ev.live is not None
    if isinstance(iterator, Static) and isinstance(iterator.obj, Iterator) and not hasattr(iterator.obj, "__dict__"):
        ev.fail(
            UnsupportedSyntax,
            "`next` of an iterator that was made before",
            node,
            reason="how far it has run is not seen in the source",
            hint="take the item before: `item = next(iterator)`",
        )
    if default and not ev.deciding:
        ev.fail(UnsupportedSyntax, "`next` of an object, with a default, inside a loop over numbers", node)
    frame, depth = ev.frame, len(ev.frames)
    try:
        return ev.live.operator("__next__", [iterator], node)
    except Raised as error:
        if not default or not issubclass(error.cls, StopIteration):
            raise
        del ev.frames[depth:]
        ev.frame = frame
        return default[0]


def _stop(ev: Evaluator) -> Value:
    if ev.deciding:
        raise Raised(StopIteration)
    ev.raise_("StopIteration")
    raise DeadCode
