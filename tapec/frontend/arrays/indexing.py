"""`owner[index]` as a value: of arrays, tuples, lists, dicts and known objects."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numba.core import types as nt

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend.arrays import packed_lists
from tapec.frontend.arrays.subscripts import (
    expanded,
    gather,
    integer,
    is_advanced,
    is_element,
    load_at,
    subscripts_of,
    view,
    viewed,
)
from tapec.frontend.evaluator.class_methods import special_method
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import DeadCode
from tapec.frontend.evaluator.unfinished_blocks import OpenIf
from tapec.frontend.evaluator.values import (
    Complex,
    Dct,
    Growing,
    Instance,
    Items,
    Iteration,
    Lazy,
    Lst,
    Neighbours,
    PackedList,
    Slice,
    Static,
    Sym,
    Template,
    Tup,
    Unseen,
    Value,
    describe,
    is_array,
    is_complex_array,
    is_none,
    is_scalar,
    known_text,
    mapping,
    number,
    plain_number,
    range_bounds,
    static_int,
)
from tapec.frontend.operations import python_errors, runtime_text
from tapec.frontend.operations.allocation import dim
from tapec.frontend.operations.circular_shifts import is_shifted
from tapec.frontend.operations.complex_arithmetic import each, parts
from tapec.frontend.operations.elementwise import element
from tapec.frontend.operations.integer_checks import at_least
from tapec.frontend.operations.memory_order import note_order
from tapec.frontend.structures import dicts
from tapec.frontend.structures.constant_containers import as_tuple
from tapec.frontend.structures.lists import column
from tapec.rules import arrays_index, internal
from tapec.rules.library import LOOKUPS
from tapec.syntax.core import Const, Name
from tapec.syntax.types import Array, Scalar

# `np.s_[1:3]` is the subscript itself
_IndexExpression = type(np.s_)


def _check_places(ev: Evaluator, owner: Value, places: list[Sym], node: Any) -> None:
    """Raise where the program does, for a handler around it."""
    array = ev.sym(owner.re if isinstance(owner, Complex) else owner)
    for axis, place in enumerate(places):
        index, size = (ev.decided(one, node).constant for one in (place, dim(ev, array, axis)))
        if isinstance(index, int) and isinstance(size, int) and not -size <= index < size:
            ev.fails(IndexError, f"index {index} is out of bounds for axis {axis} with size {size}", node)


def load(ev: Evaluator, owner: Value, index: Value, node: Any) -> Value:
    """`owner[index]`."""
    if isinstance(owner, Unseen):
        return owner
    owner = ev.present(owner)
    if isinstance(index, Static) and isinstance(index.obj, Template):
        return _item_by_text(ev, owner, index.obj, node)
    if isinstance(owner, Tup):
        return tuple_item(ev, owner.items, index, node, owner)
    if isinstance(owner, PackedList):
        return _packed_item(ev, owner, index, node)
    if isinstance(owner, Lst):
        return list_item(ev, owner, index, node)
    if isinstance(owner, Dct):
        return dicts.item(ev, owner, index, node)
    if isinstance(owner, Neighbours):
        return _neighbour(ev, owner, index, node)
    if isinstance(owner, Iteration) and owner.kind == "items":
        return item_of(ev, owner.args[0], integer(ev, index, node), node)
    if isinstance(owner, Iteration) and owner.kind == "flat":
        return _flat_items(ev, owner.args[0], index, node)
    if (bounds := range_bounds(owner)) is not None:
        return _range_item(ev, bounds, index, node)
    if isinstance(owner, Static | Instance):
        own = ev.operator("__getitem__", [owner, index], node)
        return own or _static_item(ev, owner, index, node)
    if isinstance(owner, Lazy):
        subs = subscripts_of(index)
        # where subscripts are those of loops
        inside = ev.frame.library or not is_shifted(owner)
        if inside and len(subs) == owner.type.ndim and all(is_scalar(sub) for sub in subs):
            with asked(ev):
                return element(ev, owner, tuple(ev.scalar(sub) for sub in subs))
        owner = ev.materialise(owner)
    if not isinstance(owner, Sym | Complex) or not isinstance(owner.type, Array):
        ev.fail(TypeMismatch, f"{describe(owner)} cannot be indexed", node)
    subs = expanded(ev, owner, index, node)
    with asked(ev):
        if is_element(owner, subs):
            places = [integer(ev, sub, node) for sub in subs]
            if ev.deciding and ev.trying:
                _check_places(ev, owner, places, node)
            python_errors.check_places(ev, owner, places)
            return load_at(ev, owner, tuple(place.atom for place in places))
        if any(is_advanced(sub) for sub in subs):
            made = gather(ev, owner, subs, node)
            if not ev.frame.library:
                # NumPy may move the axes of what it gathers
                note_order(ev, made, (owner,), certainly=not is_advanced(subs[0]))
            return made
        return viewed(ev, owner, subs, node)


def _range_item(ev: Evaluator, bounds: tuple[Value, ...], index: Value, node: Any) -> Value:
    """An item of a range, or a part of it."""
    known = [static_int(bound) for bound in bounds]
    if isinstance(index, Slice):
        if None in known:
            ev.fail(UnsupportedSyntax, "cannot take a part of a range whose bounds only the run knows", node)
        part = range(*known)[_bounds(ev, index, "a range", node)]  # type: ignore[arg-type]
        return Iteration("range", (number(part.start), number(part.stop), number(part.step)))
    place = integer(ev, index, node)
    if None not in known and (k := static_int(place)) is not None:
        try:
            return number(range(*known)[k])  # type: ignore[arg-type]
        except IndexError as error:
            ev.fails(IndexError, str(error), node)
    return ev.inline_library(internal.range_item, [*bounds, place], {}, node)


def _neighbour(ev: Evaluator, owner: Neighbours, index: Value, node: Any) -> Value:
    """An element beside the one that a stencil computes."""
    subs = subscripts_of(index)
    if len(subs) != len(owner.index) or not all(map(is_scalar, subs)):
        ev.fail(UnsupportedSyntax, "a subscript of an array of a stencil is no number for each axis", node)
    places = [ev.op("+", at, integer(ev, sub, node)) for at, sub in zip(owner.index, subs, strict=True)]
    with asked(ev):
        return load_at(ev, owner.array, tuple(place.atom for place in places))


def _flat_items(ev: Evaluator, array: Value, index: Value, node: Any) -> Value:
    """`a.flat[index]`: an element, or copies of several."""
    if is_scalar(index):
        found: Value = ev.inline_library(arrays_index.element_at, [array, index], {}, node)
        return found
    return ev.call_object(np.copy, [load(ev, ev.call_object(np.ravel, [array], {}, node), index, node)], {}, node)


def _packed_item(ev: Evaluator, owner: PackedList, index: Value, node: Any) -> Value:
    """An item of a packed list, or the list without items at its ends."""
    if isinstance(index, Slice):
        lower, upper = (0 if part is None else static_int(part) for part in (index.lower, index.upper))
        if index.step is not None or lower is None or upper is None or lower < 0 or upper > 0:
            ev.fail(UnsupportedSyntax, "a slice of a packed list with such bounds", node)
        left = ev.op("-", owner.count, number(lower - upper))
        first = ev.op("+", owner.first, number(lower))
        return replace(owner, first=first, count=ev.op("max", number(0), left))
    place = static_int(index)
    if place is None:
        sym = integer(ev, index, node)
        check_place(ev, sym, owner.count, "list index out of range")
        return packed_lists.item(ev, owner, list_place(ev, sym, owner.count, node), node)
    # that there are as many items is asked when the program runs
    least = place if place >= 0 else -place - 1
    check_place(ev, number(0), ev.op("-", owner.count, number(least)), "list index out of range")
    return packed_lists.item(ev, owner, number(place) if place >= 0 else ev.op("+", owner.count, number(place)), node)


def _item_by_text(ev: Evaluator, owner: Value, text: Template, node: Any) -> Value:
    """The item of a dict under a key that only the run knows, such as `f"w{i}"`: each that it can be is compared."""
    if ev.deciding and text.make is not None:
        return load(ev, owner, Static(runtime_text.settled(ev, text, node)), node)
    keys: Any = mapping(owner) or {}
    if isinstance(owner, Dct):
        keys = dicts.keys_of(ev, owner, node)
    elif isinstance(owner, Static) and isinstance(owner.obj, dict):
        keys = owner.obj
    found = sorted(runtime_text.places(text, keys).items())
    if not found:
        message = f"a key of a dict is {str(text)!r}, which only the run knows"
        hint = "write the keys out, or keep the items in a list"
        ev.fail(UnsupportedSyntax, message, node, reason=f"no key of {describe(owner)} is of that kind", hint=hint)

    def is_at(place: tuple[int, ...]) -> Sym:
        tests = [ev.op("==", hole, number(one)) for hole, one in zip(text.holes, place, strict=True)]
        return functools.reduce(lambda one, other: ev.op("and", one, other), tests)

    def choose(position: int) -> Value:
        place, key = found[position]
        if position == len(found) - 1:
            return load(ev, owner, Static(key), node)
        item = lambda: load(ev, owner, Static(key), node)  # noqa: E731
        return ev.select(is_at(place), item, lambda: choose(position + 1), node)

    if not _is_one_of(ev, text.holes, [place for place, _ in found]):
        known = functools.reduce(lambda one, other: ev.op("or", one, other), [is_at(place) for place, _ in found])
        side: list[Any] = []
        outer, ev.block = ev.block, side
        ev.raise_("KeyError", str(text))
        ev.block = outer
        ev.emit(OpenIf(ev.op("not", known).atom, side, [], ev.span))
    return choose(0)


def _is_one_of(ev: Evaluator, holes: tuple[Sym, ...], places: list[tuple[int, ...]]) -> bool:
    """Whether a counter of a loop is one of some numbers."""
    if len(holes) != 1 or not isinstance(holes[0].atom, Name):
        return False
    match ev.counters.get(holes[0].atom.id):
        case (Const(value=int() as first), Const(value=int() as last)):
            return set(range(first, last)) <= {place for (place,) in places}
    return False


@contextmanager
def asked(ev: Evaluator) -> Iterator[None]:
    """A while in which elements are those that a subscript of the user's names."""
    outer = ev.span
    if outer is not None and (not ev.frame.library or ev.frame.function in LOOKUPS):
        ev.span = replace(outer, asked=True)
    try:
        yield
    finally:
        ev.span = outer


