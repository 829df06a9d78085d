"""Elementwise array expressions: kept as trees, then written as loops over scalars.

`y = a * x + b` makes one loop and one array.  Broadcasting is resolved here, once: an axis that
is known to have the output's extent is indexed by the loop's variable, one of extent 1 by 0.  What is
not known is compared at run time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tapec.errors import TypeMismatch
from tapec.frontend import numba_types
from tapec.frontend.evaluator import Evaluator, OpenLoop
from tapec.frontend.optional import present
from tapec.frontend.values import Lazy, Sym, Tup, Value, describe, is_array, number, plain_number
from tapec.syntax.core import Assign, Const, Name, Op, Store
from tapec.syntax.types import INT64, Array, Scalar, Type


def alloc(ev: Evaluator, dtype: str, dims: tuple[Sym, ...], zero: bool = False, base: str = "t") -> Sym:
    """Emit a fresh C-contiguous array."""
    type_ = Array(dtype, len(dims), "C")
    fn = "zeros" if zero else "empty"
    result = ev.assign(Op(fn, (Const(dtype), *(d.atom for d in dims))), type_, base)
    assert isinstance(result.atom, Name)
    ev.roots[result.atom.id] = frozenset({result.atom.id})
    for axis, extent in enumerate(dims):
        ev.dims[result.atom.id, axis] = extent.atom
    return result


def dim(ev: Evaluator, array: Sym, axis: int) -> Sym:
    """The extent of an axis, read once per array."""
    assert isinstance(array.atom, Name)
    key = (array.atom.id, axis)
    if array.atom.id in ev.constants:
        return number(ev.constants[array.atom.id].shape[axis])
    if key not in ev.dims:
        base = f"{array.atom.id}_n{axis}" if array.atom.id not in ev.temporary else "n"
        ev.dims[key] = ev.assign(Op("dim", (array.atom, Const(axis))), INT64, base).atom
        ev.temporary.add(ev.block[-1].target)  # a user's `n = x.shape[0]` renames it
    return Sym(ev.dims[key], INT64)


def dim_key(ev: Evaluator, array: Sym, axis: int) -> tuple[Any, int]:
    """What identifies an extent: two axes with equal keys are equally long."""
    assert isinstance(array.atom, Name)
    key = ev.dim_keys.get((array.atom.id, axis))
    if key is not None:
        return key
    return dim(ev, array, axis).atom, 0


def elementwise(ev: Evaluator, fn: str, args: tuple[Value, ...], node: Any = None) -> Value:
    """Apply a scalar function to numbers, or lazily to arrays."""
    args = tuple(_operand(ev, arg, node) for arg in args)
    if not any(is_array(arg) for arg in args):
        return ev.op(fn, *args, node=node)
    types = [arg.type for arg in args if isinstance(arg, Sym | Lazy)]
    result = _array_type(ev, fn, types, node)
    if result.ndim == 0:
        return ev.op(fn, *(element(ev, arg, ()) if is_array(arg) else arg for arg in args), node=node)
    return Lazy(fn, args, result)


def _operand(ev: Evaluator, arg: Value, node: Any) -> Value:
    arg = present(ev, plain_number(arg))
    if isinstance(arg, Sym | Lazy):
        return arg
    if isinstance(arg, Tup):
        return ev.as_array(arg, node)
    ev.fail(TypeMismatch, f"arithmetic needs numbers or arrays, not {describe(arg)}", node)


def _array_type(ev: Evaluator, fn: str, types: list[Type], node: Any) -> Array:
    """The type of an elementwise result: dtype from Numba, rank from broadcasting."""
    ndim = max(t.ndim if isinstance(t, Array) else 0 for t in types)
    if fn.startswith("cast."):
        return Array(fn.removeprefix("cast."), ndim)
    if fn in ("stop_gradient", "pos"):
        first = types[0]
        assert isinstance(first, Array)
        return Array(first.dtype, ndim)
    if fn == "ifelse":
        dtypes = [np.dtype(t.dtype) for t in types[1:] if isinstance(t, Scalar | Array)]
        return Array(str(np.result_type(*dtypes)), ndim)
    if fn == "not":
        return Array("bool", ndim)
    found = numba_types.result_type(numba_types.callable_of(fn), tuple(types))
    result = None if found is None else numba_types.from_numba(found)
    if result is None:
        # functions that Numba has for scalars only, and clip, round: the scalar rule decides
        scalars = [Sym(Const(None), t.element if isinstance(t, Array) else t) for t in types]
        result = ev.scalar_type(fn, scalars, node)
    assert isinstance(result, Scalar | Array)
    return Array(result.dtype, ndim)


def element(ev: Evaluator, value: Value, index: tuple[Sym, ...]) -> Sym:
    """The number at `index`, which has as many entries as `value` has axes."""
    if isinstance(value, Sym) and isinstance(value.type, Scalar):
        return value
    if isinstance(value, Sym):
        assert isinstance(value.type, Array)
        return ev.assign(Op("load", (value.atom, *(i.atom for i in index))), value.type.element)
    assert isinstance(value, Lazy)
    shape = ev.broadcast_of(value)
    return _lazy_element(ev, value, index, shape)


@dataclass
class Broadcast:
    """The shape of an elementwise expression, and how each array in it is read.

    extents   one per output axis
    narrow    axes (array, axis) that are known to have extent 1 and are read at 0
    replaced  arrays that take the place of those whose extents had to be compared at run time
    steps     instead, in a loop: 1 for an axis (array, axis) that runs along the output's, 0 for a repeated one
    keys      what identifies each extent
    """

    extents: tuple[Sym, ...]
    narrow: frozenset[tuple[str, int]] = frozenset()
    replaced: dict[str, Sym] = field(default_factory=dict)
    keys: tuple[tuple[Any, int], ...] = ()
    steps: dict[tuple[str, int], Sym] = field(default_factory=dict)


def broadcast(ev: Evaluator, value: Value) -> Broadcast:
    """Work out the shape of an elementwise expression; emits the checks that are needed.

    Arrays whose extents are not known to fit are compared at run time.  Where they differ and may
    be broadcast, copies of full shape take their place, so that the loops stay simple; in a loop, where a
    copy would be made trip after trip, subscripts have a factor of 1 or 0 instead.
    """
    arrays = list(dict.fromkeys(_array_leaves(value)))
    ndim = max(_rank(array) for array in arrays)
    extents: list[Sym] = []
    keys: list[tuple[Any, int]] = []
    narrow: set[tuple[str, int]] = set()
    doubtful = False
    for axis in range(ndim):
        members = _members(ev, arrays, ndim, axis)
        wide = [m for m in members if m[2] != (Const(1), 0)]
        doubtful |= len({key for _, _, key in wide}) > 1 and not ev.same_extents
        array, own, key = wide[0] if wide else members[0]
        extents.append(dim(ev, array, own))
        keys.append(key)
        if wide:
            narrow |= {(_id(a), k) for a, k, key in members if key == (Const(1), 0)}
    if not doubtful:
        return Broadcast(tuple(extents), frozenset(narrow), {}, tuple(keys))
    if ev.loops:
        return _stepped(ev, arrays, ndim)
    replaced = _aligned(ev, arrays, ndim)
    first = replaced[_id(next(a for a in arrays if _rank(a) == ndim))]
    return Broadcast(
        tuple(dim(ev, first, axis) for axis in range(ndim)),
        frozenset(),
        replaced,
        tuple(dim_key(ev, first, axis) for axis in range(ndim)),
    )


def _stepped(ev: Evaluator, arrays: list[Sym], ndim: int) -> Broadcast:
    """The shape of an expression whose arrays are read with steps of 1 or 0."""
    extents, steps = [], {}
    for axis in range(ndim):
        members = _members(ev, arrays, ndim, axis)
        # a known extent other than 1 is the result's
        members.sort(key=lambda m: not isinstance(m[2][0], Const) or m[2] == (Const(1), 0))
        extent = dim(ev, members[0][0], members[0][1])
        for array, own, key in members[1:]:
            if key != members[0][2] and (extent.constant is None or extent.constant == 1):
                extent = ev.op("ifelse", ev.op("==", extent, number(1)), dim(ev, array, own), extent)
        for array, own, _ in members:
            step = _step(ev, "stretch", extent, dim(ev, array, own))
            if step is not None:
                steps[_id(array), own] = step
        extents.append(extent)
    return Broadcast(tuple(extents), keys=tuple((extent.atom, 0) for extent in extents), steps=steps)


def _step(ev: Evaluator, check: str, extent: Sym, own: Sym) -> Sym | None:
    """0 for an axis that is repeated, 1 for another one, None if that is known; ValueError at run time for a misfit."""
    if own.atom == extent.atom:
        return None
    ev.call_library(check, (extent, own))
    if own.constant is not None:
        return number(0) if own.constant == 1 else None
    return ev.op("ifelse", ev.op("==", own, extent), number(1), number(0))


def _members(ev: Evaluator, arrays: list[Sym], ndim: int, axis: int) -> list[tuple[Sym, int, tuple[Any, int]]]:
    """The arrays that have an output axis: with their own axis and its key."""
    found = []
    for array in arrays:
        own = axis - (ndim - _rank(array))
        if own >= 0:
            found.append((array, own, dim_key(ev, array, own)))
    return found


def _aligned(ev: Evaluator, arrays: list[Sym], ndim: int) -> dict[str, Sym]:
    """Arrays of one shape in place of `arrays`: themselves if their extents agree, else full copies."""
    known = ev.aligned.get(tuple(_id(a) for a in arrays))
    if known is not None:
        return known
    differ = number(False)
    for axis in range(ndim):
        members = list({m[2]: m for m in _members(ev, arrays, ndim, axis)}.values())
        first = dim(ev, members[0][0], members[0][1])
        for array, own, _ in members[1:]:
            differ = ev.op("or", differ, ev.op("!=", first, dim(ev, array, own)))
    slots = {_id(array): f"$select_{_id(array)}" for array in arrays}

    def expand() -> None:
        shape = []
        for axis in range(ndim):
            members = list({m[2]: m for m in _members(ev, arrays, ndim, axis)}.values())
            extent = dim(ev, members[0][0], members[0][1])
            for array, own, _ in members[1:]:
                extent = ev.call_library("broadcast_extent", (extent, dim(ev, array, own)))
            shape.append(extent)
        for array in arrays:
            offset = ndim - _rank(array)
            ev.frame.env[slots[_id(array)]] = ev.call_library("expanded", (array, Tup(tuple(shape[offset:]))))

    def keep() -> None:
        for array in arrays:
            ev.frame.env[slots[_id(array)]] = array

    ev.branch(differ, expand, keep)
    result: dict[str, Sym] = {}
    for array in arrays:
        merged = ev.sym(ev.frame.env.pop(slots[_id(array)]))
        result[_id(array)] = merged
    for axis in range(ndim):
        members = _members(ev, [result[_id(a)] for a in arrays], ndim, axis)
        extent = dim(ev, members[0][0], members[0][1])
        for array, own, _ in members:
            ev.dims[_id(array), own] = extent.atom
            ev.dim_keys[_id(array), own] = extent.atom, 0
    ev.aligned[tuple(_id(a) for a in arrays)] = result
    return result


def _array_leaves(value: Value) -> list[Sym]:
    if isinstance(value, Lazy):
        return [leaf for arg in value.args for leaf in _array_leaves(arg)]
    if isinstance(value, Sym) and isinstance(value.type, Array):
        return [value]
    return []


def array_leaves(value: Value) -> list[Sym]:
    """The arrays in memory that an expression reads."""
    return _array_leaves(value)


def _rank(value: Sym) -> int:
    assert isinstance(value.type, Array)
    return value.type.ndim


def _id(value: Sym) -> str:
    assert isinstance(value.atom, Name)
    return value.atom.id


def _lazy_element(ev: Evaluator, value: Value, index: tuple[Sym, ...], shape: Broadcast) -> Sym:
    if isinstance(value, Sym) and isinstance(value.type, Scalar):
        return value
    if isinstance(value, Sym):
        offset = len(index) - _rank(value)
        array = shape.replaced.get(_id(value), value)
        own = tuple(
            _along(ev, index[offset + axis], shape, _id(value), axis)
            for axis in range(_rank(value))
        )
        assert isinstance(array.type, Array)
        return ev.assign(Op("load", (array.atom, *(i.atom for i in own))), array.type.element)
    assert isinstance(value, Lazy)
    if value.fn == "ifelse":
        return _selected(ev, value, index, shape)
    args = [_lazy_element(ev, arg, index, shape) for arg in value.args]
    if value.fn == "pos":
        return args[0]
    type_ = value.type.element
    if type_.is_float and not value.fn.startswith("cast."):
        # an array's arithmetic is in the array's dtype; scalars of another one are converted first
        args = [
            ev.cast(arg, type_)
            if arg.type != type_ and arg.type != Scalar("bool") and not (value.fn == "**" and not arg.type.is_float)
            else arg
            for arg in args
        ]
    natural = ev.scalar_type(value.fn, args)
    return ev.cast(ev.op(value.fn, *args, type_=natural), type_)


def _along(ev: Evaluator, index: Sym, shape: Broadcast, array: str, axis: int) -> Sym:
    """The subscript of an axis: `index`, or 0 where the axis is repeated."""
    if (array, axis) in shape.narrow:
        return number(0)
    step = shape.steps.get((array, axis))
    return index if step is None else ev.op("*", index, step)


def _selected(ev: Evaluator, value: Lazy, index: tuple[Sym, ...], shape: Broadcast) -> Sym:
    """`np.where`: only the chosen side is computed, so the other one cannot spoil a derivative."""
    test = ev.truth(_lazy_element(ev, value.args[0], index, shape))
    type_ = value.type.element
    if all(isinstance(arg, Sym) and isinstance(arg.type, Scalar) for arg in value.args[1:]):
        sides = [ev.cast(_lazy_element(ev, arg, index, shape), type_) for arg in value.args[1:]]
        return ev.assign(Op("ifelse", (test.atom, sides[0].atom, sides[1].atom)), type_)
    target = ev.define("t", type_, temporary=True)

    def side(arg: Value) -> Any:
        def write() -> None:
            chosen = ev.cast(_lazy_element(ev, arg, index, shape), type_)
            ev.emit(Assign(target, chosen.atom, ev.span))

        return write

    ev.branch(test, side(value.args[1]), side(value.args[2]))
    return Sym(Name(target), type_)


def write_loops(ev: Evaluator, extents: tuple[Sym, ...], body: Any) -> None:
    """Nested loops over `extents`; `body` is called with the index."""
    index: list[Sym] = []
    outer, dims, aligned = ev.block, dict(ev.dims), dict(ev.aligned)
    for axis, extent in enumerate(extents):
        var = ev.define("ijklmn"[axis % 6], INT64)
        inner: list[Any] = []
        ev.emit(OpenLoop((var, Const(0), extent.atom, Const(1), False, None), inner, ev.span))
        ev.block = inner
        index.append(Sym(Name(var), INT64))
    body(tuple(index))
    ev.block, ev.dims, ev.aligned = outer, dims, aligned


def store_elements(ev: Evaluator, target: Sym, value: Value, accumulate: bool = False) -> None:
    """Write a number or an elementwise expression into every element of `target`.

    The caller has made sure that `value` reads no element of `target` at another index.
    """
    assert isinstance(target.type, Array)
    array, type_ = _id(target), target.type
    rank = type_.ndim
    extents = tuple(dim(ev, target, axis) for axis in range(rank))
    shape = Broadcast(extents)
    if is_array(value):
        shape = broadcast_into(ev, target, value)
        extents = shape.extents

    def body(index: tuple[Sym, ...]) -> None:
        item = ev.cast(_lazy_element(ev, value, index[rank - _value_rank(value):], shape), type_.element)
        ev.emit(Store(array, tuple(i.atom for i in index), item.atom, accumulate, ev.span))

    write_loops(ev, extents, body)


def _value_rank(value: Value) -> int:
    if isinstance(value, Sym | Lazy) and isinstance(value.type, Array):
        return value.type.ndim
    return 0


def broadcast_into(ev: Evaluator, target: Sym, value: Value) -> Broadcast:
    """How `value` is read at the indices of `target`; ValueError at run time if it does not fit."""
    assert isinstance(target.type, Array)
    ndim, rank = target.type.ndim, _value_rank(value)
    if rank > ndim:
        ev.fail(TypeMismatch, f"an array of rank {rank} does not fit into one of rank {ndim}")
    extents = tuple(dim(ev, target, axis) for axis in range(ndim))
    narrow: set[tuple[str, int]] = set()
    replaced: dict[str, Sym] = {}
    if ev.loops and not ev.same_extents:
        return _stepped_into(ev, target, value, extents)
    for array in dict.fromkeys(_array_leaves(value)):
        offset = ndim - _rank(array)
        differ = number(False)
        for own in range(_rank(array)):
            target_key, own_key = dim_key(ev, target, own + offset), dim_key(ev, array, own)
            if own_key == (Const(1), 0) and target_key != own_key:
                narrow.add((_id(array), own))
            elif own_key != target_key and not ev.same_extents:
                unequal = ev.op("!=", extents[own + offset], dim(ev, array, own))
                differ = ev.op("or", differ, unequal)
        if differ.constant is not False:
            # what is read at 0 stays as narrow as it is
            fitted = tuple(
                number(1) if (_id(array), own) in narrow else extents[own + offset] for own in range(_rank(array))
            )
            replaced[_id(array)] = _fitted(ev, array, differ, fitted)
    return Broadcast(extents, frozenset(narrow), replaced)


def _stepped_into(ev: Evaluator, target: Sym, value: Value, extents: tuple[Sym, ...]) -> Broadcast:
    """How `value` is read at the indices of `target` in a loop: with steps of 1 or 0."""
    found, steps = list(extents), {}
    for array in dict.fromkeys(_array_leaves(value)):
        offset = len(extents) - _rank(array)
        for own in range(_rank(array)):
            if dim_key(ev, target, own + offset) == dim_key(ev, array, own):
                continue
            extent = dim(ev, array, own)
            step = _step(ev, "fit", extents[own + offset], extent)
            if step is not None:
                steps[_id(array), own] = step
            elif extent.constant is not None:
                # it fits: the target's extent is known now
                found[own + offset] = extent
    return Broadcast(tuple(found), steps=steps)


def _fitted(ev: Evaluator, array: Sym, differ: Sym, extents: tuple[Sym, ...]) -> Sym:
    """`array`, or a copy of full shape if it has to be repeated."""
    return ev.sym(
        ev.select(differ, lambda: ev.call_library("expanded", (array, Tup(extents))), lambda: array, None)
    )


def materialise(ev: Evaluator, value: Value, base: str = "t") -> Value:
    """Write an elementwise expression into a fresh array; other values are returned as they are."""
    if not isinstance(value, Lazy):
        return value
    shape = broadcast(ev, value)
    result = alloc(ev, value.type.dtype, shape.extents, base=base)
    assert isinstance(result.atom, Name)
    name = result.atom.id
    for axis, key in enumerate(shape.keys):
        ev.dim_keys[name, axis] = key

    def body(index: tuple[Sym, ...]) -> None:
        item = _lazy_element(ev, value, index, shape)
        ev.emit(Store(name, tuple(i.atom for i in index), item.atom, span=ev.span))

    write_loops(ev, shape.extents, body)
    return result
