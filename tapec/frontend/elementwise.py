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
from tapec.frontend import complexes, numba_types
from tapec.frontend.evaluator import Evaluator, OpenLoop
from tapec.frontend.optional import present
from tapec.frontend.values import (
    PART_OF,
    Complex,
    Lazy,
    Sym,
    Tup,
    Value,
    describe,
    is_array,
    is_complex,
    number,
    plain_number,
)
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


def allocate(ev: Evaluator, dtype: str, dims: tuple[Sym, ...], zero: bool = False, base: str = "t") -> Sym | Complex:
    """A fresh array of any dtype; two for a complex one."""
    if dtype not in PART_OF:
        return alloc(ev, dtype, dims, zero, base)
    names = (base, base) if base == "t" else (f"{base}_re", f"{base}_im")
    re, im = (alloc(ev, PART_OF[dtype], dims, zero, name) for name in names)
    return complexes.joined(ev, re, im)


def dim(ev: Evaluator, array: Sym, axis: int) -> Sym:
    """The extent of an axis, read once per array."""
    assert isinstance(array.atom, Name)
    partner = ev.partners.get(array.atom.id)
    if partner is not None:
        return dim(ev, Sym(Name(partner), array.type), axis)
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
    partner = ev.partners.get(array.atom.id)
    if partner is not None:
        return dim_key(ev, Sym(Name(partner), array.type), axis)
    key = ev.dim_keys.get((array.atom.id, axis))
    if key is not None:
        return key
    return dim(ev, array, axis).atom, 0


def elementwise(ev: Evaluator, fn: str, args: tuple[Value, ...], node: Any = None) -> Value:
    """Apply a scalar function to numbers, or lazily to arrays."""
    args = tuple(_operand(ev, arg, node) for arg in args)
    if complexes.has_complex(fn, args):
        return _with_complex(ev, fn, args, node)
    if not any(is_array(arg) for arg in args):
        return ev.op(fn, *args, node=node)
    types = [arg.type for arg in args if isinstance(arg, Sym | Lazy)]
    result = _array_type(ev, fn, types, node)
    if result.ndim == 0:
        return ev.op(fn, *(element(ev, arg, ()) if is_array(arg) else arg for arg in args), node=node)
    return Lazy(fn, args, result)


def _with_complex(ev: Evaluator, fn: str, args: tuple[Value, ...], node: Any) -> Value:
    """The same for complex numbers and arrays."""
    if not complexes.any_array(args):
        return complexes.operation(ev, fn, args, node)
    result = complexes.lazy(ev, fn, args, node)
    if result.type.ndim == 0:
        return complexes.operation(ev, fn, tuple(element(ev, arg, ()) for arg in args), node)
    return result


def _operand(ev: Evaluator, arg: Value, node: Any) -> Value:
    arg = present(ev, plain_number(arg))
    if isinstance(arg, Sym | Lazy | Complex):
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