def tuple_item(ev: Evaluator, items: tuple[Value, ...], index: Value, node: Any, owner: Tup | None = None) -> Value:
    held = mapping(owner)
    if held is not None:
        if not isinstance(index, Static):
            ev.fail(TypeMismatch, f"the keys of the dict are text, not {describe(index)}", node)
        if index.obj not in held:
            known = ", ".join(map(repr, held))
            ev.fail(TypeMismatch, f"the dict has no key {index.obj!r}", node, hint=f"it has {known}")
        return held[index.obj]
    if isinstance(index, Slice):
        return Tup(items[_bounds(ev, index, "a tuple", node)])
    position = static_int(index)
    if position is not None:
        if not -len(items) <= position < len(items):
            ev.fails(IndexError, f"index {position} is outside a tuple of {len(items)}", node)
        return items[position]
    if not items:
        ev.fail(TypeMismatch, "an empty tuple cannot be indexed", node)
    sym = integer(ev, index, node)
    if ev.deciding:
        return tuple_item(ev, items, ev.decided(sym, node), node, owner)
    # an index that only the run knows: compare it with each position
    check_place(ev, sym, number(len(items)), "tuple index out of range" if owner else "list index out of range")
    negative = ev.op("<", sym, number(0))
    wrapped = ev.op("ifelse", negative, ev.op("+", sym, number(len(items))), sym)
    return _choose(ev, items, wrapped, 0, node)


