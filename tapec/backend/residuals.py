"""Residuals between an augmented primal and its pullbacks: who may write into which memory.

Arrays that share memory must go on sharing it in a copy, so memory is copied by ranges of addresses
and the arrays are laid anew over the copies.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def copied(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """`values` with all arrays copied; those that share memory do so in the copies, byte by byte."""
    if not values:
        return values
    return _replaced(values, _ranges(values))


def apart(values: tuple[Any, ...], others: Iterable[Any]) -> tuple[Any, ...]:
    """`values` with copies of those arrays that share memory with one of `others`."""
    if not values:
        return values
    others = [a for a in others if isinstance(a, np.ndarray)]
    arrays = [v for v in values if isinstance(v, np.ndarray)]
    if not any(np.may_share_memory(mine, other) for mine in arrays for other in others):
        # as it mostly is: ranges overlap only where those of two arrays do
        return values
    bounds = [_bounds(a) for a in others if a.size]
    shared = [
        (low, high, members)
        for low, high, members in _ranges(values)
        if any(low < end and start < high for start, end in bounds)
    ]
    return _replaced(values, shared) if shared else values


def _bounds(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """The lowest address of an array's memory and the one behind its highest."""
    start: int = array.__array_interface__["data"][0]
    reach = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    return start + sum(min(r, 0) for r in reach), start + sum(max(r, 0) for r in reach) + array.itemsize


Range = tuple[int, int, list[int]]


def _ranges(values: tuple[Any, ...]) -> list[Range]:
    """Ranges of addresses that arrays lie in, overlapping ones made one, with the arrays' positions."""
    found: list[Range] = []
    arrays = [(k, v) for k, v in enumerate(values) if isinstance(v, np.ndarray) and v.size]
    for low, high, k in sorted((*_bounds(v), k) for k, v in arrays):
        if found and low < found[-1][1]:
            start, end, members = found[-1]
            found[-1] = (start, max(end, high), [*members, k])
        else:
            found.append((low, high, [k]))
    return found


def _replaced(values: tuple[Any, ...], ranges: list[Range]) -> tuple[Any, ...]:
    out = list(values)
    for low, high, members in ranges:
        memory = _memory(values[members[0]], high - low).copy()
        for k in members:
            old = values[k]
            offset = old.__array_interface__["data"][0] - low
            out[k] = np.ndarray(old.shape, old.dtype, memory, offset, old.strides)
    return tuple(out)


def _memory(first: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    """The bytes from the lowest address of an array on."""
    lowest = first[tuple(slice(-1, None) if step < 0 else slice(1) for step in first.strides)]
    start = lowest.reshape(1).view(np.uint8)
    return np.lib.stride_tricks.as_strided(start, (size,), (1,), writeable=False)
