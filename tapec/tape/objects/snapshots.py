"""Copies of live values at the entry of a block, and their types."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import typeof
from numba.core.errors import NumbaError

from tapec.frontend.evaluator.numba_types import from_numba
from tapec.syntax.types import Array, Scalar
from tapec_runtime.variables import Variable

# the parts of a complex value, as its attributes are called
PARTS = ("real", "imag")


def array_type(array: Any) -> Array | None:
    """The core type of a live array's copy; of a complex one that of a copy of its real or imaginary part."""
    if array.dtype.kind == "c" and array.dtype.isnative:
        flags, dtype = array.flags, array.real.dtype.name
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return Array(dtype, array.ndim, layout) if dtype in ("float32", "float64") else None
    found = number_type(array)
    return Array(found.dtype, found.ndim, found.layout) if isinstance(found, Array) else None


def number_type(value: Any) -> Any:
    """The core type of a number or array; None if Numba has none for it."""
    try:
        return from_numba(typeof(value))
    except (ValueError, NumbaError):
        # extended precision, another byte order, masked arrays
        return None


def part_type(value: Any) -> Scalar:
    """The core type of the parts of a complex number."""
    return Scalar("float64" if type(value) is complex else value.real.dtype.name)


def snapshot(value: Any, part: str = "") -> Any:
    """An array's copy, laid out in memory like it; variables give their value, which nobody writes.

    part  "real" or "imag" for the copy of a part of what is complex
    """
    if isinstance(value, Variable):
        value = value._value
        return value if not part else snapshot(value, part)
    if not isinstance(value, np.ndarray):
        return getattr(value, part) if part else value
    if part:
        whole, value = value, getattr(value, part)
        if whole.flags.c_contiguous or whole.flags.f_contiguous:
            return value.copy(order="K")
    elif value.flags.c_contiguous or value.flags.f_contiguous:
        return value.copy(order="K")
    steps = tuple(slice(None, None, -2 if stride < 0 else 2) for stride in value.strides)
    made = np.empty(tuple(2 * extent for extent in value.shape), value.dtype)[steps]
    made[...] = value
    return made
