"""Subscripts of arrays: elements, views, and copies made by index arrays and masks."""

from __future__ import annotations

from typing import Any

from numba.core import types as nt

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend.evaluator import numba_types
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import (
    Complex,
    Items,
    Lazy,
    Lst,
    Slice,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_none,
    is_scalar,
    number,
    plain_number,
    static_int,
)
from tapec.frontend.operations.allocation import dim, dim_key, id_of, nominal, total
from tapec.frontend.operations.complex_arithmetic import each
from tapec.frontend.structures.merging import note_roots
from tapec.rules import arrays_shape
from tapec.syntax.core import Atom, Const, Name, Op
from tapec.syntax.linear import Sum
from tapec.syntax.types import Array, Scalar


def subscripts_of(index: Value) -> tuple[Value, ...]:
    """The subscripts that an index holds, one or a tuple of them."""
    return tuple(map(plain_number, index.items if isinstance(index, Tup) else (index,)))


def expanded(ev: Evaluator, owner: Sym | Complex, index: Value, node: Any) -> tuple[Value, ...]:
    """The subscripts with `...` replaced by full slices, one per axis they cover.

    One that covers no axis stays where it stands between subscripts of which some are arrays: it keeps them apart.
    """
    assert isinstance(owner.type, Array)
    subs = tuple(ev.materialise(sub) if isinstance(sub, Lazy) else sub for sub in subscripts_of(index))
    subs = tuple(_index_array(ev, sub, node) if isinstance(sub, Tup | Lst) else sub for sub in subs)
    covered = sum(_axes(sub) for sub in subs if not is_none(sub) and not _is_ellipsis(sub))
    missing = owner.type.ndim - covered
    if sum(map(_is_ellipsis, subs)) > 1:
        ev.fail(TypeMismatch, "an index can have one `...` only", node)
    if missing < 0:
        ev.fail(TypeMismatch, f"{covered} subscripts for an array of rank {owner.type.ndim}", node)
    out: list[Value] = []
    for place, sub in enumerate(subs):
        if _is_ellipsis(sub):
            beside = subs[:place], subs[place + 1 :]
            sides = [any(is_advanced(one) or is_scalar(one) for one in part) for part in beside]
            apart = not missing and all(sides) and any(map(is_advanced, subs))
            out += [sub] if apart else [Slice(None, None, None)] * missing
            missing = 0
        else:
            out.append(sub)
    return tuple(out)


def _index_array(ev: Evaluator, items: Tup | Lst, node: Any) -> Any:
    """A list as a subscript; one without items has integers, for once."""
    held = ev.heap[items] if isinstance(items, Lst) else None
    return ev.as_array(items, node, "int64" if isinstance(held, Items) and not held.values else None)


def _axes(sub: Value) -> int:
    """How many axes a subscript covers."""
    return sub.type.ndim if isinstance(sub, Sym) and isinstance(sub.type, Array) and is_mask(sub) else 1


def _is_ellipsis(value: Value) -> bool:
    return isinstance(value, Static) and value.obj is Ellipsis


def is_mask(value: Value) -> bool:
    """Whether a subscript is an array of booleans."""
    return isinstance(value, Sym) and isinstance(value.type, Array) and value.type.dtype == "bool"


def is_advanced(value: Value) -> bool:
    """Whether a subscript is an array."""
    return isinstance(value, Sym) and isinstance(value.type, Array)


def is_element(owner: Sym | Complex, subs: tuple[Value, ...]) -> bool:
    """Whether the subscripts name one element."""
    assert isinstance(owner.type, Array)
    return len(subs) == owner.type.ndim and all(is_scalar(sub) for sub in subs)


def integer(ev: Evaluator, sub: Value, node: Any) -> Sym:
    """A subscript that is one number; TypeMismatch if it is not an integer."""
    sym = ev.scalar(sub, node)
    assert isinstance(sym.type, Scalar)
    if sym.type.is_float or sym.type.dtype == "bool":
        ev.fail(TypeMismatch, f"an index must be an integer, not {sym.type}", node)
    return sym


def load_at(ev: Evaluator, owner: Sym | Complex, atoms: tuple[Atom, ...]) -> Value:
    """One element."""

    def load_part(array: Sym) -> Sym:
        assert isinstance(array.type, Array)
        return ev.assign(Op("load", (array.atom, *atoms)), array.type.element)

    found: Value = each(ev, owner, load_part)
    return found


def viewed(ev: Evaluator, owner: Sym | Complex, subs: tuple[Value, ...], node: Any) -> Any:
    """Basic indexing of any array."""
    return each(ev, owner, lambda array: view(ev, array, subs, node))