def _bounds(ev: Evaluator, index: Slice, what: str, node: Any) -> slice:
    """The slice, of what is known while compiling."""
    given = (index.lower, index.upper, index.step)
    parts = [None if part is None else static_int(part) for part in given]
    if any(part is not None and known is None for part, known in zip(given, parts, strict=True)):
        ev.fail(UnsupportedSyntax, f"a slice of {what} needs constant bounds", node)
    return slice(*parts)


def _choose(ev: Evaluator, items: tuple[Value, ...], index: Sym, position: int, node: Any) -> Value:
    if position == len(items) - 1:
        return items[position]
    here = ev.op("==", index, number(position))
    return ev.select(here, lambda: items[position], lambda: _choose(ev, items, index, position + 1, node), node)


def item_of(ev: Evaluator, owner: Value, index: Sym, node: Any) -> Value:
    """`owner[index]`, for an index that is known to be in range, such as a loop's."""
    if isinstance(owner, PackedList):
        return packed_lists.item(ev, owner, index, node)
    contents = ev.heap[owner] if isinstance(owner, Lst) else None
    if isinstance(contents, Growing):
        return item_at(ev, contents.buffer, index)
    items = contents.values if isinstance(contents, Items) else owner.items if isinstance(owner, Tup) else ()
    if items and static_int(index) is None and not ev.deciding:
        return _choose(ev, items, index, 0, node)
    return load(ev, owner, index, node)


