"""What a `for` can run over: its length and its k-th item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from tapec.errors import UnsupportedSyntax
from tapec.frontend.arrays import indexing
from tapec.frontend.evaluator.class_methods import special_method
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import Raised
from tapec.frontend.evaluator.values import (
    Complex,
    Dct,
    Instance,
    Items,
    Iteration,
    Lazy,
    Lst,
    PackedList,
    Record,
    Static,
    Stream,
    Sym,
    Template,
    Tup,
    Value,
    describe,
    is_array,
    is_complex_array,
    number,
    with_keys,
)
from tapec.frontend.operations import allocation, broadcasting, runtime_text
from tapec.frontend.operations.complex_arithmetic import lead
from tapec.frontend.structures import dicts
from tapec.syntax.types import Array

# more iterations than any loop makes
_ENDLESS = 2**62


def iterable(ev: Evaluator, value: Value, node: Any) -> Value:
    """What text, a range, or an object with an `__iter__` of its own gives to a loop; other values as they are."""
    if isinstance(value, Static) and isinstance(value.obj, str):
        if isinstance(value.obj, Template):
            value = Static(runtime_text.settled(ev, value.obj, node))
        return Tup(tuple(Static(letter) for letter in value.obj))
    if isinstance(value, Static) and type(value.obj) is range:
        return Iteration("range", tuple(map(number, (value.obj.start, value.obj.stop, value.obj.step))))
    if not isinstance(value, Static | Instance):
        return value
    found = ev.operator("__iter__", [value], node)
    if isinstance(found, Static | Instance) and ev.deciding:
        return Stream(_steps(ev, found, node))
    return value if found is None else found


def _steps(ev: Evaluator, iterator: Value, node: Any) -> Iterator[Value]:
    """What an object's `__next__` gives until it raises StopIteration."""
    while True:
        frame, depth = ev.frame, len(ev.frames)
        try:
            item = ev.operator("__next__", [iterator], node)
        except Raised as error:
            if not issubclass(error.cls, StopIteration):
                raise
            del ev.frames[depth:]
            ev.frame = frame
            return
        if item is None:
            ev.fail(UnsupportedSyntax, f"cannot iterate over {describe(iterator)}", node, reason="it has no `__next__`")
        yield item


def as_iteration(ev: Evaluator, value: Value, node: Any) -> Iteration:
    """What a `for` over a value runs over."""
    if isinstance(value, Iteration):
        return value
    value = with_keys(value)
    if isinstance(value, Dct):
        value = Tup(tuple(ev.wrap(key) for key in dicts.ordered_keys(ev, value, node)))
    if isinstance(value, Tup | Lst | PackedList) or is_array(value) or is_complex_array(value):
        # computed here, once: what it reads may change in an iteration
        return Iteration("items", (ev.materialise(value),))
    refuse_items(ev, value, node)


def refuse_items(ev: Evaluator, value: Value, node: Any) -> NoReturn:
    """Refuse to give the items one by one."""
    if isinstance(value, Iteration | Lst) or is_array(value):
        hint = ev.or_by_a_tape("write a list comprehension" if isinstance(value, Iteration) else "")
        ev.fail(UnsupportedSyntax, f"how many items {describe(value)} has is not known here", node, hint=hint)
    hint = "loop over a range, an array or a tuple"
    cls: Any = None
    match value:
        case Instance():
            cls = value.cls
        case Record():
            cls = value.cls.object_class
        case Static():
            cls = type(value.obj)
    hint = ev.or_by_a_tape(hint) if hasattr(cls, "__iter__") else hint
    ev.fail(UnsupportedSyntax, f"cannot iterate over {describe(value)}", node, hint=hint)


def iteration_length(ev: Evaluator, iteration: Iteration, node: Any) -> Sym:
    """How many items there are."""
    match iteration.kind:
        case "range":
            return iteration_count(ev, *(ev.scalar(arg) for arg in iteration.args))
        case "items":
            return len_(ev, iteration.args[0], node)
        case "enumerate":
            return iteration_length(ev, _inner(iteration), node)
        case "reversed":
            return ev.scalar(iteration.args[1])
        case "count" | "cycle":
            return number(_ENDLESS)
        case "every":
            return _count_in_steps(ev, iteration, node)
        case "pairwise":
            return ev.op("max", number(0), ev.op("-", iteration_length(ev, _inner(iteration), node), number(1)))
        case "chain":
            sum_ = number(0)
            for part in parts(iteration):
                sum_ = ev.op("+", sum_, iteration_length(ev, part, node))
            return sum_
        case "filter":
            message = "how many items `filter` keeps is not known here"
            ev.fail(UnsupportedSyntax, message, node, hint=ev.or_by_a_tape("write a list comprehension"))
        case "dict.keys" | "dict.values" | "dict.items":
            return len_(ev, iteration.args[0], node)
        case "flat":
            return ev.scalar(ev.get_attribute(iteration.args[0], "size", node))
        case "zip" | "map":
            lengths = [iteration_length(ev, part, node) for part in parts(iteration)]
            result = lengths[0] if lengths else number(0)
            for other in lengths[1:]:
                result = ev.op("min", result, other)
            return result
        case "ndindex":
            total = number(1)
            for extent in grid(iteration)[0]:
                total = ev.op("*", total, ev.scalar(extent))
            return total
    raise AssertionError(iteration.kind)


