"""One array passed as two arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Same:
    """Stands for the type of an argument that is the array of an earlier one."""

    position: int


def resolved(types_: tuple[Any, ...]) -> tuple[Any, ...]:
    """The types of arguments, each by itself."""
    return tuple(types_[one.position] if isinstance(one, Same) else one for one in types_)


def identical(args: list[Any]) -> dict[int, int]:
    """For each argument that is the same view as an earlier one, the position of that one."""
    found: dict[int, int] = {}
    for k, arg in enumerate(args):
        for earlier in range(k):
            if earlier not in found and _same_view(args[earlier], arg):
                found[k] = earlier
                break
    return found


def others_overlap(args: list[Any], same: dict[int, int]) -> bool:
    """Whether arrays that are not the same view share memory."""
    arrays = [arg for k, arg in enumerate(args) if k not in same and isinstance(arg, np.ndarray)]
    return any(np.may_share_memory(a, b) for k, a in enumerate(arrays) for b in arrays[k + 1 :])


def _same_view(first: Any, second: Any) -> bool:
    if not isinstance(first, np.ndarray) or not isinstance(second, np.ndarray):
        return False
    memory = (first.ctypes.data, first.shape, first.strides, first.dtype)
    return first.size > 0 and memory == (second.ctypes.data, second.shape, second.strides, second.dtype)
