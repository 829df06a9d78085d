"""The forms of values that cross between Python's side and C's: numbers, arrays, tuples, nothing.

A Numba type says the same, but drags classes of the user's modules along; a form is plain data that
another process can read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Number:
    """A number or a truth value; `dtype` is NumPy's name for it."""

    dtype: str


@dataclass(frozen=True)
class Block:
    """An array: element type, number of axes, and layout as in Numba."""

    dtype: str
    rank: int
    layout: str


@dataclass(frozen=True)
class Sequence:
    """A tuple; `fields` and `name` are empty unless it is a named tuple."""

    items: tuple[Form, ...]
    fields: tuple[str, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class Nothing:
    """None; `passed` tells whether compiled code has a pointer in its place."""

    passed: bool = True


@dataclass(frozen=True)
class Foreign:
    """A value that has no form in C; `text` is its type."""

    text: str


Form = Number | Block | Sequence | Nothing | Foreign


def form_of(numba_type: Any) -> Form:
    """The form of values of a Numba type."""
    from numba.core import types as nt

    from tapec.frontend.evaluator.numba_types import from_numba
    from tapec.syntax.types import Array, Scalar

    numba_type = nt.unliteral(numba_type)
    if isinstance(numba_type, nt.NoneType | nt.Omitted):
        return Nothing(passed=isinstance(numba_type, nt.NoneType))
    if isinstance(numba_type, nt.BaseTuple):
        structure: Any = numba_type
        items = tuple(form_of(item) for item in structure.types)
        if isinstance(numba_type, nt.BaseNamedTuple):
            return Sequence(items, tuple(structure.fields), structure.instance_class.__name__)
        return Sequence(items)
    core = from_numba(numba_type)
    if isinstance(core, Scalar):
        return Number(core.dtype)
    if isinstance(core, Array):
        return Block(core.dtype, core.ndim, core.layout)
    return Foreign(str(numba_type))


def plain(numba_type: Any) -> Any:
    """The type with ordinary tuples for its named tuples, whose classes another process would not find."""
    from numba.core import types as nt

    if isinstance(numba_type, nt.BaseTuple):
        structure: Any = numba_type
        return nt.Tuple(tuple(plain(item) for item in structure.types))
    return numba_type
