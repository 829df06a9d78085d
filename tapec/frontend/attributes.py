"""Attributes, and the Python objects that are found under names and attributes."""

from __future__ import annotations

import enum
import types
from typing import Any

import gast
import numpy as np
from numba.core.errors import NumbaError

from tapec.errors import UndefinedName, UnsupportedType
from tapec.frontend import allocation, argument_objects, complex_arithmetic, known, named_tuples, numba_types
from tapec.frontend.call_arguments import DTYPES
from tapec.frontend.evaluator import Evaluator
from tapec.frontend.iterators import once
from tapec.frontend.merge import note_roots
from tapec.frontend.optional import present
from tapec.frontend.values import (
    PART_OF,
    Caught,
    Complex,
    Instance,
    Lazy,
    Method,
    Record,
    Slice,
    Static,
    Sym,
    Tup,
    Unseen,
    Value,
    describe,
    is_complex,
    number,
)
from tapec.rules import arrays_shape
from tapec.syntax.core import Const, Name, Op
from tapec.syntax.types import INT64, Array, Scalar


class Flags(types.SimpleNamespace):
    """The `flags` of an array, which do not change."""


def attribute(ev: Evaluator, node: gast.Attribute) -> Value:
    return get_attribute(ev, ev.expr(node.value), node.attr, node)


def get_attribute(ev: Evaluator, owner: Value, attr: str, node: Any) -> Value:
    if isinstance(owner, Caught):
        return Unseen(owner.reason, owner.name)
    owner = present(ev, owner)
    if isinstance(owner, Static):
        return _static_attribute(ev, owner.obj, attr, node)
    if isinstance(owner, Record):
        return argument_objects.attribute(ev, owner, attr, node)
    if isinstance(owner, argument_objects.ParentAttributes):
        return argument_objects.super_attribute(ev, owner, attr, node)
    if isinstance(owner, Instance):
        assert ev.live is not None
        return ev.live.instance_attribute(owner, attr, node)
    if isinstance(owner, Tup):
        return named_tuples.attribute(ev, owner, attr, node)
    if is_complex(owner):
        return _complex_attribute(ev, owner, attr, node)
    if isinstance(owner, Lazy) and attr in ("ndim", "dtype"):
        return number(owner.type.ndim) if attr == "ndim" else Static(np.dtype(owner.type.dtype))
    if isinstance(owner, Lazy) and attr in ("shape", "size"):
        extents = ev.broadcast_of(owner).extents
        return Tup(extents) if attr == "shape" else _product(ev, extents)
    if isinstance(owner, Lazy):
        if attr in ev.lazy_methods:
            return Method(owner, attr)
        owner = ev.materialise(owner)
    if isinstance(owner, Sym) and ev.live is not None:
        own = ev.live.symbol_attribute(owner, attr, node)
        if own is not None:
            return own
    if isinstance(owner, Sym) and isinstance(owner.type, Array):
        return _array_attribute(ev, owner, attr, node)
    if isinstance(owner, Sym):
        if attr in ("real", "T"):
            return owner
        if attr == "imag":
            return ev.cast(number(0.0), owner.type) if isinstance(owner.type, Scalar) else owner
        if attr == "dtype" and isinstance(owner.type, Scalar):
            return Static(np.dtype(owner.type.dtype))
        if attr in ("ndim", "size"):
            return number(0 if attr == "ndim" else 1)
        if attr == "shape":
            return Tup(())
    return Method(owner, attr)


