"""Subscripts: elements, views, and indexing by arrays and masks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types as nt

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend import dicts, numba_types
from tapec.frontend.complexes import each, parts
from tapec.frontend.elementwise import (
    array_leaves,
    dim,
    dim_key,
    element,
    elementwise,
    materialise,
    store_at,
    store_elements,
)
from tapec.frontend.evaluator import DeadCode, Evaluator, OpenIf
from tapec.frontend.known import as_tuple, refuse_change
from tapec.frontend.lists import column
from tapec.frontend.merge import note_roots
from tapec.frontend.optional import present
from tapec.frontend.values import (
    Complex,
    Dct,
    Growing,
    Instance,
    Items,
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
    is_none,
    is_scalar,
    number,
    plain_number,
    static_int,
)
from tapec.syntax.core import Assign, Atom, Const, Name, Op, Store
from tapec.syntax.types import Array, Scalar


def load(ev: Evaluator, owner: Value, index: Value, node: Any) -> Value:
    """`owner[index]`."""
    owner = present(ev, owner)
    if isinstance(owner, Tup):
        return tuple_item(ev, owner.items, index, node, owner)
    if isinstance(owner, Lst):
        return list_item(ev, owner, index, node)
    if isinstance(owner, Dct):
        return dicts.item(ev, owner, index, node)
    if isinstance(owner, Static | Instance):
        own = None if ev.live is None else ev.live.operator("__getitem__", [owner, index], node)
        return own or _static_item(ev, owner, index, node)
    if isinstance(owner, Lazy):
        subs = _subs(index)
        if len(subs) == owner.type.ndim and all(is_scalar(sub) for sub in subs):
            return element(ev, owner, tuple(ev.scalar(sub) for sub in subs))
        owner = ev.materialise(owner)
    if not isinstance(owner, Sym | Complex) or not isinstance(owner.type, Array):
        ev.fail(TypeMismatch, f"{describe(owner)} cannot be indexed", node)
    subs = _expanded(ev, owner, index, node)
    if _is_element(owner, subs):
        atoms = tuple(_index(ev, sub, node).atom for sub in subs)
        return _load_at(ev, owner, atoms)
    if any(_is_advanced(sub) for sub in subs):
        return _gather(ev, owner, subs, node)
    return _viewed(ev, owner, subs, node)


def _load_at(ev: Evaluator, owner: Sym | Complex, atoms: tuple[Atom, ...]) -> Value:
    """One element."""

    def load_part(array: Sym) -> Sym:
        assert isinstance(array.type, Array)
        return ev.assign(Op("load", (array.atom, *atoms)), array.type.element)

    found: Value = each(ev, owner, load_part)
    return found


def _viewed(ev: Evaluator, owner: Sym | Complex, subs: tuple[Value, ...], node: Any) -> Any:
    """Basic indexing of any array."""
    return each(ev, owner, lambda array: view(ev, array, subs, node))


def _subs(index: Value) -> tuple[Value, ...]:
    return tuple(map(plain_number, index.items if isinstance(index, Tup) else (index,)))


def _expanded(ev: Evaluator, owner: Sym | Complex, index: Value, node: Any) -> tuple[Value, ...]:
    """The subscripts with `...` replaced by full slices, one per axis they cover."""
    assert isinstance(owner.type, Array)
    subs = tuple(ev.materialise(sub) if isinstance(sub, Lazy) else sub for sub in _subs(index))
    subs = tuple(ev.as_array(sub, node) if isinstance(sub, Tup | Lst) else sub for sub in subs)
    covered = sum(_axes(sub) for sub in subs if not is_none(sub) and not _is_ellipsis(sub))
    missing = owner.type.ndim - covered
    if sum(map(_is_ellipsis, subs)) > 1:
        ev.fail(TypeMismatch, "an index can have one `...` only", node)
    if missing < 0:
        ev.fail(TypeMismatch, f"{covered} subscripts for an array of rank {owner.type.ndim}", node)
    out: list[Value] = []
    for sub in subs:
        if _is_ellipsis(sub):
            out += [Slice(None, None, None)] * missing
            missing = 0
        else:
            out.append(sub)
    return tuple(out)


def _axes(sub: Value) -> int:
    """How many axes a subscript covers."""
    return sub.type.ndim if isinstance(sub, Sym) and isinstance(sub.type, Array) and _is_mask(sub) else 1


def _is_ellipsis(value: Value) -> bool:
    return isinstance(value, Static) and value.obj is Ellipsis


def _is_mask(value: Value) -> bool:
    return isinstance(value, Sym) and isinstance(value.type, Array) and value.type.dtype == "bool"


def _is_advanced(value: Value) -> bool:
    return isinstance(value, Sym) and isinstance(value.type, Array)


def _is_element(owner: Sym | Complex, subs: tuple[Value, ...]) -> bool:
    assert isinstance(owner.type, Array)
    return len(subs) == owner.type.ndim and all(is_scalar(sub) for sub in subs)


def _index(ev: Evaluator, sub: Value, node: Any) -> Sym:
    sym = ev.scalar(sub, node)
    assert isinstance(sym.type, Scalar)
    if sym.type.is_float or sym.type.dtype == "bool":
        ev.fail(TypeMismatch, f"an index must be an integer, not {sym.type}", node)
    return sym


def view(ev: Evaluator, owner: Sym, subs: tuple[Value, ...], node: Any) -> Sym:
    """Basic indexing: a view on the same memory."""
    assert isinstance(owner.type, Array) and isinstance(owner.atom, Name)
    args: list[Any] = []
    kinds: list[nt.Type] = []
    for sub in subs:
        if isinstance(sub, Slice):
            parts = [None if part is None else _index(ev, part, node) for part in (sub.lower, sub.upper, sub.step)]
            atoms = tuple(Const(None) if part is None else part.atom for part in parts)
            args.append(Op("slice", atoms))
            kinds.append(nt.slice2_type if parts[2] is None else nt.slice3_type)
        elif is_none(sub):
            args.append(Const(None))
            kinds.append(nt.none)
        elif is_scalar(sub):
            args.append(_index(ev, sub, node).atom)
            kinds.append(nt.int64)
        else:
            ev.fail(UnsupportedSyntax, f"cannot index an array by {describe(sub)}", node)
    type_ = numba_types.view_type(owner.type, tuple(kinds))
    if type_ is None:
        ev.fail(TypeMismatch, f"Numba cannot index {owner.type} this way", node)
    result = ev.assign(Op("view", (owner.atom, *args)), type_)
    assert isinstance(result.atom, Name)
    ev.roots[result.atom.id] = ev.roots.get(owner.atom.id, frozenset())
    _note_extents(ev, owner, result.atom.id, subs)
    return result


def _note_extents(ev: Evaluator, owner: Sym, result: str, subs: tuple[Value, ...]) -> None:
    """Remember which extents of a view are known from its owner."""
    axis = out = 0
    for sub in subs:
        if is_none(sub):
            ev.dims[result, out] = Const(1)
            out += 1
            continue
        if isinstance(sub, Slice):
            _note_slice(ev, owner, axis, result, out, sub)
            out += 1
        axis += 1
    assert isinstance(owner.type, Array)
    for rest in range(axis, owner.type.ndim):
        _note_slice(ev, owner, rest, result, out, Slice(None, None, None))
        out += 1


def _note_slice(ev: Evaluator, owner: Sym, axis: int, result: str, out: int, sub: Slice) -> None:
    low = 0 if sub.lower is None else static_int(sub.lower)
    high = 0 if sub.upper is None else static_int(sub.upper)
    step = 1 if sub.step is None else static_int(sub.step)
    if low is None or high is None or step != 1 or low < 0 or high > 0 or (high == 0 and sub.upper is not None):
        return
    if low == 0 and high == 0:
        ev.dims[result, out] = dim(ev, owner, axis).atom
        ev.dim_keys[result, out] = dim_key(ev, owner, axis)
        return
    base, offset = dim_key(ev, owner, axis)
    # max(0, n - low + high): equal keys are equal extents
    ev.dim_keys[result, out] = (("slice", base), offset - low + high)


def tuple_item(ev: Evaluator, items: tuple[Value, ...], index: Value, node: Any, owner: Tup | None = None) -> Value:
    # a dict that an argument held comes as a named tuple with its keys
    keys = getattr(owner.cls, "mapping_keys", None) if owner is not None else None
    if keys is not None and isinstance(index, Static):
        if index.obj not in keys:
            known = ", ".join(map(repr, keys))
            ev.fail(TypeMismatch, f"the dict has no key {index.obj!r}", node, hint=f"it has {known}")
        return items[keys.index(index.obj)]
    if isinstance(index, Slice):
        parts = [None if part is None else static_int(part) for part in (index.lower, index.upper, index.step)]
        given = [part for part in (index.lower, index.upper, index.step) if part is not None]
        if any(static_int(part) is None for part in given):
            ev.fail(UnsupportedSyntax, "a slice of a tuple needs constant bounds", node)
        return Tup(items[slice(*parts)])
    position = static_int(index)
    if position is not None:
        if not -len(items) <= position < len(items):
            ev.fail(TypeMismatch, f"index {position} is outside a tuple of {len(items)}", node)
        return items[position]
    if not items:
        ev.fail(TypeMismatch, "an empty tuple cannot be indexed", node)
    sym = _index(ev, index, node)
    if ev.deciding:
        return tuple_item(ev, items, ev.known(sym, node), node, owner)
    # an index that only the run knows: compare it with each position
    check_place(ev, sym, number(len(items)), "tuple index out of range" if owner else "list index out of range")
    negative = ev.op("<", sym, number(0))
    wrapped = ev.op("ifelse", negative, ev.op("+", sym, number(len(items))), sym)
    return _choose(ev, items, wrapped, 0, node)


def _choose(ev: Evaluator, items: tuple[Value, ...], index: Sym, position: int, node: Any) -> Value:
    if position == len(items) - 1:
        return items[position]
    here = ev.op("==", index, number(position))
    return ev.select(here, lambda: items[position], lambda: _choose(ev, items, index, position + 1, node), node)


def item_of(ev: Evaluator, owner: Value, index: Sym, node: Any) -> Value:
    """`owner[index]`, for an index that is known to be in range, such as a loop's."""
    contents = ev.heap[owner] if isinstance(owner, Lst) else None
    if isinstance(contents, Growing):
        return grown_item(ev, contents, index, node)
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
        # the list may have grown in an earlier trip: this way ends here, as far as is known
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
        check_place(ev, _index(ev, index, node), contents.count, "list index out of range")
    result = grown_item(ev, contents, index, node)
    if isinstance(index, Slice) or is_array(result) or is_complex_array(result):
        return ev.new_list(ev.list_from_array(result))
    return result


