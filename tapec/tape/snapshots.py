"""Copies of live values at the entry of a block, and their types."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import typeof

from tapec.frontend.numba_types import from_numba
from tapec.syntax.types import Array
from tapec_runtime.variables import Variable


def array_type(array: Any) -> Array | None:
    """The core type of a live array's copy."""
    try:
        found = from_numba(typeof(array))
    except ValueError:
        return None
    return Array(found.dtype, found.ndim, found.layout) if isinstance(found, Array) else None


def snapshot(value: Any) -> Any:
    """An array's copy, laid out in memory like it; variables give their value, which nobody writes."""
    if isinstance(value, Variable):
        return value._value
    if not isinstance(value, np.ndarray):
        return value
    if value.flags.c_contiguous or value.flags.f_contiguous:
        return value.copy(order="K")
    steps = tuple(slice(None, None, -2 if stride < 0 else 2) for stride in value.strides)
    made = np.empty(tuple(2 * extent for extent in value.shape), value.dtype)[steps]
    made[...] = value
    return made
