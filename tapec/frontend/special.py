"""Calls that are neither rules nor library functions: built-ins, array creation, shapes, casts."""

from __future__ import annotations

import builtins
from typing import Any

import numba
import numpy as np

import tapec_runtime
from tapec.errors import TypeMismatch, UnsupportedSyntax, UnsupportedType
from tapec.frontend import elementwise, indexing, iteration, numba_types, operators
from tapec.frontend.assign import print_
from tapec.frontend.evaluator import Evaluator
from tapec.frontend.lists import element_type, growing
from tapec.frontend.merge import note_roots
from tapec.frontend.values import (
    NONE,
    Contents,
    Growing,
    Items,
    Iteration,
    Lst,
    Slice,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_array,
    is_none,
    is_scalar,
    number,
    static_int,
)
from tapec.rules import arrays_common
from tapec.syntax.core import Call, Const, Name, Op, Store
from tapec.syntax.types import Array, Scalar

Args = list[Value]
Kwargs = dict[str, Value]

_DTYPES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")


def dtype_of(ev: Evaluator, value: Value, node: Any) -> str:
    """The name of the dtype that `value` stands for: np.float64, float, "f4", nb.int32, ..."""
    if is_none(value):
        return "float64"
    if isinstance(value, Static):
        obj = value.obj
        if isinstance(obj, numba.types.Type):
            known = numba_types.from_numba(obj)
            if isinstance(known, Scalar):
                return known.dtype
        try:
            name = str(np.dtype(obj))
        except TypeError:
            name = ""
        if name in _DTYPES:
            return name
        if name.startswith("complex"):
            ev.fail(UnsupportedType, "complex numbers are not supported yet", node)
    ev.fail(UnsupportedType, f"{describe(value)} is not a dtype that can be used here", node)


def _argument(args: Args, kwargs: Kwargs, position: int, name: str) -> Value:
    if position < len(args):
        return args[position]
    return kwargs.get(name, NONE)


def extents(ev: Evaluator, shape: Value, node: Any) -> tuple[Sym, ...]:
    """The extents that a shape argument gives."""
    if isinstance(shape, Lst):
        contents = ev.heap[shape]
        shape = Tup(contents.values) if isinstance(contents, Items) else shape
    items = shape.items if isinstance(shape, Tup) else (shape,)
    syms = tuple(ev.scalar(item, node) for item in items)
    for sym in syms:
        if not isinstance(sym.type, Scalar) or sym.type.is_float:
            ev.fail(TypeMismatch, f"a shape holds integers, not {sym.type}", node)
    return syms