def element(ev: Evaluator, value: Value, index: tuple[Sym, ...]) -> Any:
    """The number at `index`, which has as many entries as `value` has axes."""
    if isinstance(value, Complex):
        return complexes.each(ev, value, lambda part: element(ev, part, index))
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
    written   how often the memory of the arrays was written into when copies took their place
    """

    extents: tuple[Sym, ...]
    narrow: frozenset[tuple[str, int]] = frozenset()
    replaced: dict[str, Sym] = field(default_factory=dict)
    keys: tuple[tuple[Any, int], ...] = ()
    steps: dict[tuple[str, int], Sym] = field(default_factory=dict)
    written: tuple[int, ...] = ()


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
    ids = tuple(_id(array) for array in arrays)
    known = ev.broadcasts.get(ids)
    if known is None or not _stands(ev, known, arrays):
        known = ev.broadcasts[ids] = _stepped(ev, arrays, ndim) if ev.loops else _with_copies(ev, arrays, ndim)
    return known


def _stands(ev: Evaluator, known: Broadcast, arrays: list[Sym]) -> bool:
    """Whether what was worked out for an expression still holds: copies may be out of date.

    The loops of a library function write into nothing that its arguments read; a user's loop may, in an earlier trip.
    """
    inside = bool(ev.loops) and not (ev.frame.library and all(loop.library for loop in ev.loops))
    return not known.replaced or (not inside and known.written == _written(ev, arrays))


def _written(ev: Evaluator, arrays: list[Sym]) -> tuple[int, ...]:
    return tuple(sum(ev.written.get(root, 0) for root in ev.roots_of(_id(array))) for array in arrays)


def _with_copies(ev: Evaluator, arrays: list[Sym], ndim: int) -> Broadcast:
    """The shape of an expression in which copies of full shape take the place of arrays that do not have it."""
    replaced = _aligned(ev, arrays, ndim)
    first = replaced[_id(next(a for a in arrays if _rank(a) == ndim))]
    return Broadcast(
        tuple(dim(ev, first, axis) for axis in range(ndim)),
        replaced=replaced,
        keys=tuple(dim_key(ev, first, axis) for axis in range(ndim)),
        written=_written(ev, arrays),
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
    for found in (*extents, *steps.values()):
        if isinstance(found.atom, Name):
            ev.temporary.discard(found.atom.id)  # it keeps its name: later reads are by it
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
    return result


def _array_leaves(value: Value) -> list[Sym]:
    if isinstance(value, Lazy):
        return [leaf for arg in value.args for leaf in _array_leaves(arg)]
    if isinstance(value, Complex):
        return [leaf for part in (value.re, value.im) for leaf in _array_leaves(part)]
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


def _lazy_element(ev: Evaluator, value: Value, index: tuple[Sym, ...], shape: Broadcast) -> Any:
    if isinstance(value, Complex):
        return complexes.each(ev, value, lambda part: _lazy_element(ev, part, index, shape))
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
    if complexes.has_complex(value.fn, tuple(args)):
        return complexes.converted(ev, complexes.operation(ev, value.fn, tuple(args)), value.type.dtype)
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
    if is_complex(value):
        sides = [lambda arg=arg: _lazy_element(ev, arg, index, shape) for arg in value.args[1:]]
        return complexes.converted(ev, ev.select(test, *sides, None), value.type.dtype)
    type_ = value.type.element
    if all(isinstance(arg, Sym) and isinstance(arg.type, Scalar) for arg in value.args[1:]):
        first, second = (ev.cast(_lazy_element(ev, arg, index, shape), type_) for arg in value.args[1:])
        return ev.assign(Op("ifelse", (test.atom, first.atom, second.atom)), type_)
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
    outer, dims, broadcasts = ev.block, dict(ev.dims), dict(ev.broadcasts)
    for axis, extent in enumerate(extents):
        var = ev.define("ijklmn"[axis % 6], INT64)
        inner: list[Any] = []
        ev.emit(OpenLoop((var, Const(0), extent.atom, Const(1), False, None), inner, ev.span))
        ev.block = inner
        index.append(Sym(Name(var), INT64))
    body(tuple(index))
    ev.block, ev.dims, ev.broadcasts = outer, dims, broadcasts


def store_elements(ev: Evaluator, target: Sym | Complex, value: Value, accumulate: bool = False) -> None:
    """Write a number or an elementwise expression into every element of `target`.

    The caller has made sure that `value` reads no element of `target` at another index.
    """
    first = complexes.lead(target)
    rank = first.type.ndim
    extents = tuple(dim(ev, first, axis) for axis in range(rank))
    shape = Broadcast(extents)
    if complexes.any_array((value,)):
        shape = broadcast_into(ev, first, value)
        extents = shape.extents

    def body(index: tuple[Sym, ...]) -> None:
        item = _lazy_element(ev, value, index[rank - _value_rank(value) :], shape)
        store_at(ev, target, tuple(i.atom for i in index), item, accumulate)

    write_loops(ev, extents, body)


def store_at(
    ev: Evaluator, target: Sym | Complex, index: tuple[Any, ...], value: Value, accumulate: bool = False
) -> None:
    """Write a number, converted to the dtype of `target`, into one element."""
    assert isinstance(target.type, Array)
    item = complexes.converted(ev, value, target.type.dtype)
    for array, part in zip(complexes.parts(target), complexes.parts(item), strict=True):
        ev.emit(Store(_id(array), index, part.atom, accumulate, ev.span))


def _value_rank(value: Value) -> int:
    if isinstance(value, Sym | Lazy | Complex) and isinstance(value.type, Array):
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
    result = allocate(ev, value.type.dtype, shape.extents, base=base)
    for axis, key in enumerate(shape.keys):
        ev.dim_keys[_id(complexes.lead(result)), axis] = key

    def body(index: tuple[Sym, ...]) -> None:
        store_at(ev, result, tuple(i.atom for i in index), _lazy_element(ev, value, index, shape))

    write_loops(ev, shape.extents, body)
    return result
