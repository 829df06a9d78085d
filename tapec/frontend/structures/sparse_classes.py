"""SciPy's classes of sparse matrices, and the named tuples that stand for their objects at the Python boundary."""

from __future__ import annotations

import collections
import functools
import sys
from typing import Any

import numpy as np

from tapec.errors import UnsupportedType, UsageError

# what matrices of each format hold, as SciPy calls it
HELD = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
}
_FORMATS = "csr, csc and coo matrices of two axes are taken"


def class_of(obj: Any) -> Any:
    """SciPy's class of a sparse matrix that is taken; None of other objects, UnsupportedType for other sparse ones."""
    if not type(obj).__module__.startswith("scipy.sparse."):
        return None
    sparse: Any = sys.modules["scipy.sparse"]
    if not sparse.issparse(obj):
        return None
    if obj.format not in HELD or obj.ndim != 2 or type(obj) not in classes().values():
        made = f"a sparse {type(obj).__name__} of {obj.ndim} axes" if obj.ndim != 2 else f"a {type(obj).__name__}"
        raise UnsupportedType(f"{made} is not supported", reason=_FORMATS, hint="convert it by `tocsr()`")
    if obj.dtype.kind not in "fiu":
        raise UnsupportedType(f"a sparse matrix of dtype {obj.dtype} is not supported", hint="convert it to float64")
    return type(obj)


@functools.cache
def classes() -> dict[tuple[str, bool], Any]:
    """SciPy's classes by their format, and whether they are arrays."""
    sparse: Any = sys.modules["scipy.sparse"]
    return {
        (kind, is_like_array): getattr(sparse, f"{kind}_{'array' if is_like_array else 'matrix'}")
        for kind in HELD
        for is_like_array in (True, False)
    }


@functools.cache
def stand_in(cls: Any) -> Any:
    """The named tuple that stands for the sparse matrices of a class."""
    kind, is_like_array = next(key for key, one in classes().items() if one is cls)
    names = (*HELD[kind], "rows", "columns")
    make: Any = collections.namedtuple
    made = make(f"{cls.__name__}_parts", names)
    made.object_class, made.object_names, made.object_fixed, made.object_opaque = cls, names, {}, {}
    made.sparse, made.like_array, made.has_places = kind, is_like_array, True
    return made


def held(obj: Any) -> tuple[Any, ...]:
    """The arrays of a sparse matrix, and its extents."""
    return (*(getattr(obj, name) for name in HELD[obj.format]), *obj.shape)


def joined(like: Any, parts: Any) -> Any:
    """The sparse matrix of parts; of a gradient, which has the numbers alone, the rest is as in `like`."""
    cls: Any = type(parts).object_class
    if parts[-1] is None:
        parts = type(parts)(parts[0], *held(like)[1:])
    data, first, second, *shape = parts
    if data.ndim != 1:
        raise UnsupportedType(
            "a Jacobian with respect to a sparse matrix",
            hint="differentiate by the numbers in it: make the matrix of (data, indices, indptr) in the function",
        )
    given = (data, (first, second)) if type(parts).sparse == "coo" else (data, first, second)
    return cls(given, shape=tuple(map(int, shape)))


def with_data(like: Any, data: Any) -> Any:
    """A sparse matrix of other numbers, in the places of `like`."""
    cls = class_of(like)
    return joined(like, stand_in(cls)(data, None, None, None, None))


def check_places(given: Any, like: Any, what: str) -> None:
    """UsageError for a sparse matrix whose elements stand elsewhere than those of what it belongs to."""
    # one that has been converted already is the named tuple that stands for it
    parts = given if hasattr(type(given), "sparse") else held(given) if type(given) is type(like) else ()
    cls = getattr(type(given), "object_class", type(given))
    if cls is not type(like) or not all(map(np.array_equal, parts[1:], held(like)[1:])):
        raise UsageError(
            f"{what} has its elements in other places than the {type(like).__name__} that it belongs to",
            hint="make it a matrix of the same class, with the same indices",
        )