def check_place(ev: Evaluator, index: Sym, count: Sym, message: str) -> None:
    """Raise IndexError, when the program runs, where an index is outside a list or tuple."""
    first, last = ev.counters.get(index.atom.id, (None, None)) if isinstance(index.atom, Name) else (None, None)
    inside = last == count.atom or (
        isinstance(last, Const) and isinstance(last.value, int) and last.value <= (static_int(count) or 0)
    )
    if inside and isinstance(first, Const) and isinstance(first.value, int) and first.value >= 0:
        return
    outside = ev.op(">=", index, count)
    assert isinstance(index.type, Scalar)
    if not index.type.dtype.startswith("uint"):
        outside = ev.op("or", ev.op("<", index, ev.op("neg", count)), outside)
    if outside.constant is False:
        return
    if outside.constant is True and not ev.loops:
        ev.fail(TypeMismatch, f"{message}: {index.constant} of {count.constant}")
    if outside.constant is True:
        # the list may have grown in an earlier iteration: this way ends here, as far as is known
        ev.raise_("IndexError", message)
        raise DeadCode
    side: list[Any] = []
    outer, ev.block = ev.block, side
    ev.raise_("IndexError", message)
    ev.block = outer
    ev.emit(OpenIf(outside.atom, side, [], ev.span))


def list_item(ev: Evaluator, owner: Lst, index: Value, node: Any) -> Value:
    contents = ev.heap[owner]
    if isinstance(contents, Items):
        if isinstance(index, Slice) or static_int(index) is not None:
            found = tuple_item(ev, contents.values, index, node)
            return ev.new_list(Items(found.items)) if isinstance(found, Tup) and isinstance(index, Slice) else found
        # where only the run knows which item it is, lists of constants may take each other's place
        return tuple_item(ev, tuple(as_tuple(ev, item) for item in contents.values), index, node)
    if is_scalar(plain_number(index)):
        check_place(ev, integer(ev, index, node), contents.count, "list index out of range")
    result = grown_item(ev, contents, index, node)
    if isinstance(index, Slice) or is_array(result) or is_complex_array(result):
        return ev.new_list(ev.list_from_array(result))
    return result


def grown_item(ev: Evaluator, contents: Growing, index: Value, node: Any) -> Value:
    """An element of a list, of whose place it is known that there is one; for a slice an array of them."""
    if is_scalar(plain_number(index)):
        return item_at(ev, contents.buffer, list_place(ev, index, contents.count, node))
    if isinstance(contents.buffer, Tup):
        columns = [column(contents, k) for k in range(len(contents.buffer.items))]
        items = tuple(grown_item(ev, one, index, node) for one in columns if isinstance(one, Growing))
        return Tup(items, contents.buffer.cls)
    return load(ev, list_view(ev, contents), index, node)


def item_at(ev: Evaluator, buffer: Any, place: Sym) -> Value:
    """The element of a list at a place of its buffer."""
    if isinstance(buffer, Tup):
        return Tup(tuple(item_at(ev, part, place) for part in buffer.items), buffer.cls)
    for part in parts(buffer):
        ev.list_memory |= ev.roots.get(part.atom.id, frozenset())
    return load_at(ev, buffer, (place.atom,))