def zeros(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    dims = extents(ev, _argument(args, kwargs, 0, "shape"), node)
    return elementwise.alloc(ev, dtype_of(ev, _argument(args, kwargs, 1, "dtype"), node), dims, zero=True)


def empty(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    dims = extents(ev, _argument(args, kwargs, 0, "shape"), node)
    return elementwise.alloc(ev, dtype_of(ev, _argument(args, kwargs, 1, "dtype"), node), dims)


def _like(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> tuple[tuple[Sym, ...], str]:
    like = ev.materialise(args[0])
    if isinstance(like, Tup | Lst):
        like = as_array(ev, like, node)
    given = _argument(args, kwargs, 1, "dtype")
    if not isinstance(like, Sym):
        ev.fail(TypeMismatch, f"{describe(like)} has no shape", node)
    if isinstance(like.type, Scalar):
        return (), dtype_of(ev, given, node) if not is_none(given) else like.type.dtype
    assert isinstance(like.type, Array)
    dims = tuple(elementwise.dim(ev, like, axis) for axis in range(like.type.ndim))
    return dims, like.type.dtype if is_none(given) else dtype_of(ev, given, node)


def zeros_like(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    dims, dtype = _like(ev, args, kwargs, node)
    return elementwise.alloc(ev, dtype, dims, zero=True)


def empty_like(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    dims, dtype = _like(ev, args, kwargs, node)
    return elementwise.alloc(ev, dtype, dims)


def _filled(ev: Evaluator, dims: tuple[Sym, ...], dtype: str, value: Sym) -> Sym:
    result = elementwise.alloc(ev, dtype, dims)
    if dims:
        elementwise.store_elements(ev, result, value)
    else:
        indexing.write_into(ev, result, value, None)
    return result


def ones(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    dims = extents(ev, _argument(args, kwargs, 0, "shape"), node)
    return _filled(ev, dims, dtype_of(ev, _argument(args, kwargs, 1, "dtype"), node), number(1))


def ones_like(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    dims, dtype = _like(ev, args, kwargs, node)
    return _filled(ev, dims, dtype, number(1))


def full(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    dims = extents(ev, _argument(args, kwargs, 0, "shape"), node)
    value = ev.scalar(_argument(args, kwargs, 1, "fill_value"), node)
    given = _argument(args, kwargs, 2, "dtype")
    assert isinstance(value.type, Scalar)
    return _filled(ev, dims, value.type.dtype if is_none(given) else dtype_of(ev, given, node), value)


def full_like(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    value = ev.scalar(_argument(args, kwargs, 1, "fill_value"), node)
    given = _argument(args, kwargs, 2, "dtype")
    dims, dtype = _like(ev, args[:1], {} if is_none(given) else {"dtype": given}, node)
    return _filled(ev, dims, dtype, value)


def as_array(ev: Evaluator, value: Value, node: Any, dtype: str | None = None) -> Sym:
    """A fresh array from a tuple or list, nested to any depth."""
    if isinstance(value, Lst):
        contents = ev.heap[value]
        if isinstance(contents, Growing):
            return ev.sym(ev.call_library("copied", (iteration.list_view(ev, contents),)))
        value = Tup(contents.values)
    assert isinstance(value, Tup)
    shape, leaves = _flattened(ev, value, node)
    if dtype is None:
        found: Any = Scalar("float64") if not leaves else leaves[0].type
        for leaf in leaves[1:]:
            found = numba_types.unify(found, leaf.type)
        dtype = found.dtype
    result = elementwise.alloc(ev, dtype, tuple(number(extent) for extent in shape))
    assert isinstance(result.atom, Name)
    for place, leaf in zip(np.ndindex(*shape), leaves, strict=True):
        item = ev.cast(leaf, Scalar(dtype))
        ev.emit(Store(result.atom.id, tuple(Const(k) for k in place), item.atom, span=ev.span))
    return result


def _flattened(ev: Evaluator, value: Value, node: Any) -> tuple[tuple[int, ...], list[Sym]]:
    if isinstance(value, Lst):
        contents = ev.heap[value]
        if isinstance(contents, Items):
            value = Tup(contents.values)
    if not isinstance(value, Tup):
        if is_array(value):
            ev.fail(UnsupportedSyntax, "an array from a list of arrays", node, hint="use np.stack")
        return (), [ev.scalar(value, node)]
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
    assert isinstance(value, Sym)
    if isinstance(value.type, Scalar):
        result = elementwise.alloc(ev, dtype or value.type.dtype, ())
        indexing.write_into(ev, result, value, node)
        return result
    assert isinstance(value.type, Array)
    kind = dtype or value.type.dtype
    result = elementwise.alloc(
        ev, kind, tuple(elementwise.dim(ev, value, axis) for axis in range(value.type.ndim))
    )
    for axis in range(value.type.ndim):
        assert isinstance(result.atom, Name)
        ev.dim_keys[result.atom.id, axis] = elementwise.dim_key(ev, value, axis)
    indexing.write_into(ev, result, value, node)
    return result


def array(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    given = _argument(args, kwargs, 1, "dtype")
    return copy(ev, args[0], None if is_none(given) else dtype_of(ev, given, node), node)


def asarray(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    value = ev.materialise(args[0])
    given = _argument(args, kwargs, 1, "dtype")
    kind = None if is_none(given) else dtype_of(ev, given, node)
    if isinstance(value, Sym) and isinstance(value.type, Array) and kind in (None, value.type.dtype):
        return value
    return copy(ev, value, kind, node)


def ascontiguousarray(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    value = ev.materialise(args[0])
    if isinstance(value, Sym) and isinstance(value.type, Array) and value.type.layout == "C":
        return value
    return copy(ev, value, None, node)


def astype(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    kind = dtype_of(ev, _argument(args, kwargs, 1, "dtype"), node)
    if is_scalar(args[0]):
        return ev.cast(ev.scalar(args[0]), Scalar(kind))
    return copy(ev, args[0], kind, node)


def array_copy(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return copy(ev, args[0], None, node)


def reshape(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """A view of an array whose type is contiguous; otherwise a copy first, as in Numba."""
    if "order" in kwargs:
        ev.fail(UnsupportedSyntax, "reshape with an order", node, reason="Numba has C order only")
    shape = args[1:] if len(args) > 2 else [_argument(args, kwargs, 1, "newshape")]
    if "shape" in kwargs:
        shape = [kwargs["shape"]]
    dims = extents(ev, shape[0] if len(shape) == 1 else Tup(tuple(shape)), node)
    owner = ev.materialise(args[0])
    if isinstance(owner, Tup | Lst):
        owner = as_array(ev, owner, node)
    return reshaped(ev, owner, dims, node)


def reshaped(ev: Evaluator, owner: Value, dims: tuple[Sym, ...], node: Any) -> Sym:
    if not isinstance(owner, Sym) or not isinstance(owner.type, Array):
        ev.fail(TypeMismatch, f"{describe(owner)} cannot be reshaped", node)
    if owner.type.layout != "C":
        owner = ev.sym(copy(ev, owner, None, node))
    assert isinstance(owner.type, Array) and isinstance(owner.atom, Name)
    size = ev.sym(operators.get_attribute(ev, owner, "size", node))
    unknown = [k for k, extent in enumerate(dims) if extent.constant == -1]
    if len(unknown) > 1:
        ev.fail(TypeMismatch, "only one extent can be -1", node)
    if unknown:
        rest = number(1)
        for k, extent in enumerate(dims):
            if k != unknown[0]:
                rest = extent if rest.constant == 1 else ev.op("*", rest, extent)
        missing = size if rest.constant == 1 else ev.op("//", size, rest)
        dims = tuple(missing if k == unknown[0] else extent for k, extent in enumerate(dims))
    type_ = Array(owner.type.dtype, len(dims), "C", owner.type.readonly)
    result = ev.assign(Op("reshape", (owner.atom, *(d.atom for d in dims))), type_)
    assert isinstance(result.atom, Name)
    note_roots(ev, result.atom.id, owner)
    for axis, extent in enumerate(dims):
        ev.dims[result.atom.id, axis] = extent.atom
    return result


def ravel(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    owner = ev.materialise(args[0])
    if isinstance(owner, Tup | Lst):
        owner = as_array(ev, owner, node)
    return reshaped(ev, owner, (ev.sym(operators.get_attribute(ev, owner, "size", node)),), node)


def flatten(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    owner = copy(ev, args[0], None, node)
    return reshaped(ev, owner, (ev.sym(operators.get_attribute(ev, owner, "size", node)),), node)


def transpose(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    owner = ev.materialise(args[0])
    axes: Value = Tup(tuple(args[1:])) if len(args) > 2 else _argument(args, kwargs, 1, "axes")
    if not isinstance(owner, Sym) or not isinstance(owner.type, Array):
        ev.fail(TypeMismatch, f"{describe(owner)} cannot be transposed", node)
    if is_none(axes):
        return operators.transpose(ev, owner)
    order = [static_int(axis) for axis in axes.items] if isinstance(axes, Tup) else []
    if sorted(a % owner.type.ndim for a in order if a is not None) != list(range(owner.type.ndim)):
        ev.fail(TypeMismatch, "axes must be a constant permutation", node)
    return permuted(ev, owner, [a % owner.type.ndim for a in order if a is not None])


def permuted(ev: Evaluator, owner: Sym, order: list[int]) -> Sym:
    assert isinstance(owner.type, Array) and isinstance(owner.atom, Name)
    if order == list(range(owner.type.ndim)):
        return owner
    if order == list(reversed(range(owner.type.ndim))):
        return operators.transpose(ev, owner)
    type_ = Array(owner.type.dtype, owner.type.ndim, "A", owner.type.readonly)
    result = ev.assign(Op("permute", (owner.atom, *(Const(a) for a in order))), type_)
    assert isinstance(result.atom, Name)
    note_roots(ev, result.atom.id, owner)
    for axis, source in enumerate(order):
        ev.dims[result.atom.id, axis] = elementwise.dim(ev, owner, source).atom
        ev.dim_keys[result.atom.id, axis] = elementwise.dim_key(ev, owner, source)
    return result


def swapaxes(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    owner = ev.materialise(args[0])
    first, second = static_int(args[1]), static_int(args[2])
    if not isinstance(owner, Sym) or not isinstance(owner.type, Array) or first is None or second is None:
        ev.fail(TypeMismatch, "swapaxes needs an array and constant axes", node)
    order = list(range(owner.type.ndim))
    order[first], order[second] = order[second], order[first]
    return permuted(ev, owner, order)


def expand_dims(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    owner = ev.materialise(args[0])
    axis = static_int(_argument(args, kwargs, 1, "axis"))
    if not isinstance(owner, Sym) or not isinstance(owner.type, Array) or axis is None:
        ev.fail(TypeMismatch, "expand_dims needs an array and a constant axis", node)
    place = axis % (owner.type.ndim + 1)
    full = Slice(None, None, None)
    subs = [full] * place + [NONE] + [full] * (owner.type.ndim - place)
    return indexing.view(ev, owner, tuple(subs), node)


def shape(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return Tup(()) if is_scalar(args[0]) else operators.get_attribute(ev, args[0], "shape", node)


def ndim(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    value = args[0]
    if isinstance(value, Tup | Lst):
        value = as_array(ev, value, node)
    return number(0) if is_scalar(value) else operators.get_attribute(ev, value, "ndim", node)


def size(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return number(1) if is_scalar(args[0]) else operators.get_attribute(ev, args[0], "size", node)


def where(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    if len(args) != 3:
        return ev.inert("np.where", [ev.materialise(arg) for arg in args], kwargs, node)
    test, first, second = args
    if not any(is_array(arg) for arg in args):
        return operators.select(ev, ev.truth(test), lambda: first, lambda: second, node)
    return elementwise.elementwise(ev, "ifelse", (test, first, second), node)


def ndindex(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    dims = args[0] if len(args) == 1 else Tup(tuple(args))
    return Iteration("ndindex", extents(ev, dims, node))


def ndenumerate(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    array = ev.sym(ev.materialise(args[0]))
    shape = operators.get_attribute(ev, array, "shape", node)
    assert isinstance(shape, Tup)
    return Iteration("ndindex", (*shape.items, array))


def len_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return iteration.len_(ev, args[0], node)


def range_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any, parallel: bool = False) -> Value:
    bounds = [ev.scalar(arg, node) for arg in args]
    if len(bounds) == 1:
        bounds = [number(0), *bounds]
    if len(bounds) == 2:
        bounds = [*bounds, number(1)]
    return Iteration("range", tuple(bounds), parallel)


def prange(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return range_(ev, args, kwargs, node, parallel=True)


def enumerate_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    start = kwargs.get("start", args[1] if len(args) > 1 else number(0))
    return Iteration("enumerate", (ev.materialise(args[0]), start))


def zip_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return Iteration("zip", tuple(ev.materialise(arg) for arg in args))


def reversed_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return Iteration("reversed", (ev.materialise(args[0]),))


def caster(dtype: str) -> Any:
    def cast(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
        if not args:
            return ev.cast(number(0), Scalar(dtype))
        value = args[0]
        if isinstance(value, Static) and isinstance(value.obj, str):
            return number(float(value.obj)) if dtype.startswith("float") else number(int(value.obj))
        if dtype == "bool" and not is_array(value):
            return ev.truth(value, node)
        if isinstance(value, Sym) and isinstance(value.atom, Const):
            return ev.cast(value, Scalar(dtype))
        return elementwise.elementwise(ev, f"cast.{dtype}", (value,), node)

    return cast


def min_max(fn: str) -> Any:
    def reduce(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
        if len(args) == 1:
            value = ev.materialise(args[0])
            if isinstance(value, Lst):
                contents = ev.heap[value]
                value = Tup(contents.values) if isinstance(contents, Items) else as_array(ev, value, node)
            if not isinstance(value, Tup):
                return ev.call_object(getattr(np, fn), [value], kwargs, node)
            args = list(value.items)
        result = args[0]
        for other in args[1:]:
            result = elementwise.elementwise(ev, fn, (result, other), node)
        return result

    return reduce


def sum_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    value = ev.materialise(args[0])
    start = kwargs.get("start", args[1] if len(args) > 1 else number(0))
    if isinstance(value, Lst) and isinstance(contents := ev.heap[value], Items):
        value = Tup(contents.values)
    if isinstance(value, Lst):
        value = as_array(ev, value, node)
    if isinstance(value, Tup):
        total = start
        for item in value.items:
            total = operators.binary(ev, "+", total, item, node)
        return total
    return operators.binary(ev, "+", ev.call_object(np.sum, [value], {}, node), start, node)


def isinstance_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    value, classes = args
    kinds = classes.items if isinstance(classes, Tup) else (classes,)
    wanted = tuple(k.obj for k in kinds if isinstance(k, Static))
    return number(any(_is_instance(value, kind) for kind in wanted))


def _is_instance(value: Value, kind: Any) -> bool:
    if isinstance(value, Tup):
        return kind in (tuple, builtins.object) or kind is value.cls
    if is_array(value):
        return kind is np.ndarray
    if isinstance(value, Sym) and isinstance(value.type, Scalar):
        dtype = value.type.dtype
        if kind in (float, np.floating, np.float64):
            return value.type.is_float
        if kind in (int, np.integer):
            return "int" in dtype or (kind is int and dtype == "bool")
        return kind is bool and dtype == "bool"
    if isinstance(value, Lst):
        return kind is list
    return isinstance(value, Static) and isinstance(kind, type) and isinstance(value.obj, kind)


def tuple_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    if not args:
        return Tup(())
    value = ev.materialise(args[0])
    if isinstance(value, Tup):
        return Tup(value.items)
    if isinstance(value, Lst) and isinstance(contents := ev.heap[value], Items):
        return Tup(contents.values)
    ev.fail(UnsupportedSyntax, "the length of this tuple is not known", node)


def list_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    if not args:
        return new_list(ev, Items(()))
    value = ev.materialise(args[0])
    if isinstance(value, Tup):
        return new_list(ev, Items(value.items))
    if isinstance(value, Lst):
        return new_list(ev, _copied(ev, ev.heap[value]))
    if is_array(value):
        return new_list(ev, list_from_array(ev, value))
    ev.fail(UnsupportedSyntax, f"a list of {describe(value)}", node)


def print_call(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return print_(ev, [ev.materialise(arg) for arg in args])


def divmod_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return Tup(tuple(operators.binary(ev, fn, args[0], args[1], node) for fn in ("//", "%")))


def pow_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return operators.binary(ev, "**", args[0], args[1], node)


def type_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`type(x)` of a number: what converts to its type."""
    value = args[0]
    if isinstance(value, Sym) and isinstance(value.type, Scalar):
        return Static(np.dtype(value.type.dtype).type)
    if isinstance(value, Tup):
        return Static(value.cls or tuple)
    ev.fail(UnsupportedSyntax, f"the type of {describe(value)}", node)


def dtype_attribute(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return Static(np.dtype(dtype_of(ev, args[0], node)))


def stop_gradient(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """The same values with derivative zero; arrays are copied, so that later writes stay apart."""
    value = args[0]
    if isinstance(value, Tup):
        return Tup(tuple(stop_gradient(ev, [item], {}, node) for item in value.items), value.cls)
    return ev.materialise(elementwise.elementwise(ev, "stop_gradient", (value,), node))


def constant(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`tapec.constant`: float64 unless a dtype is given, with a name of its own."""
    value = ev.materialise(args[0])
    given = _argument(args, kwargs, 1, "dtype")
    kept = isinstance(value, Sym) and isinstance(value.type, Array)
    dtype = dtype_of(ev, given, node) if not (is_none(given) and kept) else None
    if not is_scalar(value):
        return copy(ev, value, dtype, node)
    number_ = ev.cast(ev.scalar(value), Scalar(dtype or "float64"))
    return ev.assign(number_.atom, number_.type)


# lists


def new_list(ev: Evaluator, contents: Contents) -> Lst:
    key = Lst("list")
    ev.heap[key] = contents
    return key


def _copied(ev: Evaluator, contents: Contents) -> Contents:
    if isinstance(contents, Items):
        return contents
    return Growing(ev.sym(ev.call_library("copied", (contents.buffer,))), contents.count)


def list_from_array(ev: Evaluator, array: Value) -> Growing:
    """A list of the elements of a 1-D array."""
    assert isinstance(array, Sym)
    return Growing(ev.sym(copy(ev, array)), elementwise.dim(ev, array, 0))


def grow(ev: Evaluator, owner: Lst) -> Growing:
    contents = ev.heap[owner]
    ev.heap[owner] = result = growing(ev, contents, element_type(ev, contents))
    return result


def append(ev: Evaluator, owner: Lst, item: Value, node: Any) -> None:
    contents = ev.heap[owner]
    item = ev.materialise(item)
    if isinstance(contents, Items):
        ev.heap[owner] = Items((*contents.values, item))
        return
    value = ev.scalar(item, node)
    assert isinstance(contents.buffer.type, Array)
    element = element_type(ev, contents, Items((value,)))
    buffer = contents.buffer
    if element != contents.buffer.type.element:
        buffer = ev.sym(copy(ev, buffer, element.dtype, node))
    room = ev.sym(ev.call_library("grown", (buffer, contents.count)))
    assert isinstance(room.atom, Name)
    ev.emit(Store(room.atom.id, (contents.count.atom,), ev.cast(value, element).atom, span=ev.span))
    ev.heap[owner] = Growing(room, ev.op("+", contents.count, number(1)))


def list_method(ev: Evaluator, owner: Lst, name: str, args: Args, node: Any) -> Value | None:
    contents = ev.heap[owner]
    if name == "append":
        append(ev, owner, args[0], node)
        return NONE
    if name == "extend":
        extend_list(ev, owner, args[0], node)
        return NONE
    if name == "copy":
        return new_list(ev, _copied(ev, contents))
    if name == "clear":
        ev.heap[owner] = Items(()) if isinstance(contents, Items) else Growing(contents.buffer, number(0))
        return NONE
    if name == "pop" and not args:
        if isinstance(contents, Items):
            if not contents.values:
                ev.fail(TypeMismatch, "pop from an empty list", node)
            ev.heap[owner] = Items(contents.values[:-1])
            return contents.values[-1]
        last = ev.op("-", contents.count, number(1))
        item = indexing.load(ev, contents.buffer, last, node)
        ev.heap[owner] = Growing(contents.buffer, last)
        return item
    return None


def extend_list(ev: Evaluator, owner: Lst, value: Value, node: Any) -> None:
    if isinstance(value, Lst) and isinstance(more := ev.heap[value], Items):
        value = Tup(more.values)
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
            value = ev.scalar(contents.values[0], node)
            count = ev.scalar(other, node)
            assert isinstance(value.type, Scalar)
            return new_list(ev, Growing(_filled(ev, (count,), value.type.dtype, value), count))
    if fn == "+" and isinstance(other, Lst) and isinstance(left, Lst) and isinstance(right, Lst):
        first, second = ev.heap[left], ev.heap[right]
        if isinstance(first, Items) and isinstance(second, Items):
            return new_list(ev, Items(first.values + second.values))
    if is_array(other):
        arrays = [as_array(ev, v, node) if isinstance(v, Lst) else v for v in (left, right)]
        return operators.binary(ev, fn, arrays[0], arrays[1], node)
    ev.fail(UnsupportedSyntax, f"`{fn}` of lists", node)


def inert(ev: Evaluator, name: str, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """A function whose result has no derivative: called as it is."""
    function = numba_types.callable_of(name)
    syms: list[Sym] = []
    for arg in args:
        value = as_array(ev, arg, node) if isinstance(arg, Tup | Lst) else arg
        if not isinstance(value, Sym):
            ev.fail(UnsupportedType, f"`{name}` of {describe(arg)}", node)
        syms.append(value)
    text = [f"{key}={value.obj!r}" for key, value in kwargs.items() if isinstance(value, Static)]
    numbers = {key: value for key, value in kwargs.items() if isinstance(value, Sym)}
    if len(text) + len(numbers) != len(kwargs):
        ev.fail(UnsupportedType, f"an argument of `{name}` is not supported", node)
    syms += numbers.values()
    found = numba_types.result_type(function, tuple(sym.type for sym in syms))
    core = None if found is None else numba_types.from_numba(found)
    fn = ";".join([name, *text, *(f"{key}=" for key in numbers)])
    if core is not None:
        result = ev.assign(Op(fn, tuple(sym.atom for sym in syms)), core)
        if isinstance(core, Array):
            assert isinstance(result.atom, Name)
            ev.roots[result.atom.id] = frozenset({result.atom.id})
        return result
    if isinstance(found, numba.types.NoneType):
        ev.emit(Call((), fn, tuple(sym.atom for sym in syms), ev.span))
        return NONE
    members = [numba_types.from_numba(member) for member in getattr(found, "types", ())]
    if members and all(member is not None for member in members):
        targets = [ev.define("t", member, temporary=True) for member in members if member is not None]
        ev.emit(Call(tuple(targets), fn, tuple(sym.atom for sym in syms), ev.span))
        for target in targets:
            ev.roots[target] = frozenset({target})
        return Tup(tuple(Sym(Name(target), ev.types[target]) for target in targets))
    types = ", ".join(str(sym.type) for sym in syms)
    ev.fail(TypeMismatch, f"Numba has no `{name}` for ({types})", node)


def primitive(ev: Evaluator, name: str, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """A whole-array function with rules of its own, such as a matrix product."""
    args = [as_array(ev, arg, node) if isinstance(arg, Tup | Lst) else arg for arg in args]
    if name == "np.dot" and any(is_scalar(arg) for arg in args):
        return operators.binary(ev, "*", args[0], args[1], node)
    arrays = [arg for arg in args if isinstance(arg, Sym) and isinstance(arg.type, Array)]
    dtypes = [np.dtype(arg.type.dtype) for arg in arrays if isinstance(arg.type, Array)]
    common = str(np.result_type(*dtypes)) if dtypes else "float64"
    if not common.startswith("float"):
        common = "float64"
    converted: Args = []
    for arg in args:
        if isinstance(arg, Sym) and isinstance(arg.type, Array):
            converted.append(arg if arg.type.dtype == common else copy(ev, arg, common, node))
        else:
            converted.append(arg)
    return inert(ev, name, converted, kwargs, node)


def matmul(ev: Evaluator, left: Value, right: Value, node: Any) -> Value:
    """`left @ right`."""
    for side in (left, right):
        if not is_array(side):
            ev.fail(TypeMismatch, f"`@` of {describe(left)} and {describe(right)}", node)
    return primitive(ev, "np.dot", [ev.materialise(left), ev.materialise(right)], {}, node)


def method(
    ev: Evaluator, owner: Value, name: str, args: Args, kwargs: Kwargs, node: Any
) -> Value | None:
    """Methods that need more than the library."""
    if isinstance(owner, Lst):
        return list_method(ev, owner, name, args, node)
    if isinstance(owner, Tup) and name == "_replace" and owner.cls is not None:
        fields = owner.cls._fields  # type: ignore[attr-defined]
        items = tuple(kwargs.get(field, item) for field, item in zip(fields, owner.items, strict=True))
        return Tup(items, owner.cls)
    if isinstance(owner, Static) and isinstance(owner.obj, str):
        return Static(owner.obj)
    handler = METHOD_HANDLERS.get(name)
    if handler is not None and (is_array(owner) or is_scalar(owner)):
        result: Value = handler(ev, [owner, *args], kwargs, node)
        return result
    if name == "fill" and isinstance(owner, Sym):
        indexing.write_into(ev, owner, ev.scalar(args[0], node), node)
        return NONE
    if name == "item" and isinstance(owner, Sym):
        if args:
            return iteration.flat_item(ev, owner, ev.scalar(args[0], node), node)
        return indexing.load(ev, owner, Tup((number(0),) * getattr(owner.type, "ndim", 0)), node)
    if is_array(owner) and name in ("dot",):
        return primitive(ev, "np.dot", [ev.materialise(owner), ev.materialise(args[0])], {}, node)
    if is_array(owner) and name in INERT_METHODS:
        return ev.call_object(getattr(np, name), [owner, *args], kwargs, node)
    return None


INERT_METHODS = frozenset({"argmax", "argmin", "argsort", "any", "all", "nonzero", "searchsorted"})

METHOD_HANDLERS: dict[str, Any] = {
    "astype": astype,
    "copy": array_copy,
    "reshape": reshape,
    "ravel": ravel,
    "flatten": flatten,
    "transpose": transpose,
    "swapaxes": swapaxes,
}


def write_out(ev: Evaluator, out: Value, value: Value, node: Any) -> None:
    if not isinstance(out, Sym):
        ev.fail(TypeMismatch, "`out` must be an array", node)
    indexing.write_into(ev, out, value, node)


SPECIAL: dict[Any, Any] = {
    np.zeros: zeros,
    np.empty: empty,
    np.ones: ones,
    np.full: full,
    np.zeros_like: zeros_like,
    np.empty_like: empty_like,
    np.ones_like: ones_like,
    np.full_like: full_like,
    np.array: array,
    np.asarray: asarray,
    np.ascontiguousarray: ascontiguousarray,
    np.copy: array_copy,
    np.reshape: reshape,
    np.ravel: ravel,
    np.transpose: transpose,
    np.swapaxes: swapaxes,
    np.expand_dims: expand_dims,
    np.shape: shape,
    np.ndim: ndim,
    np.size: size,
    np.where: where,
    np.ndindex: ndindex,
    np.ndenumerate: ndenumerate,
    np.dtype: dtype_attribute,
    len: len_,
    range: range_,
    numba.prange: prange,
    enumerate: enumerate_,
    zip: zip_,
    reversed: reversed_,
    max: min_max("max"),
    min: min_max("min"),
    sum: sum_,
    isinstance: isinstance_,
    tuple: tuple_,
    list: list_,
    print: print_call,
    type: type_,
    divmod: divmod_,
    pow: pow_,
    float: caster("float64"),
    int: caster("int64"),
    bool: caster("bool"),
    **{getattr(np, name): caster(name) for name in _DTYPES if name != "bool"},
    np.bool_: caster("bool"),
    **{getattr(numba, name): caster(name) for name in _DTYPES if name != "bool"},
    numba.boolean: caster("bool"),
    arrays_common.stop_gradient: stop_gradient,
    tapec_runtime.stop_gradient: stop_gradient,
    tapec_runtime.constant: constant,
    numba.literally: lambda ev, args, kwargs, node: args[0],
}