def grown_item(ev: Evaluator, contents: Growing, index: Value, node: Any) -> Value:
    """An element of a list, of whose place it is known that there is one; for a slice an array of them."""
    if isinstance(contents.buffer, Tup):
        columns = [column(contents, k) for k in range(len(contents.buffer.items))]
        parts = tuple(grown_item(ev, one, index, node) for one in columns if isinstance(one, Growing))
        return Tup(parts, contents.buffer.cls)
    return load(ev, ev.list_view(contents), index, node)


def _static_item(ev: Evaluator, owner: Value, index: Value, node: Any) -> Value:
    """Subscripts of known Python objects, such as a module's dict of constants."""
    if not isinstance(owner, Static):
        ev.fail(UnsupportedSyntax, f"cannot index {describe(owner)}", node)
    key: Any = static_int(index)
    if key is None and isinstance(index, Static):
        key = index.obj
    try:
        return ev.wrap(owner.obj[key], node, ("item", owner.obj, key))
    except (TypeError, KeyError, IndexError):
        ev.fail(UnsupportedSyntax, f"cannot index {describe(owner)}", node)


def _gather(ev: Evaluator, owner: Sym | Complex, subs: tuple[Value, ...], node: Any) -> Value:
    """Indexing by an integer array or a mask: a copy."""
    base, axis, index = _advanced(ev, owner, subs, node)
    if isinstance(index, tuple):
        return ev.call_library("gather_points", (base, Tup(index)))
    if _is_mask(index):
        return ev.call_library("gather_mask", (base, index, number(axis)))
    taken_apart = isinstance(base, Complex) or base.type.is_float
    if ev.gathers is not None and axis == 0 and taken_apart:
        rows: Value = each(ev, base, lambda part: _rows(ev, part, index))
        return rows
    return ev.call_library("gather", (base, index, number(axis)))