def view(ev: Evaluator, owner: Sym, subs: tuple[Value, ...], node: Any) -> Sym:
    """Basic indexing: a view on the same memory."""
    assert isinstance(owner.type, Array) and isinstance(owner.atom, Name)
    if not subs and owner.type.ndim:
        # `a[()]`, as `a[i]` is for the empty `i` of a loop over no axes
        subs = (Slice(None, None, None),)
    args: list[Any] = []
    kinds: list[nt.Type] = []
    for sub in subs:
        if isinstance(sub, Slice):
            parts = [None if part is None else integer(ev, part, node) for part in (sub.lower, sub.upper, sub.step)]
            atoms = tuple(Const(None) if part is None else part.atom for part in parts)
            args.append(Op("slice", atoms))
            kinds.append(nt.slice2_type if parts[2] is None else nt.slice3_type)
        elif is_none(sub):
            args.append(Const(None))
            kinds.append(nt.none)
        elif is_scalar(sub):
            args.append(integer(ev, sub, node).atom)
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
    if sub.step is not None and static_int(sub.step) != 1:
        return
    first = ev.lengths.sum(Const(0) if sub.lower is None else ev.scalar(sub.lower).atom)
    # where extents are sums of others, that of the owner may say which one the slice has
    asked = (ev.partners.get(id_of(owner), id_of(owner)), axis) in ev.dims
    known = asked or ev.lengths.assumed is not None or _is_part(ev, sub.lower) or _is_part(ev, sub.upper)
    exact = ev.lengths.sum(dim(ev, owner, axis).atom) if known else None
    whole = nominal(ev, owner, axis)
    if exact is not None and (low != 0 or high != 0 or sub.upper is not None):
        end = exact if sub.upper is None else ev.lengths.sum(ev.scalar(sub.upper).atom)
        if high is not None and high < 0:
            end = exact.plus(end)
        length = end.plus(first, -1)
        # a loop that is known to have no iterations connects nothing, but a slice of no elements does
        if length != Sum() and _is_certain(ev, first, end, exact):
            ev.dims[result, out] = total(ev, length).atom
            return
    if low is None or high is None or low < 0 or high > 0 or (high == 0 and sub.upper is not None):
        last = None if sub.upper is None else ev.lengths.sum(ev.scalar(sub.upper).atom)
        # slices with the same bounds of axes that are equally long
        ev.dim_keys[result, out] = ("slice", dim_key(ev, owner, axis), first, last), 0
        ev.lengths.note_slice(result, out, whole, first, last)
        return
    if low == 0 and high == 0:
        ev.dims[result, out] = dim(ev, owner, axis).atom
        ev.dim_keys[result, out] = dim_key(ev, owner, axis)
    else:
        base, offset = dim_key(ev, owner, axis)
        # max(0, n - low + high): equal keys are equal extents
        ev.dim_keys[result, out] = (("slice", base), offset - low + high)
    if whole is not None:
        ev.lengths.note_slice(result, out, whole.plus(ev.lengths.sum(Const(-high)), -1), first, None)


def _is_certain(ev: Evaluator, first: Sum, last: Sum, whole: Sum) -> bool:
    """Whether what a slice takes is certain to be on its axis: of sums of parameters' extents, whatever those are."""
    return all(map(ev.lengths.never_negative, (first, last.plus(first, -1), whole.plus(last, -1))))


def _is_part(ev: Evaluator, bound: Value | None) -> bool:
    """Whether a bound of a slice is a sum with a part of a parameter's extent."""
    names = () if bound is None else ev.lengths.sum(ev.scalar(bound).atom).names()
    return any(name in ev.lengths.own_axes and ev.lengths.own_axes[name].divisor > 1 for name in names)


def gather(ev: Evaluator, owner: Sym | Complex, subs: tuple[Value, ...], node: Any) -> Value:
    """Indexing by an integer array or a mask: a copy."""
    base, axis, index = advanced(ev, owner, subs, node)
    if isinstance(index, tuple):
        return ev.call_library("gather_points", (base, Tup(index), number(axis)))
    if is_mask(index):
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


def advanced(
    ev: Evaluator, owner: Sym | Complex, subs: tuple[Value, ...], node: Any
) -> tuple[Sym | Complex, int, Any]:
    """Split subscripts into a basic view, an axis of it, and what indexes the axes from there on.

    That is an array, or a tuple of several of one shape, one for each axis.  Subscripts that are arrays or integers
    count as one: what they choose stands where they stand, or, if slices lie between them, before all other axes.
    """
    places = [k for k, sub in enumerate(subs) if is_advanced(sub)]
    arrays = [subs[k] for k in places]
    if len(arrays) > 1 and any(map(is_mask, arrays)):
        ev.fail(UnsupportedSyntax, "a mask beside other arrays in one index", node, hint="use np.flatnonzero(mask)")
    if any(isinstance(one, Sym) and one.type.is_float for one in arrays):
        ev.fail(TypeMismatch, "an index array must hold integers or booleans", node)
    full = Slice(None, None, None)
    basic: list[Value] = []
    axes: list[int] = []
    for sub in subs:
        if _is_ellipsis(sub):
            continue
        width = _axes(sub) if is_advanced(sub) else 0
        before = sum(not is_scalar(one) for one in basic)
        axes += range(before, before + width)
        basic += [full] * width if width else [sub]
    whole = all(isinstance(sub, Slice) and sub == full for sub in basic)
    base = owner if whole else viewed(ev, owner, tuple(basic), node)
    axis = axes[0]
    grouped = [k for k, sub in enumerate(subs) if is_advanced(sub) or is_scalar(sub)]
    if grouped != list(range(grouped[0], grouped[-1] + 1)):
        if axes != list(range(len(axes))):
            moves = [Tup(tuple(map(number, some))) for some in (axes, range(len(axes)))]
            base = each(ev, base, lambda part: ev.inline_library(arrays_shape.moveaxis, [part, *moves], {}, node))
        axis = 0
    if len(arrays) == 1:
        return base, axis, arrays[0]
    joint = ev.inline_library(arrays_shape.joint_indices, [Tup(tuple(arrays))], {}, node)
    assert isinstance(joint, Tup)
    return base, axis, joint.items
