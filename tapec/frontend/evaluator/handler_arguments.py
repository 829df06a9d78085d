"""What special functions share: their arguments, dtypes and shapes."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from tapec.errors import TypeMismatch, UnsupportedType
from tapec.frontend.evaluator import numba_types
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import NONE, PART_OF, Items, Lst, Static, Sym, Tup, Value, describe, is_none
from tapec.syntax.types import Scalar

Args = list[Value]
Kwargs = dict[str, Value]

DTYPES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")


def argument(args: Args, kwargs: Kwargs, position: int, name: str) -> Value:
    """An argument by its position or its name; None where it is not given."""
    if position < len(args):
        return args[position]
    return kwargs.get(name, NONE)


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
            if str(obj) in PART_OF:
                return str(obj)
        try:
            name = str(np.dtype(obj))
        except TypeError:
            name = ""
        if name in DTYPES or name in PART_OF:
            return name
    ev.fail(UnsupportedType, f"{describe(value)} is not a dtype that can be used here", node)


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