def list_place(ev: Evaluator, index: Value, count: Sym, node: Any) -> Sym:
    """Where in its buffer the element of a list is for a subscript that is in range."""
    place = integer(ev, index, node)
    assert isinstance(place.type, Scalar)
    known = static_int(place)
    if known is not None:
        return place if known >= 0 else ev.op("+", count, place)
    if place.type.dtype.startswith("uint") or at_least(ev, place, 0):
        return place
    return ev.op("ifelse", ev.op("<", place, number(0)), ev.op("+", count, place), place)


def list_view(ev: Evaluator, contents: Growing) -> Any:
    """The filled part of a growing list's buffer."""

    def filled(buffer: Sym) -> Sym:
        assert isinstance(buffer.atom, Name)
        ev.list_memory |= ev.roots.get(buffer.atom.id, frozenset())
        return view(ev, buffer, (Slice(None, contents.count, None),), None)

    return each(ev, contents.buffer, filled)


def _joined(ev: Evaluator, index: Value, columns: bool, node: Any) -> Value:
    """`np.r_[a, b]`, end to end, or `np.c_[a, b]`, as columns; a slice is a range."""
    parts: list[Value] = []
    for one in index.items if isinstance(index, Tup) else (index,):
        if isinstance(one, Slice):
            start = number(0) if one.lower is None else one.lower
            if one.upper is None:
                ev.fail(UnsupportedSyntax, "a slice in `np.r_` needs an end", node)
            one = ev.call_object(np.arange, [start, one.upper, one.step or number(1)], {}, node)
        elif isinstance(one, Static):
            ev.fail(UnsupportedSyntax, "text in `np.r_` and `np.c_`", node, hint="call np.concatenate or np.stack")
        array = ev.call_object(np.atleast_1d, [one], {}, node)
        if columns and static_int(ev.get_attribute(array, "ndim", node)) == 1:
            array = ev.load(array, Tup((Slice(None, None, None), Static(None))), node)
        parts.append(array)
    return ev.call_object(np.concatenate, [Tup(tuple(parts))], {"axis": number(-1 if columns else 0)}, node)


def _parts(axis: Value) -> slice:
    """An axis of a type of Numba's."""
    assert isinstance(axis, Slice)
    lower, upper, step = (None if part is None else static_int(part) for part in (axis.lower, axis.upper, axis.step))
    return slice(lower, upper, step)


def _static_item(ev: Evaluator, owner: Value, index: Value, node: Any) -> Value:
    """Subscripts of known Python objects, such as a module's dict of constants."""
    if not isinstance(owner, Static):
        ev.fail(UnsupportedSyntax, f"cannot index {describe(owner)}", node)
    text = known_text(owner)
    if text is not None and isinstance(index, Slice):
        return Static(text[_bounds(ev, index, "text", node)])
    if isinstance(owner.obj, _IndexExpression):
        return index
    if owner.obj is np.r_ or owner.obj is np.c_:
        return _joined(ev, index, owner.obj is np.c_, node)
    if isinstance(owner.obj, nt.Type):
        # `float64[:, ::1]`
        axes = index.items if isinstance(index, Tup) else (index,)
        return Static(owner.obj[tuple(_parts(axis) for axis in axes)])
    if (method := special_method(ev, owner.obj, "__getitem__")) is not None:
        return ev.call_object(method, [owner, index], {}, node)
    key: Any = index.obj if isinstance(index, Static) else static_int(index)
    if ev.live is not None:
        ev.live.asked(key)
    if key is None and not is_none(index):
        hint = "where the keys are numbers, keep the items in an array or a tuple"
        ev.fail(UnsupportedSyntax, f"cannot index {describe(owner)} by what only the run knows", node, hint=hint)
    try:
        return ev.wrap(owner.obj[key], node, ("item", owner.obj, key))
    except (TypeError, KeyError, IndexError):
        ev.fail(UnsupportedSyntax, f"cannot index {describe(owner)}", node)