def _rows(ev: Evaluator, table: Sym, index: Sym) -> Value:
    """Rows of an array, which is read under a name of its own for them: a gradient may be wanted as rows."""
    named = ev.assign(table.atom, table.type, "table")
    assert isinstance(named.atom, Name) and isinstance(table.type, Array) and ev.gathers is not None
    note_roots(ev, named.atom.id, table)
    for axis in range(table.type.ndim):
        ev.dims[named.atom.id, axis] = dim(ev, table, axis).atom
        ev.dim_keys[named.atom.id, axis] = dim_key(ev, table, axis)
    made = ev.call_library("gather", (named, index, number(0)))
    if isinstance(made, Sym) and isinstance(made.atom, Name) and isinstance(index.atom, Name):
        ev.gathers[named.atom.id] = made.atom.id, index.atom.id
    return made


def _advanced(
    ev: Evaluator, owner: Sym | Complex, subs: tuple[Value, ...], node: Any
) -> tuple[Sym | Complex, int, Any]:
    """Split subscripts into a basic view and the array that indexes one of its axes."""
    places = [k for k, sub in enumerate(subs) if _is_advanced(sub)]
    if len(places) > 1:
        arrays = all(_is_advanced(sub) and not _is_mask(sub) for sub in subs)
        assert isinstance(owner.type, Array)
        if arrays and len(subs) == owner.type.ndim:
            return owner, 0, subs
        ev.fail(UnsupportedSyntax, "cannot index by several arrays and slices at once", node)
    place = places[0]
    index = subs[place]
    assert isinstance(index, Sym) and isinstance(index.type, Array)
    if index.type.is_float:
        ev.fail(TypeMismatch, "an index array must hold integers or booleans", node)
    ints = [k for k, sub in enumerate(subs) if is_scalar(sub)]
    if any(not is_scalar(sub) for k in ints for sub in subs[min(k, place) : max(k, place)] if not _is_advanced(sub)):
        ev.fail(UnsupportedSyntax, "an index array apart from an integer subscript moves axes", node)
    full = Slice(None, None, None)
    width = index.type.ndim if _is_mask(index) else 1
    basic = (*subs[:place], *([full] * width), *subs[place + 1 :])
    axis = sum(1 for sub in subs[:place] if not is_scalar(sub))
    if all(isinstance(sub, Slice) and sub == full for sub in basic):
        return owner, axis, index
    return _viewed(ev, owner, basic, node), axis, index


