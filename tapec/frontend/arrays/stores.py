"""What changes an array, list or dict in place: `owner[index] = value`, `owner[index] += value`, whole arrays."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend.arrays.indexing import asked, check_place, list_item, list_place, load
from tapec.frontend.arrays.subscripts import (
    advanced,
    expanded,
    gather,
    integer,
    is_advanced,
    is_element,
    is_mask,
    load_at,
    viewed,
)
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import (
    Complex,
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
    is_complex,
    is_complex_array,
    is_scalar,
    mapping,
    number,
    static_int,
)
from tapec.frontend.operations.broadcasting import array_leaves
from tapec.frontend.operations.circular_shifts import is_shifted
from tapec.frontend.operations.complex_arithmetic import parts
from tapec.frontend.operations.elementwise import elementwise, materialise, store_at, store_elements
from tapec.frontend.structures import dicts, typed_containers
from tapec.frontend.structures.constant_containers import refuse_change
from tapec.frontend.structures.sparse_matrices import is_sparse
from tapec.rules import arrays_index
from tapec.syntax.core import Assign, Name, Store
from tapec.syntax.types import Array, Scalar


def store(ev: Evaluator, owner: Value, index: Value, value: Value, node: Any) -> None:
    """`owner[index] = value`."""
    if isinstance(owner, Lst):
        _store_list(ev, owner, index, value, node)
        return
    if isinstance(owner, Dct):
        dicts.store(ev, owner, index, value, node)
        return
    if isinstance(owner, Iteration) and owner.kind == "flat":
        _store_flat(ev, owner.args[0], index, value, node)
        return
    own = isinstance(owner, Instance | Static)
    if own and ev.operator("__setitem__", [owner, index, value], node) is not None:
        return
    owner, value = _writable(ev, owner, node), ev.present(value)
    subs = expanded(ev, owner, index, node)
    if is_element(owner, subs):
        atoms = tuple(integer(ev, sub, node).atom for sub in subs)
        value = _number(ev, owner, value, node)
        with asked(ev):
            store_at(ev, owner, atoms, value)
        return
    if isinstance(value, Tup | Lst):
        value = ev.as_array(value, node)
    if any(is_advanced(sub) for sub in subs):
        _refuse_complex(ev, owner, value, node)
        value = ev.materialise(value)
        with asked(ev):
            base, axis, array = advanced(ev, owner, subs, node)
            value = separate(ev, owner, value, looked_up=True)
            if isinstance(array, tuple):
                ev.call_library("scatter_points", (base, Tup(array), number(axis), value))
            elif is_mask(array):
                ev.call_library("scatter_mask", (base, array, number(axis), value))
            else:
                ev.call_library("scatter", (base, array, number(axis), value))
        return
    write_into(ev, _target(ev, owner, subs, node), value, node)


def _store_flat(ev: Evaluator, array: Value, index: Value, value: Value, node: Any) -> None:
    """`a.flat[index] = value`, where values are taken again from the first one as often as it needs."""
    if not is_scalar(index):
        every = ev.call_object(np.arange, [ev.get_attribute(array, "size", node)], {}, node)
        index = load(ev, every, index, node)
    ev.inline_library(arrays_index.put, [array, index, ev.materialise(value)], {}, node)


def _target(ev: Evaluator, owner: Sym | Complex, subs: tuple[Value, ...], node: Any) -> Sym | Complex:
    """What slices and numbers take of an array, to be stored into."""
    if _is_whole(owner, subs):
        return owner
    with asked(ev):
        return viewed(ev, owner, subs, node)


def _number(ev: Evaluator, target: Sym | Complex, value: Value, node: Any) -> Value:
    """A number that is stored into an element of `target`."""
    _refuse_complex(ev, target, value, node)
    value = ev.materialise(value)
    if isinstance(value, Complex):
        return load_at(ev, value, ()) if value.is_array and value.type.ndim == 0 else value
    return ev.scalar(value, node)


def _refuse_complex(ev: Evaluator, target: Sym | Complex, value: Value, node: Any) -> None:
    """Complex values do not go into real arrays."""
    if is_complex(value) and not isinstance(target, Complex):
        message = f"cannot store {describe(value)} into an array of {target.type.dtype}"  # type: ignore[union-attr]
        ev.fail(TypeMismatch, message, node, hint="take .real, .imag or abs(), or make the array complex")


def _is_whole(owner: Sym | Complex, subs: tuple[Value, ...]) -> bool:
    assert isinstance(owner.type, Array)
    return len(subs) <= owner.type.ndim and all(sub == Slice(None, None, None) for sub in subs)


def write_into(ev: Evaluator, target: Sym | Complex, value: Value, node: Any) -> None:
    """Store `value` into all elements of `target`, as if it were complete before the first store."""
    assert isinstance(target.type, Array)
    if target.type.ndim == 0:
        store_at(ev, target, (), _number(ev, target, value, node))
        return
    _refuse_complex(ev, target, value, node)
    if is_array(value) or is_complex_array(value):
        value = separate(ev, target, value)
    elif not is_scalar(value) and not is_complex(value):
        ev.fail(TypeMismatch, f"cannot store {describe(value)} into an array", node)
    store_elements(ev, target, value)


def separate(ev: Evaluator, target: Sym | Complex, value: Value, looked_up: bool = False) -> Value:
    """`value`, copied first if it reads memory of `target` at other places than it is written to.

    looked_up  whether those are places that an array tells
    """
    own = [part.atom.id for part in parts(target)]
    roots = frozenset().union(*(ev.roots.get(name, frozenset()) for name in own))
    for leaf in array_leaves(value):
        assert isinstance(leaf.atom, Name) and isinstance(leaf.type, Array)
        if leaf.atom.id in own and not is_shifted(value) and not looked_up:
            continue
        if roots & ev.roots.get(leaf.atom.id, frozenset()):
            copied = elementwise(ev, "pos", (value,)) if isinstance(value, Sym | Complex) else value
            return materialise(ev, copied)
    return value


def update(ev: Evaluator, owner: Value, index: Value, fn: str, make: Any, node: Any) -> None:
    """`owner[index] fn= value`, where `make()` evaluates the value."""
    if isinstance(owner, Lst):
        old = list_item(ev, owner, index, node)
        if (new := updated(ev, old, fn, make(), node)) is not old:
            _store_list(ev, owner, index, new, node)
        return
    if isinstance(owner, Dct | Instance | Static | Iteration):
        store(ev, owner, index, updated(ev, load(ev, owner, index, node), fn, make(), node), node)
        return
    owner = _writable(ev, owner, node)
    subs = expanded(ev, owner, index, node)
    if is_element(owner, subs):
        atoms = tuple(integer(ev, sub, node).atom for sub in subs)
        # Python reads the old element before it evaluates the right-hand side
        old = load_at(ev, owner, atoms)
        block, place = ev.block, len(ev.block)
        value = make()
        same = _same_kind(value, old)
        # only plain assignments since: nothing can have changed the element meanwhile
        undisturbed = ev.decider is None and ev.block is block and all(isinstance(s, Assign) for s in block[place:])
        if fn in ("+", "-") and same and undisturbed:
            del block[place - len(parts(old)) : place]
            item = value if fn == "+" else elementwise(ev, "neg", (value,))
            # a real number is added to the real part alone
            with asked(ev):
                for array, part in zip(parts(owner), parts(item), strict=False):
                    ev.emit(Store(array.atom.id, atoms, part.atom, True, ev.span))
            return
        value = _number(ev, owner, ev.binary(fn, old, value, node), node)
        with asked(ev):
            store_at(ev, owner, atoms, value)
        return
    if any(is_advanced(sub) for sub in subs):
        with asked(ev):
            old_values = gather(ev, owner, subs, node)
        store(ev, owner, index, ev.binary(fn, old_values, make(), node), node)
        return
    update_array(ev, _target(ev, owner, subs, node), fn, make(), node)


def updated(ev: Evaluator, old: Value, fn: str, value: Value, node: Any, ident: str = "t") -> Value:
    """What `old fn= value` leaves: arrays and lists are changed in place."""
    if (ev.live is not None and old.changing) or isinstance(old, Static | Instance):
        own = ev.operator(f"{fn}=", [old, ev.materialise(value)], node)
        if own is not None:
            return own
    if isinstance(old, Sym | Complex) and isinstance(old.type, Array):
        if old.type.readonly:
            _refuse_read_only(ev, node)
        if fn == "@":
            value = ev.materialise(value)
            _check_kind(ev, old, value, node)
            ev.call_library("multiply_into", (old, value))
        else:
            update_array(ev, old, fn, value, node)
        return old
    if isinstance(old, Lst) and fn == "+":
        refuse_change(ev, old, node)
        ev.extend_list(old, value, node)
        return old
    if isinstance(old, Dct) and old.cls is not frozenset:
        made = ev.binary(fn, old, value, node)
        assert isinstance(made, Dct)
        dicts.replace(ev, old, made, node)
        return old
    if is_sparse(old):
        hint = "change `A.data`, or write `A = A * c`"
        ev.fail(UnsupportedSyntax, "a sparse matrix is changed in place", node, hint=hint)
    if mapping(old) is not None:
        ev.fail(UnsupportedSyntax, "a dict that is an argument is changed", node, hint="change a copy: `dict(p)`")
    before = len(ev.types)
    result: Value = ev.materialise(ev.binary(fn, old, value, node), ident)
    return result if ev.live is None else ev.live.new_number(result, before)


def update_at(ev: Evaluator, function: Any, owner: Value, index: Value, value: Value, node: Any) -> None:
    """`function.at(owner, index, value)`: unlike `owner[index] += value` it counts a place as often as it is given."""
    owner, value = _writable(ev, owner, node), ev.materialise(value)
    if isinstance(value, Tup | Lst):
        value = ev.as_array(value, node)
    subs = expanded(ev, owner, index, node)
    _refuse_complex(ev, owner, value, node)
    with asked(ev):
        places = advanced(ev, owner, subs, node) if any(is_advanced(sub) for sub in subs) else None
    if places is None or is_mask(places[2]):
        store(ev, owner, index, ev.call_object(function, [ev.load(owner, index, node), value], {}, node), node)
        return
    base, axis, array = places
    value = separate(ev, owner, value, looked_up=True)
    with asked(ev):
        if isinstance(array, tuple):
            ev.call_library("update_points", (Static(function), base, Tup(array), number(axis), value))
        else:
            ev.call_library("update_rows", (Static(function), base, array, number(axis), value))


def _same_kind(value: Value, element: Value) -> bool:
    """Whether a number can be added to an element of a float array in place, without a conversion."""
    if isinstance(element, Complex):
        value, element = value.re if isinstance(value, Complex) else value, element.re
    return isinstance(value, Sym) and isinstance(element, Sym) and value.type == element.type and element.type.is_float


def update_array(ev: Evaluator, target: Sym | Complex, fn: str, value: Value, node: Any) -> None:
    """`target fn= value` in place, for a whole array or view."""
    assert isinstance(target.type, Array)
    if isinstance(value, Tup | Lst):
        value = ev.as_array(value, node)
    if is_array(value) or is_complex_array(value):
        value = separate(ev, target, value)
    result = elementwise(ev, fn, (target, value), node)
    _check_kind(ev, target, result, node)
    if isinstance(result, Lazy):
        store_elements(ev, target, result)
    else:
        write_into(ev, target, result, node)


def _check_kind(ev: Evaluator, target: Sym | Complex, value: Value, node: Any) -> None:
    """Floats are not stored into integers in place."""
    kind = value.type if isinstance(value, Lazy | Sym) else None
    assert isinstance(target.type, Array)
    if isinstance(kind, Array | Scalar) and not np.can_cast(kind.dtype, target.type.dtype, "same_kind"):
        ev.fail(TypeMismatch, f"cannot store {kind.dtype} into an array of {target.type.dtype}", node)


def _refuse_read_only(ev: Evaluator, node: Any) -> NoReturn:
    hint = "" if ev.live is None else "copy it first; variables are changed by assign, assign_add or assign_sub"
    ev.fail(TypeMismatch, "cannot store into a read-only array", node, hint=hint)


def _writable(ev: Evaluator, owner: Value, node: Any) -> Sym | Complex:
    if mapping(owner) is not None:
        message = "an item of a dict that is an argument is set"
        ev.fail(UnsupportedSyntax, message, node, hint="set it in a copy: `dict(p)`")
    if not isinstance(owner, Sym | Complex) or not isinstance(owner.type, Array):
        hint = "lists that are arguments do not change: set it in a copy, `list(p)`" if isinstance(owner, Tup) else ""
        ev.fail(TypeMismatch, f"{describe(owner)} does not support item assignment", node, hint=hint)
    if owner.type.readonly:
        _refuse_read_only(ev, node)
    return owner


def _store_list(ev: Evaluator, owner: Lst, index: Value, value: Value, node: Any) -> None:
    refuse_change(ev, owner, node)
    if not isinstance(index, Slice):
        value = typed_containers.item_of(ev, owner, value, node)
    contents = ev.heap[owner]
    if ev.deciding and isinstance(index, Sym):
        index = ev.decided(index, node)
    position = static_int(index)
    if isinstance(contents, Items) and isinstance(index, Slice):
        parts = index.lower, index.upper, index.step
        bounds = [None if part is None else static_int(ev.decided(part, node)) for part in parts]
        if all(part is None or bound is not None for part, bound in zip(parts, bounds, strict=True)):
            items = list(contents.values)
            items[slice(*bounds)] = ev.known_items(value, node)
            ev.heap[owner] = Items(tuple(items))
            return
    if isinstance(index, Slice):
        hint = "assign its elements in a loop"
        ev.fail(UnsupportedSyntax, "a slice of a list whose length is not known is assigned", node, hint=hint)
    if isinstance(contents, Items) and position is not None:
        items = list(contents.values)
        value = ev.materialise(value)
        if not -len(items) <= position < len(items):
            ev.fail(TypeMismatch, f"index {position} is outside a list of {len(items)}", node)
        items[position] = value
        ev.heap[owner] = Items(tuple(items))
        return
    grown = ev.grow(owner)
    assert isinstance(grown, Growing)
    place = integer(ev, index, node)
    check_place(ev, place, grown.count, "list assignment index out of range")
    _store_item(ev, grown.buffer, list_place(ev, place, grown.count, node), value, node)


def _store_item(ev: Evaluator, buffer: Any, place: Sym, value: Value, node: Any) -> None:
    """Store an element of a list at a place of its buffer."""
    if not isinstance(buffer, Tup):
        for part in parts(buffer):
            ev.list_memory |= ev.roots.get(part.atom.id, frozenset())
        store(ev, buffer, place, value, node)
        return
    if not isinstance(value, Tup) or (len(value.items), value.cls) != (len(buffer.items), buffer.cls):
        ev.fail(TypeMismatch, f"a list of tuples of {len(buffer.items)} cannot hold {describe(value)}", node)
    for part, item in zip(buffer.items, value.items, strict=True):
        _store_item(ev, part, place, item, node)