def _complex_attribute(ev: Evaluator, owner: Any, attr: str, node: Any) -> Value:
    """An attribute of a complex number or array; the parts of an array are views of it."""
    if attr == "dtype":
        return Static(np.dtype(owner.type.dtype))
    if isinstance(owner, Lazy) and attr in ("shape", "size", "ndim"):
        extents = ev.broadcast_of(owner).extents
        return Tup(extents) if attr == "shape" else _product(ev, extents) if attr == "size" else number(len(extents))
    if isinstance(owner, Lazy) and attr in ev.lazy_methods:
        return Method(owner, attr)
    whole = ev.materialise(owner)
    assert isinstance(whole, Complex)
    if attr in ("real", "imag"):
        part: Sym = whole.re if attr == "real" else whole.im
        return part
    if attr == "T":
        turned: Complex = complex_arithmetic.each(ev, whole, lambda part: transpose(ev, part))
        return turned
    if attr in ("shape", "size", "ndim", "flags"):
        return get_attribute(ev, whole.re, attr, node)
    if attr in ("itemsize", "nbytes"):
        return ev.op("*", get_attribute(ev, whole.re, attr, node), number(2))
    if attr == "flat":
        return once(ev, "flat", whole)
    return Method(whole, attr)


def _static_attribute(ev: Evaluator, obj: Any, attr: str, node: Any) -> Value:
    if ev.live is not None:
        own = ev.live.attribute(obj, attr, node)
        if own is not None:
            return own
    try:
        found = getattr(obj, attr)
    except AttributeError:
        ev.fail(UndefinedName, f"{describe(Static(obj))} has no attribute `{attr}`", node)
    if ev.frame is not None and ev.frame.library:
        # told by our own version
        return wrap(ev, found, node, ("attribute", obj, attr))
    if isinstance(obj, types.ModuleType | type):
        ev.reads[obj, attr] = found
    elif isinstance(obj, types.FunctionType):
        # without the point it is a name that the function reads
        ev.reads[obj, f".{attr}"] = found
    else:
        ev.seen[id(obj), attr] = obj, found
    return wrap(ev, found, node, ("attribute", obj, attr))


def _product(ev: Evaluator, extents: tuple[Sym, ...]) -> Sym:
    result = number(1)
    for extent in extents:
        result = extent if result.constant == 1 else ev.op("*", result, extent)
    return result


def _array_attribute(ev: Evaluator, owner: Sym, attr: str, node: Any) -> Value:
    type_ = owner.type
    assert isinstance(type_, Array) and isinstance(owner.atom, Name)
    match attr:
        case "shape":
            return Tup(tuple(allocation.dim(ev, owner, axis) for axis in range(type_.ndim)))
        case "ndim":
            return number(type_.ndim)
        case "size":
            return _product(ev, tuple(allocation.dim(ev, owner, axis) for axis in range(type_.ndim)))
        case "dtype":
            return Static(np.dtype(type_.dtype))
        case "T":
            return transpose(ev, owner)
        case "mT":
            return ev.inline_library(arrays_shape.matrix_transpose, [owner], {}, node)
        case "real":
            return owner
        case "imag":
            return ev.call_object(np.zeros_like, [owner], {}, node)
        case "flat":
            return once(ev, "flat", owner)
        case "flags":
            columns = type_.layout == "F" or (type_.layout == "C" and type_.ndim < 2)
            flags = Flags(
                c_contiguous=type_.layout == "C", f_contiguous=columns, contiguous=type_.layout in "CF"
            )
            return Static(flags)
        case "itemsize":
            return number(np.dtype(type_.dtype).itemsize)
        case "nbytes":
            size = _array_attribute(ev, owner, "size", node)
            return ev.op("*", size, number(np.dtype(type_.dtype).itemsize))
        case "strides":
            strides = [ev.assign(Op("stride", (owner.atom, Const(k))), INT64) for k in range(type_.ndim)]
            return Tup(tuple(strides))
    return Method(owner, attr)


def transpose(ev: Evaluator, owner: Sym) -> Sym:
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