def iteration_count(ev: Evaluator, start: Sym, stop: Sym, step: Sym) -> Sym:
    """`len(range(start, stop, step))`."""
    span = ev.op("-", stop, start)
    if step.constant == 1:
        return ev.op("max", number(0), span)
    if step.constant == -1:
        return ev.op("max", number(0), ev.op("neg", span))
    # rounded up towards the sign of the step
    return ev.op("max", number(0), ev.op("neg", ev.op("//", ev.op("neg", span), step)))


def parts(iteration: Iteration) -> tuple[Iteration, ...]:
    """What an iterator over others takes its items from."""
    return tuple(arg for arg in iteration.args if isinstance(arg, Iteration))


def _inner(iteration: Iteration) -> Iteration:
    (inner,) = parts(iteration)
    return inner


def _count_in_steps(ev: Evaluator, iteration: Iteration, node: Any) -> Sym:
    """How many items there are from the one where `every` starts, in steps."""
    start, step = map(ev.scalar, iteration.args[1:])
    left = ev.op("-", iteration_length(ev, _inner(iteration), node), start)
    if step.constant != 1:
        left = ev.op("//", ev.op("+", left, ev.op("-", step, number(1))), step)
    return ev.op("max", number(0), left)


def iteration_item(ev: Evaluator, iteration: Iteration, k: Sym, node: Any) -> Value:
    """The item of iteration `k`, counted from 0."""
    match iteration.kind:
        case "range":
            start, _, step = (ev.scalar(arg) for arg in iteration.args)
            offset = k if step.constant == 1 else ev.op("*", k, step)
            return offset if start.constant == 0 else ev.op("+", start, offset)
        case "count":
            start, step = (ev.scalar(arg) for arg in iteration.args)
            return ev.op("+", start, k if step.constant == 1 else ev.op("*", k, step))
        case "cycle":
            (items,) = iteration.args
            assert isinstance(items, Tup)
            return indexing.item_of(ev, items, ev.op("%", k, number(len(items.items))), node)
        case "items":
            return indexing.item_of(ev, iteration.args[0], k, node)
        case "enumerate":
            start = ev.scalar(iteration.args[1])
            count = k if start.constant == 0 else ev.op("+", start, k)
            return Tup((count, iteration_item(ev, _inner(iteration), k, node)))
        case "reversed":
            last = ev.op("-", ev.scalar(iteration.args[1]), number(1))
            return iteration_item(ev, _inner(iteration), ev.op("-", last, k), node)
        case "every":
            first, stride = iteration.args[1:]
            return iteration_item(ev, _inner(iteration), ev.op("+", ev.op("*", k, stride), first), node)
        case "pairwise":
            after = ev.op("+", k, number(1))
            return Tup(tuple(iteration_item(ev, _inner(iteration), place, node) for place in (k, after)))
        case "chain":
            return _chained_item(ev, parts(iteration), k, node)
        case "zip":
            return Tup(tuple(iteration_item(ev, part, k, node) for part in parts(iteration)))
        case "map":
            row = [iteration_item(ev, part, k, node) for part in parts(iteration)]
            return ev.materialise(ev.apply(iteration.args[0], row, {}, node))
        case "dict.keys" | "dict.values" | "dict.items":
            return indexing.item_of(ev, dicts.viewed(ev, iteration, node), k, node)
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


def _chained_item(ev: Evaluator, rows: tuple[Iteration, ...], k: Sym, node: Any) -> Value:
    """Item `k` of several iterations, one behind the other."""
    if len(rows) == 1:
        return iteration_item(ev, rows[0], k, node)
    extent = iteration_length(ev, rows[0], node)
    here = ev.decided(ev.op("<", k, extent))
    rest = rows[1:]
    return ev.select(
        here,
        lambda: iteration_item(ev, rows[0], k, node),
        lambda: _chained_item(ev, rest, ev.op("-", k, extent), node),
        node,
    )


def flat_item(ev: Evaluator, array: Value, k: Sym, node: Any) -> Value:
    """Element `k` in C order."""
    assert isinstance(array, Sym | Complex) and isinstance(array.type, Array)
    extents = tuple(allocation.dim(ev, lead(array), axis) for axis in range(array.type.ndim))
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
        case PackedList(count=count):
            return count
        case Lst():
            contents = ev.heap[value]
            return number(len(contents.values)) if isinstance(contents, Items) else contents.count
        case Sym(type=Array(ndim=ndim)) | Complex(type=Array(ndim=ndim)) if ndim > 0:
            return allocation.dim(ev, lead(value), 0)
        case Lazy():
            return broadcasting.broadcast(ev, value).extents[0]
        case Iteration(progress=None) | Iteration(kind="flat"):
            return iteration_length(ev, value, node)
        case Dct():
            return number(len(dicts.keys_of(ev, value, node)))
        case Static(obj=Template() as text):
            return runtime_text.asked(ev, text, len, "i8", node)
        case Static(obj=str() | tuple() | list() | dict() | range() as obj):
            return number(len(obj))
    own = ev.operator("__len__", [value], node)
    method = special_method(ev, value.obj, "__len__") if isinstance(value, Static) else None
    if own is None and method is not None:
        own = ev.call_object(method, [value], {}, node)
    if own is not None:
        return ev.scalar(own, node)
    ev.fail(UnsupportedSyntax, f"{describe(value)} has no length", node)
