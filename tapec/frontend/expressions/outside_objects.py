"""The values of Python objects that are found in modules, closures and containers: numbers, arrays, tuples, others."""

from __future__ import annotations

import enum
from typing import Any

import gast
import numpy as np
from numba.core.errors import NumbaError

from tapec.errors import UnsupportedType
from tapec.frontend.evaluator import numba_types
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import DTYPES
from tapec.frontend.evaluator.values import (
    PART_OF,
    Slice,
    Static,
    Sym,
    Tup,
    Value,
    number,
)
from tapec.frontend.operations import complex_arithmetic
from tapec.frontend.structures import constant_containers, derived_classes, jitclasses, named_tuples, sparse_matrices
from tapec.syntax.core import Name, Op
from tapec.syntax.types import Array, Scalar


def wrap(ev: Evaluator, obj: Any, node: Any = None, origin: tuple[Any, ...] | None = None) -> Value:
    """A Python object found in a closure, a module or a container; `origin` tells where."""
    if type(obj) not in derived_classes.EXACT:
        _check_class(ev, obj, node)
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
    if type(obj).__module__.startswith("scipy.sparse.") and sparse_matrices.is_matrix(obj):
        return sparse_matrices.from_outside(ev, obj, node)
    if jitclasses.is_object(obj):
        ev.fail(
            UnsupportedType,
            "an object of a jitclass that is found outside",
            node,
            reason="what it holds may change from call to call",
            hint="pass it as an argument",
        )
    container = constant_containers.constant(ev, obj, node) if ev.live is None else None
    return Static(obj) if container is None else container


def _check_class(ev: Evaluator, obj: Any, node: Any) -> None:
    """Refuse an object whose class would have to be asked what operators mean."""
    what = f"`{gast.unparse(node)}`" if isinstance(node, gast.Name | gast.Attribute) else "a value"
    try:
        derived_classes.check(obj, what)
    except UnsupportedType as error:
        ev.fail(UnsupportedType, error.message, node, reason=error.reason, hint=error.hint)


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
    if id(obj) not in ev.complex_constants:
        columns = obj.flags.f_contiguous and not obj.flags.c_contiguous
        made = [np.array(part, order="F" if columns else "C") for part in (obj.real, obj.imag)]
        types_ = [numba_types.from_numba(numba_types.type_of_value(part)) for part in made]
        names = (f"{base}_re", f"{base}_im")
        re, im = (_constant(ev, *one) for one in zip(made, types_, names, strict=True))
        # the array is kept, and its id with it
        ev.complex_constants[id(obj)] = obj, re, im
    _, re, im = ev.complex_constants[id(obj)]
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
