"""Lists: making them, their methods and their operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend.arrays import indexing
from tapec.frontend.arrays.array_creation import as_array, copy, filled
from tapec.frontend.arrays.subscripts import integer
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import DeadCode
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import (
    NONE,
    Complex,
    Contents,
    Dct,
    Growing,
    Items,
    Iteration,
    Lst,
    Slice,
    Sym,
    Tup,
    Value,
    is_array,
    is_scalar,
    number,
    static_int,
)
from tapec.frontend.expressions import operators
from tapec.frontend.operations import allocation, elementwise
from tapec.frontend.operations.complex_arithmetic import lead
from tapec.frontend.structures import typed_containers
from tapec.frontend.structures.constant_containers import spelled
from tapec.frontend.structures.lists import column, element_type, growing, list_number, list_value
from tapec.rules import python_lists
from tapec.syntax.types import Scalar


def new_list(ev: Evaluator, contents: Contents) -> Lst:
    key = Lst("list")
    ev.heap[key] = contents
    return key


def copied(ev: Evaluator, contents: Contents) -> Contents:
    if isinstance(contents, Items):
        return contents
    return Growing(_copied(ev, contents.buffer), contents.count)


def _copied(ev: Evaluator, buffer: Any) -> Any:
    if isinstance(buffer, Tup):
        return Tup(tuple(_copied(ev, part) for part in buffer.items), buffer.cls)
    return ev.call_library("copied", (buffer,))


def list_from_array(ev: Evaluator, array: Value) -> Growing:
    """A list of the elements of a 1-D array; of a tuple of those, a list of tuples."""
    if isinstance(array, Tup):
        parts = [list_from_array(ev, part) for part in array.items]
        return Growing(Tup(tuple(part.buffer for part in parts), array.cls), parts[0].count)
    made = copy(ev, array)
    assert isinstance(made, Sym | Complex)
    return Growing(made, allocation.dim(ev, lead(array), 0))


def grow(ev: Evaluator, owner: Lst) -> Growing:
    contents = ev.heap[owner]
    ev.heap[owner] = result = growing(ev, contents, element_type(ev, contents))
    return result


def append(ev: Evaluator, owner: Lst, item: Value, node: Any) -> None:
    contents = ev.heap[owner]
    item = typed_containers.item_of(ev, owner, ev.materialise(item), node)
    if isinstance(contents, Items):
        ev.heap[owner] = Items((*contents.values, item))
        return
    value = list_value(ev, item, node)
    buffer = _with_capacity(ev, contents, element_type(ev, contents, Items((value,))), node)
    _put(ev, buffer, contents.count, value)
    ev.heap[owner] = Growing(buffer, ev.op("+", contents.count, number(1)))


def _with_capacity(ev: Evaluator, contents: Growing, element: Any, node: Any) -> Any:
    """The buffer of a list with capacity for one more element of this type."""
    if isinstance(element, Tup):
        columns = [column(contents, k) for k in range(len(element.items))]
        parts = [_with_capacity(ev, part, one, node) for part, one in zip(columns, element.items, strict=True)]  # type: ignore[arg-type]
        return Tup(tuple(parts), element.cls)
    buffer = contents.buffer
    if element != buffer.type.element:
        buffer = copy(ev, buffer, element.dtype, node)
    return ev.call_library("grown", (buffer, contents.count))


def _put(ev: Evaluator, buffer: Any, place: Sym, value: Any) -> None:
    """Store an element of a list."""
    if isinstance(value, Tup):
        for part, item in zip(buffer.items, value.items, strict=True):
            _put(ev, part, place, item)
        return
    elementwise.store_at(ev, buffer, (place.atom,), value)


def list_method(
    ev: Evaluator, owner: Lst, name: str, args: Args, kwargs: Kwargs, node: Any
) -> Value | None:
    contents = ev.heap[owner]
    if name == "append":
        append(ev, owner, args[0], node)
        return NONE
    if name == "extend":
        extend_list(ev, owner, args[0], node)
        return NONE
    if name == "copy":
        return new_list(ev, copied(ev, contents))
    if name == "clear":
        ev.heap[owner] = Items(()) if isinstance(contents, Items) else Growing(contents.buffer, number(0))
        return NONE
    if name == "pop" and (not args or static_int(args[0]) == -1):
        if isinstance(contents, Items):
            if not contents.values and ev.loops and not ev.deciding:
                # it may have grown in an earlier iteration: this way ends here, as far as is known
                ev.raise_("IndexError", "pop from empty list")
                raise DeadCode
            if not contents.values:
                ev.fail(TypeMismatch, "pop from an empty list", node)
            ev.heap[owner] = Items(contents.values[:-1])
            return contents.values[-1]
        indexing.check_place(ev, number(-1), contents.count, "pop from empty list")
        last = ev.op("-", contents.count, number(1))
        item = indexing.item_at(ev, contents.buffer, last)
        ev.heap[owner] = Growing(contents.buffer, last)
        return item
    if isinstance(contents, Growing) and name in _CHANGES:
        return _changed(ev, owner, contents, name, args, kwargs, node)
    if name == "pop" and isinstance(contents, Growing) and len(args) == 1:
        return _taken(ev, owner, contents, args[0], node)
    return None


def _changed(ev: Evaluator, owner: Lst, contents: Growing, name: str, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`insert`, `reverse` and `sort` of a list whose length the run knows."""
    if name != "sort":
        changed: Value = ev.inline_library(_CHANGES[name], [owner, *args], {}, node)
        return changed
    if isinstance(contents.buffer, Tup) or kwargs:
        message = "a list whose length is not known is sorted by a key, or holds tuples"
        ev.fail(UnsupportedSyntax, message, node, hint="use heapq")
    used = ev.load(contents.buffer, Slice(None, contents.count, None), node)
    ev.heap[owner] = list_from_array(ev, ev.call_object(np.sort, [used], {}, node))
    return NONE