def store(ev: Evaluator, owner: Value, index: Value, value: Value, node: Any) -> None:
    """`owner[index] = value`."""
    if isinstance(owner, Lst):
        _store_list(ev, owner, index, value, node)
        return
    if isinstance(owner, Dct):
        dicts.store(ev, owner, index, value, node)
        return
    live = ev.live if isinstance(owner, Instance | Static) else None
    if live is not None and live.operator("__setitem__", [owner, index, value], node) is not None:
        return
    owner, value = _writable(ev, owner, node), present(ev, value)
    subs = _expanded(ev, owner, index, node)
    if _is_element(owner, subs):
        atoms = tuple(_index(ev, sub, node).atom for sub in subs)
        store_at(ev, owner, atoms, _number(ev, owner, value, node))
        return
    if isinstance(value, Tup | Lst):
        value = ev.as_array(value, node)
    if any(_is_advanced(sub) for sub in subs):
        base, axis, array = _advanced(ev, owner, subs, node)
        _refuse_complex(ev, owner, value, node)
        value = separate(ev, owner, ev.materialise(value))
        if isinstance(array, tuple):
            ev.call_library("scatter_points", (base, Tup(array), value))
        elif _is_mask(array):
            ev.call_library("scatter_mask", (base, array, number(axis), value))
        else:
            ev.call_library("scatter", (base, array, number(axis), value))
        return
    target = owner if _is_whole(owner, subs) else _viewed(ev, owner, subs, node)
    write_into(ev, target, value, node)


def _number(ev: Evaluator, target: Sym | Complex, value: Value, node: Any) -> Value:
    """A number that is stored into an element of `target`."""
    _refuse_complex(ev, target, value, node)
    value = ev.materialise(value)
    if isinstance(value, Complex):
        return _load_at(ev, value, ()) if value.is_array and value.type.ndim == 0 else value
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


