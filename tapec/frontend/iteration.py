"""What a `for` can run over: its length and its k-th item."""

from __future__ import annotations

from typing import Any

from tapec.errors import UnsupportedSyntax
from tapec.frontend import dicts, elementwise, indexing
from tapec.frontend.evaluator import Evaluator
from tapec.frontend.values import (
    Dct,
    Growing,
    Instance,
    Items,
    Iteration,
    Lazy,
    Lst,
    Slice,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_array,
    number,
)
from tapec.syntax.core import Name
from tapec.syntax.types import Array


def iterable(ev: Evaluator, value: Value, node: Any) -> Value:
    """What text, or an object of a class with an `__iter__` of its own, gives to a loop; other values as they are."""
    if isinstance(value, Static) and isinstance(value.obj, str):
        return Tup(tuple(Static(letter) for letter in value.obj))
    if ev.live is None or not isinstance(value, Static | Instance):
        return value
    found = ev.live.operator("__iter__", [value], node)
    return value if found is None else found


def as_iteration(ev: Evaluator, value: Value, node: Any) -> Iteration:
    """What a `for` over a value runs over."""
    if isinstance(value, Iteration):
        return value
    if isinstance(value, Dct):
        value = Tup(tuple(ev.wrap(key) for key in dicts.keys_of(ev, value, node)))
    if isinstance(value, Tup | Lst) or is_array(value):
        # computed here, once: what it reads may change in a trip
        return Iteration("items", (ev.materialise(value),))
    message = f"cannot iterate over {describe(value)}"
    ev.fail(UnsupportedSyntax, message, node, hint="loop over a range, an array or a tuple")


def length(ev: Evaluator, iteration: Iteration, node: Any) -> Sym:
    """How many items there are."""
    match iteration.kind:
        case "range":
            return trip_count(ev, *(ev.scalar(arg) for arg in iteration.args))
        case "items":
            return len_(ev, iteration.args[0], node)
        case "enumerate" | "reversed":
            return length(ev, _inner(iteration.args[0]), node)
        case "flat":
            return ev.scalar(ev.get_attribute(iteration.args[0], "size", node))
        case "zip":
            lengths = [length(ev, _inner(arg), node) for arg in iteration.args]
            result = lengths[0]
            for other in lengths[1:]:
                result = ev.op("min", result, other)
            return result
        case "ndindex":
            total = number(1)
            for extent in grid(iteration)[0]:
                total = ev.op("*", total, ev.scalar(extent))
            return total
    raise AssertionError(iteration.kind)


def trip_count(ev: Evaluator, start: Sym, stop: Sym, step: Sym) -> Sym:
    """`len(range(start, stop, step))`."""
    span = ev.op("-", stop, start)
    if step.constant == 1:
        return ev.op("max", number(0), span)
    if step.constant == -1:
        return ev.op("max", number(0), ev.op("neg", span))
    # rounded up towards the sign of the step
    return ev.op("max", number(0), ev.op("neg", ev.op("//", ev.op("neg", span), step)))


def _inner(value: Value) -> Iteration:
    return value if isinstance(value, Iteration) else Iteration("items", (value,))


def item(ev: Evaluator, iteration: Iteration, k: Sym, node: Any) -> Value:
    """The item of trip `k`, counted from 0."""
    match iteration.kind:
        case "range":
            start, _, step = (ev.scalar(arg) for arg in iteration.args)
            offset = k if step.constant == 1 else ev.op("*", k, step)
            return offset if start.constant == 0 else ev.op("+", start, offset)
        case "items":
            return indexing.load(ev, iteration.args[0], k, node)
        case "enumerate":
            start = ev.scalar(iteration.args[1])
            count = k if start.constant == 0 else ev.op("+", start, k)
            return Tup((count, item(ev, _inner(iteration.args[0]), k, node)))
        case "reversed":
            inner = _inner(iteration.args[0])
            last = ev.op("-", length(ev, inner, node), number(1))
            return item(ev, inner, ev.op("-", last, k), node)
        case "zip":
            return Tup(tuple(item(ev, _inner(arg), k, node) for arg in iteration.args))
        case "flat":
            return flat_item(ev, iteration.args[0], k, node)
        case "ndindex":
            extents, array = grid(iteration)
            place = _unravelled(ev, tuple(ev.scalar(extent) for extent in extents), k)
            return place if array is None else Tup((place, indexing.load(ev, array, place, node)))
    raise AssertionError(iteration.kind)


def grid(iteration: Iteration) -> tuple[tuple[Value, ...], Value | None]:
    """The extents that np.ndindex runs over; and the array, for np.ndenumerate."""
    *extents, last = (*iteration.args, None)
    if extents and is_array(extents[-1]):
        *extents, last = extents
    return tuple(extents), last


def flat_item(ev: Evaluator, array: Value, k: Sym, node: Any) -> Value:
    """Element `k` in C order."""
    assert isinstance(array, Sym) and isinstance(array.type, Array)
    extents = tuple(elementwise.dim(ev, array, axis) for axis in range(array.type.ndim))
    return indexing.load(ev, array, _unravelled(ev, extents, k), node)


def _unravelled(ev: Evaluator, extents: tuple[Sym, ...], k: Sym) -> Tup:
    """The subscripts of element `k` in C order."""
    place: list[Value] = []
    rest = k
    for axis, extent in reversed(tuple(enumerate(extents))):
        place.insert(0, rest if axis == 0 else ev.op("%", rest, extent))
        rest = ev.op("//", rest, extent) if axis else rest
    return Tup(tuple(place))


def len_(ev: Evaluator, value: Value, node: Any) -> Sym:
    """`len(value)`."""
    match value:
        case Tup(items=items):
            return number(len(items))
        case Lst():
            contents = ev.heap[value]
            return number(len(contents.values)) if isinstance(contents, Items) else contents.count
        case Sym(type=Array(ndim=ndim)) if ndim > 0:
            return elementwise.dim(ev, value, 0)
        case Lazy():
            return ev.broadcast_of(value).extents[0]
        case Iteration():
            return length(ev, value, node)
        case Dct():
            return number(len(dicts.keys_of(ev, value, node)))
        case Static(obj=str() | tuple() | list() | dict() as obj):
            return number(len(obj))
    own = ev.live.operator("__len__", [value], node) if ev.live is not None else None
    if own is not None:
        return ev.scalar(own, node)
    ev.fail(UnsupportedSyntax, f"{describe(value)} has no length", node)


def list_view(ev: Evaluator, contents: Growing) -> Sym:
    """The filled part of a growing list's buffer."""
    assert isinstance(contents.buffer.atom, Name)
    ev.list_memory |= ev.roots.get(contents.buffer.atom.id, frozenset())
    return indexing.view(ev, contents.buffer, (Slice(None, contents.count, None),), None)
