"""The types that a core name can have: a mirror of the Numba types that tapec handles."""

from __future__ import annotations

from dataclasses import dataclass, replace

FLOATS = ("float32", "float64")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number or boolean; `dtype` is NumPy's name for it ("float64", "int64", "bool")."""

    dtype: str

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    def __str__(self) -> str:
        return self.dtype


@dataclass(frozen=True, slots=True)
class Below:
    """What places in row `k` of an array are below, none of them being negative: `k` plus a number plus extents.

    extents  those of parameters: the name of one, an axis, and a factor
    """

    number: int = 0
    extents: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Array:
    """An array; `layout` is "C", "F" or "A" as in Numba, and `below` what is known of a parameter's integers."""

    dtype: str
    ndim: int
    layout: str = "C"
    readonly: bool = False
    below: Below | None = None

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def element(self) -> Scalar:
        return Scalar(self.dtype)

    def __str__(self) -> str:
        dims = ", ".join(":" * self.ndim)
        return f"{self.dtype}[{dims}]{self.layout}"


@dataclass(frozen=True, slots=True)
class Stack:
    """A list of scalars or arrays used as a stack: append and pop alone."""

    element: Scalar | Array

    @property
    def is_float(self) -> bool:
        return self.element.is_float

    def __str__(self) -> str:
        return f"stack({self.element})"


def written(type_: Type) -> Type:
    """The type of what is as large as an array, or a list of arrays, and is written into: its adjoint, or tangent."""
    if isinstance(type_, Array) and type_.readonly:
        return replace(type_, readonly=False)
    if isinstance(type_, Stack) and isinstance(type_.element, Array) and type_.element.readonly:
        return Stack(replace(type_.element, readonly=False))
    return type_


@dataclass(frozen=True, slots=True)
class Tuples:
    """A list of tuples of scalars used as a stack; `dtypes` are those of a tuple's numbers."""

    dtypes: tuple[str, ...]

    is_float = False

    def __str__(self) -> str:
        return f"stack({', '.join(self.dtypes)})"


@dataclass(frozen=True, slots=True)
class Text:
    """An inert string."""

    is_float = False

    def __str__(self) -> str:
        return "str"


Type = Scalar | Array | Stack | Tuples | Text

FLOAT64 = Scalar("float64")
INT64 = Scalar("int64")
UINT64 = Scalar("uint64")
BOOL = Scalar("bool")
