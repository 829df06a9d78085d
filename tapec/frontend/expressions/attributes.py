"""Attributes of values: `x.shape`, `module.constant`, `owner.method`."""

from __future__ import annotations

import types
from typing import Any

import gast
import numpy as np

from tapec.frontend.arrays.array_shapes import reversed_axes
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import (
    Caught,
    Complex,
    Instance,
    Lazy,
    Method,
    Record,
    Static,
    Sym,
    Tup,
    Unseen,
    Value,
    describe,
    is_complex,
    number,
    range_bounds,
)
from tapec.frontend.expressions.outside_objects import wrap
from tapec.frontend.iteration.iterators import once
from tapec.frontend.operations import allocation, broadcasting, complex_arithmetic
from tapec.frontend.operations.memory_order import mark
from tapec.frontend.structures import argument_objects, made_objects, named_tuples
from tapec.frontend.structures.captured_values import Held
from tapec.rules import arrays_shape
from tapec.syntax.core import Const, Name, Op
from tapec.syntax.types import INT64, Array, Scalar

# reductions that read each element once: they take an elementwise expression as it is
READ_ONCE = frozenset({"sum", "total", "prod", "mean", "count"})


_OF_RANGES = ("start", "stop", "step")


class Flags(types.SimpleNamespace):
    """The `flags` of an array, which do not change."""


def attribute(ev: Evaluator, node: gast.Attribute) -> Value:
    return get_attribute(ev, ev.expr(node.value), node.attr, node)


def get_attribute(ev: Evaluator, owner: Value, attr: str, node: Any) -> Value:
    if isinstance(owner, Caught):
        return Unseen(owner.reason, owner.name)
    owner = ev.present(owner)
    if attr in _OF_RANGES and (bounds := range_bounds(owner)) is not None:
        return bounds[_OF_RANGES.index(attr)]
    if isinstance(owner, Static):
        return _static_attribute(ev, owner.obj, attr, node)
    if isinstance(owner, Record):
        return argument_objects.attribute(ev, owner, attr, node)
    if isinstance(owner, argument_objects.ParentAttributes):
        return argument_objects.super_attribute(ev, owner, attr, node)
    if isinstance(owner, Instance):
        if ev.live is None:
            return made_objects.attribute(ev, owner, attr, node)
        return ev.live.instance_attribute(owner, attr, node)
    if isinstance(owner, Tup):
        return named_tuples.attribute(ev, owner, attr, node)
    if is_complex(owner):
        return _complex_attribute(ev, owner, attr, node)
    if isinstance(owner, Lazy) and attr in ("ndim", "dtype"):
        return number(owner.type.ndim) if attr == "ndim" else Static(np.dtype(owner.type.dtype))
    if isinstance(owner, Lazy) and attr in ("shape", "size"):
        extents = broadcasting.broadcast(ev, owner).extents
        return Tup(extents) if attr == "shape" else _product(ev, extents)
    if isinstance(owner, Lazy):
        if attr in READ_ONCE:
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
        extents = broadcasting.broadcast(ev, owner).extents
        return Tup(extents) if attr == "shape" else _product(ev, extents) if attr == "size" else number(len(extents))
    if isinstance(owner, Lazy) and attr in READ_ONCE:
        return Method(owner, attr)
    whole = ev.materialise(owner)
    assert isinstance(whole, Complex)
    if attr in ("real", "imag"):
        return _part(ev, whole.re if attr == "real" else whole.im)
    if attr == "T":
        turned: Complex = complex_arithmetic.each(ev, whole, lambda part: reversed_axes(ev, part))
        return turned
    if attr in ("shape", "size", "ndim", "flags"):
        return get_attribute(ev, whole.re, attr, node)
    if attr in ("itemsize", "nbytes"):
        return ev.op("*", get_attribute(ev, whole.re, attr, node), number(2))
    if attr == "flat":
        return once(ev, "flat", whole)
    return Method(whole, attr)


def _part(ev: Evaluator, part: Sym) -> Sym:
    """The real or imaginary part of a complex number or array, which is no array in rows for NumPy."""
    if not isinstance(part.type, Array) or part.type.layout == "A" or ev.frame.library:
        return part
    view = allocation.renamed(ev, part)
    assert isinstance(view.atom, Name)
    mark(ev, view.atom.id, part=True)
    return view


def _static_attribute(ev: Evaluator, obj: Any, attr: str, node: Any) -> Value:
    if isinstance(obj, Held) and (own := obj.attribute(attr)) is not None:
        return own
    if ev.live is not None:
        own = ev.live.attribute(obj, attr, node)
        if own is not None:
            return own
    try:
        found = getattr(obj, attr)
    except AttributeError:
        ev.lacks(describe(Static(obj)), attr, node)
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
            return reversed_axes(ev, owner)
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


HANDLERS: dict[type, Any] = {gast.Attribute: attribute}