# of lists whose length only the run knows
_CHANGES: dict[str, Any] = {"insert": python_lists.inserted, "reverse": python_lists.turned, "sort": None}


def _taken(ev: Evaluator, owner: Lst, contents: Growing, index: Value, node: Any) -> Value:
    """An element that is taken out of a list; those behind it move up."""
    indexing.check_place(ev, integer(ev, index, node), contents.count, "pop index out of range")
    place = indexing.list_place(ev, index, contents.count, node)
    item = indexing.item_at(ev, contents.buffer, place)
    last = ev.op("-", contents.count, number(1))
    _move_up(ev, contents.buffer, place, last)
    ev.heap[owner] = Growing(contents.buffer, last)
    return item


def _move_up(ev: Evaluator, buffer: Any, place: Sym, last: Sym) -> None:
    """Move what stands behind a place of a buffer, up to the last one, to the place before it."""
    if isinstance(buffer, Tup):
        for part in buffer.items:
            _move_up(ev, part, place, last)
        return
    ev.call_library("moved_up", (buffer, place, last))


def extend_list(ev: Evaluator, owner: Lst, value: Value, node: Any) -> None:
    if isinstance(value, Lst) and isinstance(more := ev.heap[value], Items):
        value = Tup(more.values)
    if isinstance(value, Iteration | Dct):
        value = Tup(ev.known_items(value, node))
    if not isinstance(value, Tup):
        ev.fail(UnsupportedSyntax, "a list can be extended by a list of known length only", node)
    for item in value.items:
        append(ev, owner, item, node)


def list_arithmetic(ev: Evaluator, fn: str, left: Value, right: Value, node: Any) -> Value:
    owner, other = (left, right) if isinstance(left, Lst) else (right, left)
    assert isinstance(owner, Lst)
    contents = ev.heap[owner]
    if fn == "*" and isinstance(contents, Items) and is_scalar(other):
        times = static_int(other)
        if times is not None:
            return new_list(ev, Items(contents.values * times))
        if len(contents.values) == 1:
            value = list_number(ev, contents.values[0], node)
            # a list that is repeated a negative number of times is empty
            count = ev.scalar(other, node)
            if not ev.lengths.is_count(count.atom):
                count = ev.sym(ev.call_object(max, [count, number(0)], {}, node))
            assert isinstance(value.type, Scalar)
            return new_list(ev, Growing(filled(ev, (count,), value.type.dtype, value), count))
    if fn == "+" and isinstance(other, Lst) and isinstance(left, Lst) and isinstance(right, Lst):
        first, second = spelled(ev, left), spelled(ev, right)
        if first is not None and second is not None:
            return new_list(ev, Items(first + second))
    if is_array(other):
        arrays = [as_array(ev, v, node) if isinstance(v, Lst) else v for v in (left, right)]
        return operators.binary(ev, fn, arrays[0], arrays[1], node)
    ev.fail(UnsupportedSyntax, f"cannot compute `{fn}` of these lists", node, hint="use arrays, or append in a loop")
