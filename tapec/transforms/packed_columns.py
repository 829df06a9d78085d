"""Inputs and results of one type that are packed for a program that loops over them."""

from __future__ import annotations

from dataclasses import dataclass

from tapec.syntax.core import Atom, Const, Function, Name, Op
from tapec.syntax.types import INT64, Array, Scalar
from tapec.transforms.emitter import Emitter

# an entry of a table: a number, or an extent of an input
Entry = int | float | tuple[str, int]


@dataclass(frozen=True)
class Column:
    """Inputs of one type that are packed: `names` in their order, and the parameters that stand for them.

    items    all elements, one array after the other
    starts   where each array begins, and the end of the last one; none for numbers
    extents  for each axis those of all arrays, where there are several axes
    """

    names: tuple[str, ...]
    type: Scalar | Array
    items: str
    starts: str = ""
    extents: tuple[str, ...] = ()

    @property
    def params(self) -> tuple[str, ...]:
        """The parameters in their order."""
        return (self.items, *((self.starts,) if self.starts else ()), *self.extents)


@dataclass(frozen=True, eq=False)
class PackedResult:
    """Results of one type that are packed, with their shapes; of arrays, `starts` says where each begins."""

    items: str
    type: Scalar | Array
    starts: str
    shapes: tuple[tuple[Entry, ...], ...]


@dataclass(frozen=True)
class Rerolled:
    """A program with loops for what was written out.

    Its parameters: `inputs`, then those of columns, tables, counts, and where the arrays of outputs begin.

    inputs   the inputs that are what they were
    tables   arrays of numbers: a parameter and the entries of each
    counts   numbers of iterations: a parameter and the number of each
    outputs  results that are packed
    results  for each result of the program before: its place among those of this one, its output, and its place there
    """

    function: Function
    inputs: tuple[str, ...]
    columns: tuple[Column, ...]
    tables: tuple[tuple[str, tuple[Entry, ...]], ...]
    counts: tuple[tuple[str, int], ...]
    outputs: tuple[PackedResult, ...] = ()
    results: tuple[tuple[int, PackedResult | None, int], ...] = ()

    @property
    def packed(self) -> tuple[str, ...]:
        """The parameters that are no inputs."""
        return self.function.params[len(self.inputs) :]

    def place(self, name: str) -> tuple[Column, int] | None:
        """Where an input is packed."""
        return next(((one, one.names.index(name)) for one in self.columns if name in one.names), None)


def item_of(out: Emitter, column: Column, items: str, place: Atom) -> Op:
    """An item of what is packed as a column is: the inputs, or their adjoints."""
    if isinstance(column.type, Scalar):
        return Op("load", (Name(items), place))
    extents = [out.let("size", Op("load", (Name(one), place)), INT64) for one in column.extents]
    return taken(out, items, column.starts, place, tuple(extents))


def taken(out: Emitter, items: str, starts: str, place: Atom, extents: tuple[Atom, ...]) -> Op:
    """A view of one of the arrays that are packed; of several axes with its extents."""
    after: Atom
    if isinstance(place, Const):
        assert isinstance(place.value, int)
        after = Const(place.value + 1)
    else:
        after = out.let("t", Op("+", (place, Const(1))), INT64)
    start, stop = (out.let("t", Op("load", (Name(starts), one)), INT64) for one in (place, after))
    part = Op("view", (Name(items), Op("slice", (start, stop, Const(None)))))
    return part if len(extents) < 2 else Op("reshape", (out.let("t", part, out.types[items]), *extents))