def separate(ev: Evaluator, target: Sym | Complex, value: Value) -> Value:
    """`value`, copied first if it reads memory of `target` at other places than it is written to."""
    own = [part.atom.id for part in parts(target)]
    roots = frozenset().union(*(ev.roots.get(name, frozenset()) for name in own))
    for leaf in array_leaves(value):
        assert isinstance(leaf.atom, Name) and isinstance(leaf.type, Array)
        if leaf.atom.id in own:
            continue
        if roots & ev.roots.get(leaf.atom.id, frozenset()):
            copied = elementwise(ev, "pos", (value,)) if isinstance(value, Sym | Complex) else value
            return materialise(ev, copied)
    return value


def update(ev: Evaluator, owner: Value, index: Value, fn: str, make: Any, node: Any) -> None:
    """`owner[index] fn= value`, where `make()` evaluates the value."""
    if isinstance(owner, Lst):
        old = list_item(ev, owner, index, node)
        _store_list(ev, owner, index, ev.binary(fn, old, make(), node), node)
        return
    if isinstance(owner, Dct | Instance | Static):
        store(ev, owner, index, ev.binary(fn, load(ev, owner, index, node), make(), node), node)
        return
    owner = _writable(ev, owner, node)
    subs = _expanded(ev, owner, index, node)
    if _is_element(owner, subs):
        atoms = tuple(_index(ev, sub, node).atom for sub in subs)
        # Python reads the old element before it evaluates the right-hand side
        old = _load_at(ev, owner, atoms)
        block, place = ev.block, len(ev.block)
        value = make()
        same = _same_kind(value, old)
        # only plain assignments since: nothing can have changed the element meanwhile
        undisturbed = ev.decider is None and ev.block is block and all(isinstance(s, Assign) for s in block[place:])
        if fn in ("+", "-") and same and undisturbed:
            del block[place - len(parts(old)) : place]
            item = value if fn == "+" else elementwise(ev, "neg", (value,))
            # a real number is added to the real part alone
            for array, part in zip(parts(owner), parts(item), strict=False):
                ev.emit(Store(array.atom.id, atoms, part.atom, True, ev.span))
            return
        store_at(ev, owner, atoms, _number(ev, owner, ev.binary(fn, old, value, node), node))
        return
    if any(_is_advanced(sub) for sub in subs):
        old_values = _gather(ev, owner, subs, node)
        store(ev, owner, index, ev.binary(fn, old_values, make(), node), node)
        return
    target = owner if _is_whole(owner, subs) else _viewed(ev, owner, subs, node)
    update_array(ev, target, fn, make(), node)


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
    if not isinstance(result, Lazy):
        write_into(ev, target, result, node)
        return
    if not np.can_cast(result.type.dtype, target.type.dtype, "same_kind"):
        ev.fail(TypeMismatch, f"cannot store {result.type.dtype} into an array of {target.type.dtype}", node)
    store_elements(ev, target, result)


def _writable(ev: Evaluator, owner: Value, node: Any) -> Sym | Complex:
    if not isinstance(owner, Sym | Complex) or not isinstance(owner.type, Array):
        ev.fail(TypeMismatch, f"{describe(owner)} does not support item assignment", node)
    if owner.type.readonly:
        ev.fail(TypeMismatch, "cannot store into a read-only array", node)
    return owner


def _store_list(ev: Evaluator, owner: Lst, index: Value, value: Value, node: Any) -> None:
    refuse_change(ev, owner, node)
    contents = ev.heap[owner]
    if ev.deciding and isinstance(index, Sym):
        index = ev.known(index, node)
    position = static_int(index)
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
    if is_scalar(plain_number(index)):
        check_place(ev, _index(ev, index, node), grown.count, "list assignment index out of range")
    _store_grown(ev, grown, index, value, node)


def _store_grown(ev: Evaluator, contents: Growing, index: Value, value: Value, node: Any) -> None:
    buffer = contents.buffer
    if not isinstance(buffer, Tup):
        store(ev, ev.list_view(contents), index, value, node)
        return
    if not isinstance(value, Tup) or (len(value.items), value.cls) != (len(buffer.items), buffer.cls):
        ev.fail(TypeMismatch, f"a list of tuples of {len(buffer.items)} cannot hold {describe(value)}", node)
    for k, item in enumerate(value.items):
        one = column(contents, k)
        assert isinstance(one, Growing)
        _store_grown(ev, one, index, item, node)
