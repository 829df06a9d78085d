"""What a function of a library returns: 0, a refusal (negative), or the number of an exception (positive)."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

from tapec_runtime import IndexOutOfRange

# the name of each status after the prefix, and what it says; as in support/native.h
REFUSALS = (
    (-1, "NULL_POINTER", "a pointer is NULL that must not be"),
    (-2, "NEGATIVE_EXTENT", "an extent is negative"),
    (-3, "MISALIGNED", "the address or a stride of an array is no multiple of its element's size"),
    (-4, "SHAPE_MISMATCH", "an array has not the shape that it must have"),
    (-5, "OUT_OF_MEMORY", "there is not enough memory for a result"),
)


@dataclass(frozen=True)
class LibraryError:
    """An exception that functions of a library raise.

    status   the number that stands for it
    module   the module of its class, such as `builtins`
    name     the name of its class
    message  its text
    """

    status: int
    module: str
    name: str
    message: str

    @property
    def text(self) -> str:
        """What a traceback would end in."""
        return f"{self.name}: {self.message}" if self.message else self.name


class Failures:
    """The exceptions of a library, numbered in the order in which they are met."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str, str], int] = {}

    def number(self, pickled: bytes) -> int:
        """The status of an exception that Numba pickled as (class, arguments, place)."""
        cls, arguments, *_ = pickle.loads(pickled)
        if issubclass(cls, IndexOutOfRange) and arguments is not None:
            array, axis, *_, line = arguments
            cls, arguments = IndexError, (f"an index is out of bounds for axis {axis} of {array}: {line}",)
        known = [str(one) for one in arguments or () if isinstance(one, str | int | float)]
        # what is known only when it is raised has something else in its place
        unknown = arguments is not None and len(known) < len(arguments)
        message = ", ".join([*known, "shapes or values do not fit"] if unknown else known)
        return self.known.setdefault((cls.__module__, cls.__qualname__, message), len(self.known) + 1)
