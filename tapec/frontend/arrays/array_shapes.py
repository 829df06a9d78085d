"""Shapes of arrays: reshaping, permuting and inserting axes, and asking for extents."""

from __future__ import annotations

from typing import Any

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend.arrays import subscripts
from tapec.frontend.arrays.array_creation import as_array, copy
from tapec.frontend.arrays.copies_of_views import copy_of_view, is_unclear
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs, argument, extents
from tapec.frontend.evaluator.values import (
    NONE,
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
    static_int,
)
from tapec.frontend.operations import allocation, integer_checks
from tapec.frontend.structures.merging import note_roots
from tapec.rules import arrays_shape
from tapec.syntax.core import Const, Name, Op
from tapec.syntax.types import INT64, Array


def reshape(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """A view of an array whose type is contiguous; otherwise a copy first, as in Numba."""
    again = kwargs.get("copy", NONE)
    if not is_none(again) and getattr(again, "constant", None) is not True:
        ev.fail(UnsupportedSyntax, "`reshape` is taken with `copy=True` or `copy=None`", node)
    if "order" in kwargs or (len(args) == 3 and isinstance(args[2], Static)):
        order = kwargs.get("order", args[-1])
        if not isinstance(order, Static) or order.obj not in ("C", "F"):
            ev.fail(UnsupportedSyntax, "elements are taken in order `C` or `F`, as a literal", node)
        args = args[:2] if "order" not in kwargs else args
        kwargs = {key: value for key, value in kwargs.items() if key != "order"}
        if order.obj == "F":
            made = _in_columns(ev, args, kwargs, node)
            return made if is_none(again) else copy(ev, made, None, node)
    shape = args[1:] if len(args) > 2 else [argument(args, kwargs, 1, "newshape")]
    if "shape" in kwargs:
        shape = [kwargs["shape"]]
    dims = extents(ev, shape[0] if len(shape) == 1 else Tup(tuple(shape)), node)
    owner = ev.materialise(args[0])
    if isinstance(owner, Tup | Lst):
        owner = as_array(ev, owner, node)
    made = reshaped(ev, owner, dims, node)
    if not is_none(again):
        return copy(ev, made, None, node)
    copied = is_unclear(ev, owner, parts=False) and not ev.frame.library
    return copy_of_view(ev, made, owner, "reshape") if copied else made


def _in_columns(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """An array whose elements, taken column by column, are those of another one taken so."""
    shape = kwargs.get("shape") or (args[1] if len(args) == 2 else Tup(tuple(args[1:])))
    dims = extents(ev, shape, node)
    owner = ev.materialise(args[0])
    if isinstance(owner, Tup | Lst):
        owner = as_array(ev, owner, node)
    if not isinstance(owner, Sym) or not isinstance(owner.type, Array):
        ev.fail(TypeMismatch, f"{describe(owner)} cannot be reshaped", node)
    turned = reversed_axes(ev, owner)
    made = reshaped(ev, turned, tuple(reversed(dims)), node)
    made = ev.sym(copy_of_view(ev, made, owner, "reshape")) if is_unclear(ev, turned) else made
    return reversed_axes(ev, made)


def reshaped(ev: Evaluator, owner: Value, dims: tuple[Sym, ...], node: Any) -> Sym:
    if not isinstance(owner, Sym) or not isinstance(owner.type, Array):
        ev.fail(TypeMismatch, f"{describe(owner)} cannot be reshaped", node)
    if is_unclear(ev, owner, parts=False):
        owner = ev.sym(copy(ev, owner, None, node))
    assert isinstance(owner.type, Array) and isinstance(owner.atom, Name)
    size = ev.sym(ev.get_attribute(owner, "size", node))
    # any negative number stands for the extent that is not known
    unknown = [k for k, extent in enumerate(dims) if extent.constant is not None and extent.constant < 0]
    if not ev.frame.library:
        for k, extent in enumerate(dims):
            if k not in unknown:
                message = "an extent of a reshaped array is negative: write the one that is not known as a literal -1"
                integer_checks.refuse_negative(ev, extent, message)
    if len(unknown) > 1:
        ev.fail(TypeMismatch, "only one extent can be -1", node)
    if unknown:
        rest = number(1)
        for k, extent in enumerate(dims):
            if k != unknown[0]:
                rest = extent if rest.constant == 1 else ev.op("*", rest, extent)
        missing = size if rest.constant == 1 else _missing(ev, size, rest)
        dims = tuple(missing if k == unknown[0] else extent for k, extent in enumerate(dims))
    type_ = Array(owner.type.dtype, len(dims), "C", owner.type.readonly)
    result = ev.assign(Op("reshape", (owner.atom, *(d.atom for d in dims))), type_)
    assert isinstance(result.atom, Name)
    note_roots(ev, result.atom.id, owner)
    for axis, extent in enumerate(dims):
        ev.dims[result.atom.id, axis] = extent.atom
    return result


def _missing(ev: Evaluator, size: Sym, rest: Sym) -> Sym:
    """The extent that makes `size` of `rest`: without a division, if those have factors in common."""
    known = ev.lengths.quotient(size.atom, rest.atom)
    if known is None:
        return ev.op("//", size, rest)
    ev.call_library("divides", (rest,))
    made, names = number(known[0]), [Sym(Name(name), INT64) for name in known[1]]
    for one in names:
        made = ev.op("*", made, one)
    return made


def ravel(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    owner = _ordered(ev, ev.materialise(args[0]), argument(args, kwargs, 1, "order"), node)
    rows = copy(ev, owner, None, node) if is_unclear(ev, owner) else owner
    made = reshaped(ev, rows, (ev.sym(ev.get_attribute(owner, "size", node)),), node)
    return copy_of_view(ev, made, owner, "ravel") if is_unclear(ev, owner) and not ev.frame.library else made


def _ordered(ev: Evaluator, owner: Value, order: Value, node: Any) -> Value:
    """The array whose rows, one behind the other, are an array's elements in an order."""
    if isinstance(owner, Tup | Lst):
        owner = as_array(ev, owner, node)
    kind = order.obj if isinstance(order, Static) else "unknown"
    if kind not in (None, "C", "F"):
        ev.fail(UnsupportedSyntax, "elements are taken in order `C` or `F`, as a literal", node)
    return ev.get_attribute(owner, "T", node) if kind == "F" else owner


def flatten(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    owner = _ordered(ev, ev.materialise(args[0]), argument(args, kwargs, 1, "order"), node)
    owner = copy(ev, owner, None, node)
    return reshaped(ev, owner, (ev.sym(ev.get_attribute(owner, "size", node)),), node)


def squeeze(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """A view without axes of extent 1: those that are named, else all whose extent is known to be 1."""
    owner = ev.materialise(args[0])
    if isinstance(owner, Tup | Lst):
        owner = as_array(ev, owner, node)
    axis = argument(args, kwargs, 1, "axis")
    if not isinstance(owner, Sym) or not isinstance(owner.type, Array):
        return owner
    rank = owner.type.ndim
    if not is_none(axis):
        given = [static_int(one) for one in (axis.items if isinstance(axis, Tup) else (axis,))]
        if None in given:
            ev.fail(TypeMismatch, "the axes of `squeeze` must be known", node)
        axes = {one % rank if -rank <= one < rank else one for one in given if one is not None}
    else:
        axes = {place for place in range(rank) if _is_one(ev, owner, place, node)}
    for place in sorted(axes, reverse=True):
        owner = ev.inline_library(arrays_shape.squeeze, [owner, number(place)], {}, node)
    return owner


def _is_one(ev: Evaluator, owner: Sym, axis: int, node: Any) -> bool:
    extent = allocation.dim(ev, owner, axis)
    if extent.constant is None:
        if not ev.deciding:
            ev.fail(
                UnsupportedSyntax,
                "`squeeze` without `axis` of an array whose extents only the run knows",
                node,
                reason="the number of axes that are left depends on them",
                hint="name the axis",
            )
        return ev.decided(ev.op("==", extent, number(1)), node).constant is True
    return bool(extent.constant == 1)


def reversed_axes(ev: Evaluator, owner: Sym) -> Sym:
    """The reversed axes, as a view."""
    type_ = owner.type
    assert isinstance(type_, Array) and isinstance(owner.atom, Name)
    if type_.ndim < 2:
        return owner
    layout = {"C": "F", "F": "C"}.get(type_.layout, "A")
    result = ev.assign(Op("transpose", (owner.atom,)), Array(type_.dtype, type_.ndim, layout, type_.readonly))
    assert isinstance(result.atom, Name)
    note_roots(ev, result.atom.id, owner)
    for axis in range(type_.ndim):
        ev.dims[result.atom.id, axis] = allocation.dim(ev, owner, type_.ndim - 1 - axis).atom
        ev.dim_keys[result.atom.id, axis] = allocation.dim_key(ev, owner, type_.ndim - 1 - axis)
    return result


def transpose(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    owner = ev.materialise(args[0])
    axes: Value = Tup(tuple(args[1:])) if len(args) > 2 else argument(args, kwargs, 1, "axes")
    if not isinstance(owner, Sym) or not isinstance(owner.type, Array):
        ev.fail(TypeMismatch, f"{describe(owner)} cannot be transposed", node)
    if is_none(axes):
        return reversed_axes(ev, owner)
    order = [static_int(axis) for axis in axes.items] if isinstance(axes, Tup) else []
    if sorted(a % owner.type.ndim for a in order if a is not None) != list(range(owner.type.ndim)):
        ev.fail(TypeMismatch, "axes must be a constant permutation", node)
    return permuted(ev, owner, [a % owner.type.ndim for a in order if a is not None])


def permuted(ev: Evaluator, owner: Sym, order: list[int]) -> Sym:
    assert isinstance(owner.type, Array) and isinstance(owner.atom, Name)
    if order == list(range(owner.type.ndim)):
        return owner
    if order == list(reversed(range(owner.type.ndim))):
        return reversed_axes(ev, owner)
    type_ = Array(owner.type.dtype, owner.type.ndim, "A", owner.type.readonly)
    result = ev.assign(Op("permute", (owner.atom, *(Const(a) for a in order))), type_)
    assert isinstance(result.atom, Name)
    note_roots(ev, result.atom.id, owner)
    for axis, source in enumerate(order):
        ev.dims[result.atom.id, axis] = allocation.dim(ev, owner, source).atom
        ev.dim_keys[result.atom.id, axis] = allocation.dim_key(ev, owner, source)
    return result


def swapaxes(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    owner = ev.materialise(args[0])
    first, second = (static_int(argument(args, kwargs, k, f"axis{k}")) for k in (1, 2))
    if not isinstance(owner, Sym) or not isinstance(owner.type, Array) or first is None or second is None:
        ev.fail(TypeMismatch, "swapaxes needs an array and constant axes", node)
    order = list(range(owner.type.ndim))
    order[first], order[second] = order[second], order[first]
    return permuted(ev, owner, order)


def expand_dims(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    owner = ev.materialise(args[0])
    if isinstance(owner, Tup | Lst):
        owner = as_array(ev, owner, node)
    given = argument(args, kwargs, 1, "axis")
    places = [static_int(one) for one in ((given,) if is_scalar(given) else ev.known_items(given, node))]
    if not isinstance(owner, Sym) or not isinstance(owner.type, Array) or None in places:
        ev.fail(TypeMismatch, "expand_dims needs an array and constant axes", node)
    rank = owner.type.ndim + len(places)
    if len({place % rank for place in places if place is not None and -rank <= place < rank}) < len(places):
        ev.fail(TypeMismatch, f"these are not different axes of an array of rank {rank}", node)
    new = {place % rank for place in places if place is not None}
    subs = [NONE if axis in new else Slice(None, None, None) for axis in range(rank)]
    return subscripts.view(ev, owner, tuple(subs), node)


def shape(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return Tup(()) if is_scalar(args[0]) else ev.get_attribute(args[0], "shape", node)


def ndim(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    value = args[0]
    if isinstance(value, Tup | Lst):
        value = as_array(ev, value, node)
    return number(0) if is_scalar(value) else ev.get_attribute(value, "ndim", node)


def size(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    value, axis = args[0], argument(args, kwargs, 1, "axis")
    if isinstance(value, Tup | Lst):
        value = as_array(ev, value, node)
    if not is_none(axis):
        return ev.load(ev.get_attribute(value, "shape", node), axis, node)
    return number(1) if is_scalar(value) else ev.get_attribute(value, "size", node)
