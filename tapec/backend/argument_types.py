"""What Numba calls the types of the arguments of a call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types as nt
from numba.core.dispatcher import OmittedArg
from numba.core.errors import NumbaTypeError, NumbaValueError
from numba.core.typing.typeof import Purpose, typeof

from tapec.frontend.structures.derived_classes import redefines

# what no program takes as it is
_STRUCTURED = frozenset({list, dict})
_NONE_OF_OURS = (
    *(nt.EnumMember, nt.List, nt.Set, nt.PyObject, nt.NumberClass, nt.DType, nt.Module, nt.TypeRef),
    *(nt.ListType, nt.DictType, nt.ClassInstanceType),
)
# the types of arrays met so far, and how many of them are kept at most
_arrays: dict[tuple[Any, int, int], Any] = {}
_KNOWN = 256


class Unkept:
    """In place of a type, where Numba's C code asks: no overload is of it, and it keeps no number below zero."""

    _code = -2


def argument_types(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The Numba types of arguments; None if one has none, or one that no program can be made for."""
    found: list[Any] = []
    for arg in args:
        if type(arg) is float:
            found.append(nt.float64)
            continue
        if type(arg) is np.ndarray:
            # all that Numba looks at
            kind = arg.dtype, arg.ndim, arg.flags.num
            if kind in _arrays:
                found.append(_arrays[kind])
                continue
        if type(arg) in _STRUCTURED or redefines(arg) is not None:
            return None
        if isinstance(arg, tuple):
            items = argument_types(arg)
            if items is None:
                return None
            # as Numba does, with what is known of arrays
            numba_type = nt.BaseTuple.from_types(items, type(arg))
            if numba_type is None:  # a class of its own without names for the items
                return None
            found.append(numba_type)
            continue
        if isinstance(arg, OmittedArg):
            found.append(nt.Omitted(arg.value))
            continue
        try:
            numba_type = typeof(arg, Purpose.argument)
        except (ValueError, NumbaTypeError, NumbaValueError):  # such as masked arrays, and dtypes of another byte order
            return None
        if numba_type is None or isinstance(numba_type, _NONE_OF_OURS):
            return None
        if type(arg) is np.ndarray and len(_arrays) < _KNOWN:
            _arrays[arg.dtype, arg.ndim, arg.flags.num] = numba_type
        found.append(numba_type)
    return tuple(found)
