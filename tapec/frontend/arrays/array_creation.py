"""Functions that make arrays: zeros, full, array, copy and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend.arrays import indexing, stores
from tapec.frontend.arrays.copies_of_views import copy_of_view, is_unclear
from tapec.frontend.evaluator import numba_types
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs, argument, dtype_of, extents
from tapec.frontend.evaluator.values import (
    NONE,
    PART_OF,
    Complex,
    Growing,
    Items,
    Lst,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_array,
    is_complex_array,
    is_none,
    is_scalar,
    number,
    static_int,
)
from tapec.frontend.operations import allocation, elementwise, integer_checks
from tapec.frontend.operations.complex_arithmetic import common, lead, operation
from tapec.frontend.operations.memory_order import note_order
from tapec.frontend.structures.lists import column
from tapec.syntax.core import Const
from tapec.syntax.types import Array, Scalar


def _new_extents(ev: Evaluator, shape: Value, node: Any) -> tuple[Sym, ...]:
    """The extents that a shape argument gives to a new array; negative ones are an error, as in NumPy.

    A loop over a negative number of elements would run over none.  Library functions test what they were given.
    """
    dims = extents(ev, shape, node)
    if not ev.frame.library:
        for extent in dims:
            integer_checks.refuse_negative(ev, extent, "negative dimensions are not allowed")
    return dims


def zeros(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    dims = _new_extents(ev, argument(args, kwargs, 0, "shape"), node)
    return allocation.allocate(ev, dtype_of(ev, argument(args, kwargs, 1, "dtype"), node), dims, zero=True)


def empty(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    dims = _new_extents(ev, argument(args, kwargs, 0, "shape"), node)
    return allocation.allocate(ev, dtype_of(ev, argument(args, kwargs, 1, "dtype"), node), dims)


def _like(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> tuple[tuple[Sym, ...], str]:
    """The extents and the dtype of an array like another one, by what `np.zeros_like` takes."""
    like = ev.materialise(args[0])
    if isinstance(like, Tup | Lst):
        like = as_array(ev, like, node)
    if not isinstance(like, Sym | Complex) or not isinstance(like.type, Array | Scalar):
        ev.fail(TypeMismatch, f"{describe(like)} has no shape", node)
    dtype, shape = argument(args, kwargs, 1, "dtype"), argument(args, kwargs, 4, "shape")
    rank = like.type.ndim if isinstance(like.type, Array) else 0
    if is_none(shape):
        dims = tuple(allocation.dim(ev, lead(like), axis) for axis in range(rank))
    else:
        dims = _new_extents(ev, shape, node)
    return dims, like.type.dtype if is_none(dtype) else dtype_of(ev, dtype, node)


def zeros_like(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    dims, dtype = _like(ev, args, kwargs, node)
    return allocation.allocate(ev, dtype, dims, zero=True)


def empty_like(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    dims, dtype = _like(ev, args, kwargs, node)
    return allocation.allocate(ev, dtype, dims)


def filled(ev: Evaluator, dims: tuple[Sym, ...], dtype: str, value: Value) -> Any:
    result = allocation.allocate(ev, dtype, dims)
    if dims:
        elementwise.store_elements(ev, result, value)
    else:
        stores.write_into(ev, result, value, None)
    return result


def ones(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    dims = _new_extents(ev, argument(args, kwargs, 0, "shape"), node)
    return filled(ev, dims, dtype_of(ev, argument(args, kwargs, 1, "dtype"), node), number(1))


def ones_like(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    dims, dtype = _like(ev, args, kwargs, node)
    return filled(ev, dims, dtype, number(1))


def full(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    dims = _new_extents(ev, argument(args, kwargs, 0, "shape"), node)
    value = _number(ev, argument(args, kwargs, 1, "fill_value"), node)
    given = argument(args, kwargs, 2, "dtype")
    assert isinstance(value.type, Scalar)
    return filled(ev, dims, value.type.dtype if is_none(given) else dtype_of(ev, given, node), value)


def full_like(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    value = _number(ev, argument(args, kwargs, 1, "fill_value"), node)
    rest = {key: given for key, given in kwargs.items() if key != "fill_value"}
    dims, dtype = _like(ev, [*args[:1], *args[2:]], rest, node)
    return filled(ev, dims, dtype, value)


def _number(ev: Evaluator, value: Value, node: Any) -> Sym | Complex:
    """A number, which may be complex."""
    value = ev.materialise(value)
    return value if isinstance(value, Complex) and not value.is_array else ev.scalar(value, node)


def as_array(ev: Evaluator, value: Value, node: Any, dtype: str | None = None) -> Any:
    """A fresh array from a tuple or list, nested to any depth."""
    if isinstance(value, Lst):
        contents = ev.heap[value]
        if isinstance(contents, Growing):
            return _array_of(ev, contents, node)
        value = Tup(contents.values)
    assert isinstance(value, Tup)
    if _holds_arrays(ev, value):
        rows = [as_array(ev, item, node) if isinstance(item, Tup | Lst) else item for item in value.items]
        stacked = ev.call_object(np.stack, [Tup(tuple(rows))], {}, node)
        return stacked if dtype is None else copy(ev, stacked, dtype, node)
    shape, leaves = _flattened(ev, value, node)
    if dtype is None:
        dtype = _common_dtype(leaves)
    result = allocation.allocate(ev, dtype, tuple(number(extent) for extent in shape))
    for place, leaf in zip(np.ndindex(*shape), leaves, strict=True):
        elementwise.store_at(ev, result, tuple(Const(k) for k in place), leaf)
    return result


def _holds_arrays(ev: Evaluator, value: Value) -> bool:
    """Whether a list or tuple has arrays for its items, at any depth."""
    if isinstance(value, Lst) and isinstance(contents := ev.heap[value], Items):
        value = Tup(contents.values)
    if isinstance(value, Tup):
        return any(_holds_arrays(ev, item) for item in value.items)
    return is_array(value) or is_complex_array(value)


def _array_of(ev: Evaluator, contents: Growing, node: Any) -> Any:
    """The elements of a list; those of a list of tuples as rows."""
    if not isinstance(contents.buffer, Tup):
        return ev.call_library("copied", (indexing.list_view(ev, contents),))
    columns = [column(contents, k) for k in range(len(contents.buffer.items))]
    arrays = tuple(_array_of(ev, one, node) for one in columns if isinstance(one, Growing))
    return ev.call_object(np.stack, [Tup(arrays)], {"axis": number(1)}, node)


def _common_dtype(leaves: list[Sym | Complex]) -> str:
    """The dtype of an array of these numbers."""
    if any(isinstance(leaf, Complex) for leaf in leaves):
        return common(*(leaf.type.dtype for leaf in leaves))  # type: ignore[union-attr]
    found: Any = Scalar("float64") if not leaves else leaves[0].type
    for leaf in leaves[1:]:
        found = numba_types.unify(found, leaf.type)
    dtype: str = found.dtype
    return dtype


def _flattened(ev: Evaluator, value: Value, node: Any) -> tuple[tuple[int, ...], list[Sym | Complex]]:
    if isinstance(value, Lst):
        contents = ev.heap[value]
        if isinstance(contents, Items):
            value = Tup(contents.values)
    if not isinstance(value, Tup):
        return (), [_number(ev, value, node)]
    parts = [_flattened(ev, item, node) for item in value.items]
    if len({shape for shape, _ in parts}) > 1:
        ev.fail(TypeMismatch, "the rows of this array have different lengths", node)
    inner = parts[0][0] if parts else ()
    return (len(parts), *inner), [leaf for _, leaves in parts for leaf in leaves]


def copy(ev: Evaluator, value: Value, dtype: str | None = None, node: Any = None) -> Value:
    """A fresh C-contiguous array with the elements of `value`."""
    value = ev.materialise(value)
    if isinstance(value, Tup | Lst):
        return as_array(ev, value, node, dtype)
    if not isinstance(value, Sym | Complex):
        ev.fail(TypeMismatch, f"{describe(value)} is no array", node)
    if isinstance(value.type, Scalar):
        result = allocation.allocate(ev, dtype or value.type.dtype, ())
        stores.write_into(ev, result, value, node)
        return result
    assert isinstance(value.type, Array)
    kind, first = dtype or value.type.dtype, lead(value)
    result = allocation.allocate(
        ev, kind, tuple(allocation.dim(ev, first, axis) for axis in range(value.type.ndim))
    )
    for axis in range(value.type.ndim):
        ev.dim_keys[lead(result).atom.id, axis] = allocation.dim_key(ev, first, axis)
    stores.write_into(ev, result, value, node)
    return result


def _ordered_copy(ev: Evaluator, value: Value, kind: str | None, order: Value, node: Any) -> Value:
    """A fresh array in rows, of which is noted whether NumPy may have it in columns."""
    made = copy(ev, value, kind, node)
    asked = order.obj if isinstance(order, Static) else None
    if asked != "C" and not ev.frame.library:
        note_order(ev, made, (value,), certainly=asked == "F")
    return made


def array(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    given = argument(args, kwargs, 1, "dtype")
    again = kwargs.get("copy")
    if getattr(again, "constant", None) is False or (again is not None and is_none(again)):
        made = asarray(ev, args[:2], kwargs, node)
    else:
        kind = None if is_none(given) else dtype_of(ev, given, node)
        made = _ordered_copy(ev, args[0], kind, kwargs.get("order", NONE), node)
    least = static_int(kwargs.get("ndmin", number(0)))
    rank = getattr(made.type, "ndim", 0)  # type: ignore[attr-defined]
    if least is None:
        ev.fail(TypeMismatch, "`ndmin` must be known", node)
    if rank >= least:
        return made
    return ev.load(made, Tup((NONE,) * (least - rank) + (Static(...),)), node)


def asarray(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    if getattr(kwargs.get("copy"), "constant", None) is True:
        return array(ev, args[:2], {key: value for key, value in kwargs.items() if key == "dtype"}, node)
    value = ev.materialise(args[0])
    given = argument(args, kwargs, 1, "dtype")
    kind = None if is_none(given) else dtype_of(ev, given, node)
    return _converted(ev, value, kind, argument(args, kwargs, 2, "order"), "np.asarray", node)


def _converted(ev: Evaluator, value: Value, kind: str | None, order: Value, function: str, node: Any) -> Value:
    """An array of a dtype whose memory has an order: the array itself where it is one, else a copy."""
    asked = order.obj if isinstance(order, Static) else "unknown"
    if asked not in (None, "C", "F", "A", "K"):
        ev.fail(UnsupportedSyntax, "the order of an array's memory is `C`, `F`, `A` or `K`, as a literal", node)
    type_ = value.type if isinstance(value, Sym | Complex) else None
    same = isinstance(type_, Array) and kind in (None, type_.dtype)
    made = value if same else _ordered_copy(ev, value, kind, NONE if asked == "F" else order, node)
    assert isinstance(made, Sym | Complex) and isinstance(made.type, Array)
    if asked == "F" and made.type.ndim > 1:
        turned = ev.get_attribute(made, "T", node)
        return ev.get_attribute(_in_rows(ev, turned, function, node), "T", node)
    return _in_rows(ev, made, function, node) if asked in ("C", "F") else made


def _in_rows(ev: Evaluator, value: Value, function: str, node: Any) -> Value:
    """An array whose memory is contiguous: the array itself if its type says that it is, else a copy."""
    if isinstance(value, Sym | Complex) and isinstance(value.type, Array) and not is_unclear(ev, value):
        return value
    made = copy(ev, value, None, node)
    return copy_of_view(ev, made, value, function) if is_unclear(ev, value) else made


def ascontiguousarray(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    given = argument(args, kwargs, 1, "dtype")
    kind = None if is_none(given) else dtype_of(ev, given, node)
    return _converted(ev, ev.materialise(args[0]), kind, Static("C"), "np.ascontiguousarray", node)


def asfortranarray(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    given = argument(args, kwargs, 1, "dtype")
    kind = None if is_none(given) else dtype_of(ev, given, node)
    return _converted(ev, ev.materialise(args[0]), kind, Static("F"), "np.asfortranarray", node)


def astype(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    kind = dtype_of(ev, argument(args, kwargs, 1, "dtype"), node)
    if is_scalar(args[0]) and kind not in PART_OF:
        return ev.cast(ev.scalar(args[0]), Scalar(kind))
    if is_scalar(args[0]) or (isinstance(args[0], Complex) and not args[0].is_array):
        return operation(ev, f"cast.{kind}", (args[0],), node)
    again = kwargs.get("copy", number(True))
    if not isinstance(again, Sym) or again.constant is None:
        ev.fail(UnsupportedSyntax, "whether `astype` copies must be known", node)
    if again.constant:
        return _ordered_copy(ev, args[0], kind, argument(args, kwargs, 2, "order"), node)
    return _converted(ev, ev.materialise(args[0]), kind, argument(args, kwargs, 2, "order"), "astype", node)


def array_copy(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return copy(ev, args[0], None, node)