def wrap(ev: Evaluator, obj: Any, node: Any = None, origin: tuple[Any, ...] | None = None) -> Value:
    """A Python object found in a closure, a module or a container; `origin` tells where."""
    if ev.live is not None and origin is not None:
        reached = ev.live.reach(obj, origin)
        if reached is not None:
            return reached
    if isinstance(obj, bool | int | float) and not isinstance(obj, enum.Enum):
        if isinstance(obj, int) and abs(obj) >= 2**63:
            ev.fail(UnsupportedType, "an integer beyond 64 bits is not supported", node)
        return number(obj if type(obj) in (bool, int, float) else float(obj) if isinstance(obj, float) else int(obj))
    if isinstance(obj, np.generic):
        return _numpy_scalar(ev, obj, node)
    if isinstance(obj, np.ndarray):
        return global_array(ev, obj, node)
    if isinstance(obj, tuple):
        cls = type(obj) if hasattr(obj, "_fields") else None
        if cls is not None:
            named_tuples.check(ev, cls, node)
        return Tup(tuple(wrap(ev, item, node, ("item", obj, k)) for k, item in enumerate(obj)), cls)
    if isinstance(obj, complex):
        return complex_arithmetic.literal(obj)
    if isinstance(obj, slice):
        parts = (None if part is None else wrap(ev, part, node) for part in (obj.start, obj.stop, obj.step))
        return Slice(*(part if part is None else ev.scalar(part, node) for part in parts))
    container = known.constant(ev, obj, node) if ev.live is None else None
    return Static(obj) if container is None else container


def _numpy_scalar(ev: Evaluator, obj: Any, node: Any) -> Value:
    dtype = str(obj.dtype)
    if dtype == "bool":
        return number(bool(obj))
    if dtype == "int64":
        return number(int(obj))
    if dtype == "float64":
        return number(float(obj))
    if obj.dtype.kind in "iuf" and dtype in DTYPES:
        plain = number(float(obj) if obj.dtype.kind == "f" else int(obj))
        return ev.assign(Op(f"cast.{dtype}", (plain.atom,)), Scalar(dtype))
    if dtype in PART_OF:
        return complex_arithmetic.converted(ev, complex_arithmetic.literal(complex(obj)), dtype)
    ev.fail(UnsupportedType, f"a value of dtype {dtype} is not supported", node)


def global_array(ev: Evaluator, obj: Any, node: Any) -> Value:
    """An array of a module or closure: a constant, as in Numba."""
    if str(obj.dtype) in PART_OF:
        return complex_arithmetic.joined(ev, *_constant_parts(ev, obj, node))
    try:
        type_ = numba_types.from_numba(numba_types.type_of_value(obj))
    except (ValueError, NumbaError):
        type_ = None
    if not isinstance(type_, Array):
        title = "an array" if type(obj) is np.ndarray else f"a {type(obj).__name__}"
        ev.fail(UnsupportedType, f"{title} of dtype {obj.dtype} is not supported", node)
    for ident, array in ev.constants.items():
        if array is obj:
            return Sym(Name(ident), ev.types[ident])
    return _constant(ev, obj, type_, node.id if isinstance(node, gast.Name) else "table")


def _constant_parts(ev: Evaluator, obj: Any, node: Any) -> tuple[Sym, Sym]:
    """The parts of a constant complex array, each an array of its own."""
    base = node.id if isinstance(node, gast.Name) else "table"
    if id(obj) not in ev.divided:
        columns = obj.flags.f_contiguous and not obj.flags.c_contiguous
        made = [np.array(part, order="F" if columns else "C") for part in (obj.real, obj.imag)]
        types_ = [numba_types.from_numba(numba_types.type_of_value(part)) for part in made]
        names = (f"{base}_re", f"{base}_im")
        re, im = (_constant(ev, *one) for one in zip(made, types_, names, strict=True))
        # the array is kept, and its id with it
        ev.divided[id(obj)] = obj, re, im
    _, re, im = ev.divided[id(obj)]
    return re, im


def _constant(ev: Evaluator, obj: Any, type_: Any, base: str) -> Sym:
    # Numba freezes such arrays: contiguous and read-only
    layout = "F" if type_.layout == "F" else "C"
    ident = ev.define(base, Array(type_.dtype, type_.ndim, layout, readonly=True))
    ev.fixed.add(ident)
    ev.constants[ident] = obj
    ev.roots[ident] = frozenset({ident})
    for axis, extent in enumerate(obj.shape):
        ev.dim_keys[ident, axis] = (("constant", extent), 0)
    return Sym(Name(ident), ev.types[ident])


HANDLERS: dict[type, Any] = {gast.Attribute: attribute}
