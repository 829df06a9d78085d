"""Blocks of derivatives: loops over unit vectors, and what each run gives stored in its row or column.

Of batches, by their first axis, only the blocks where result and source belong to one example are kept.  Where
examples depend on one another, a run serves a single one.  Where they do not, a run's vector is the same unit
vector for each of them, and what it gives are rows, or columns, of all examples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tapec.syntax.core import Atom, Const, Function, Name, Op, Store
from tapec.syntax.types import Array, Scalar, Stack
from tapec.transforms.emitter import Emitter
from tapec.transforms.reverse import Reversed
from tapec.transforms.splice import spliced
from tapec.transforms.split import ListOfArrays, split

Index = tuple[Atom, ...]

# how many examples of a batch a run serves: one, or all of them
APART, TOGETHER = "apart", "together"


@dataclass(frozen=True)
class Row:
    """How adjoints of results are pulled back.

    run     returns the adjoints of the sources; `seeds` are its parameters for those of the results
    before  what needs to run only once: it returns, after results, the values of parameters of `run`
    kept    those that `run` leaves as they are
    state   those that it changes
    """

    run: Function
    seeds: tuple[str, ...]
    before: Function | None = None
    kept: tuple[str, ...] = ()
    state: tuple[str, ...] = ()

    @staticmethod
    def of(swept: Reversed) -> Row:
        """Both sweeps in one."""
        return Row(swept.function("row"), swept.seeds)


def halves(swept: Reversed, constants: frozenset[str]) -> Row | None:
    """The forward sweep once, the reverse sweep for each row; None if its state is more than plain arrays."""
    try:
        parts = split(swept, "row", constants)
    except ListOfArrays:
        return None
    if any(isinstance(swept.types[name], Stack) for name in (*parts.kept, *parts.state)):
        return None
    if any(group & set(parts.state) for group in parts.pullback.shared):
        return None
    kinds = [swept.types[name] for name in parts.state]
    if any(not isinstance(kind, Array) or (kind.layout == "F" and kind.ndim > 1) for kind in kinds):
        return None
    return Row(parts.pullback, swept.seeds, parts.augmented, parts.kept, parts.state)


def fill_rows(
    out: Emitter, value: Atom, row: Row, blocks: list[Name], constants: frozenset[str], examples: str | None = None
) -> None:
    """Pull each unit vector of `value` back, into one line of each block."""
    pull = prepared(out, row, constants)
    (seed,) = row.seeds

    def body(inner: Emitter, unit: Atom, index: Index) -> None:
        for block, adjoint in zip(blocks, pull.run(inner, row.run, {seed: unit}), strict=True):
            if examples == TOGETHER:
                fill(inner, block, adjoint, lambda rest: (rest[0], *index, *rest[1:]))
            else:
                fill(inner, block, adjoint, lambda rest: (*index, *rest), index[:1] if examples else ())

    directions(out, f"{seed}_unit", value, row.run, body, examples)


@dataclass(frozen=True)
class BegunRow:
    """A `Row` whose first part has been written: the results, and what the rest reads."""

    row: Row
    values: tuple[Atom, ...]
    first: dict[str, Atom]
    constants: frozenset[str]

    def run(self, out: Emitter, function: Function, given: dict[str, Atom]) -> tuple[Atom, ...]:
        """Write the rest, which may do more than the row's own, given what some parameters are."""
        bound = {name: self.first[name] for name in self.row.kept} | given
        for name in self.row.state:
            bound[name] = out.let(name, Op("copy", (self.first[name],)), function.types[name])
        return spliced(out, function, bound, self.constants)


def prepared(out: Emitter, row: Row, constants: frozenset[str], prints: bool = False) -> BegunRow:
    """Write what needs to run only once."""
    if row.before is None:
        return BegunRow(row, (), {}, constants)
    results = spliced(out, row.before, {}, constants, prints)
    residuals = (*row.kept, *row.state)
    count = len(results) - len(residuals)
    return BegunRow(row, results[:count], dict(zip(residuals, results[count:], strict=True)), constants)


def directions(
    out: Emitter,
    label: str,
    like: Atom,
    run: Function,
    body: Callable[[Emitter, Atom, Index], None],
    examples: str | None = None,
) -> None:
    """Loops over the unit vectors of the space of `like`; `body` gets each one and its place.

    Of a batch whose examples are served together: over those of an example's space, for all examples at once.
    """
    type_ = out.type_of(like)
    assert isinstance(type_, Scalar | Array)
    if isinstance(type_, Scalar):
        body(out, out.cast(Const(1.0), type_), ())
        return
    assert isinstance(like, Name)
    # a name of its own within the run as well
    out.taken |= set(run.types)
    unit = Name(out.zeros_like(label, like.id))
    element, bounds = type_.element, out.extents(like)

    def store(inner: Emitter, index: Index, value: float) -> None:
        inner.add(Store(unit.id, index, inner.cast(Const(value), element), False, out.span))

    def single(inner: Emitter, index: Index) -> None:
        store(inner, index, 1.0)
        body(inner, unit, index)
        store(inner, index, 0.0)

    def together(inner: Emitter, index: Index) -> None:
        inner.nest(bounds[:1], lambda one, example: store(one, (*example, *index), 1.0))
        body(inner, unit, index)
        inner.nest(bounds[:1], lambda one, example: store(one, (*example, *index), 0.0))

    if examples == TOGETHER:
        out.nest(bounds[1:], together)
    else:
        out.nest(bounds, single)


def allocated(out: Emitter, label: str, value: Atom, source: Atom, dtype: str, batch: bool = False) -> Name:
    """An array of the shape of `value` followed by that of `source`; a name to be set, where that is a number.

    batch  both are batches, and the array is one of blocks for each example
    """
    shape = [*out.extents(value), *out.extents(source)[1 if batch else 0 :]]
    if not shape:
        return Name(out.fresh(label, Scalar(dtype)))
    return out.let(label, Op("empty", (Const(dtype), *shape)), Array(dtype, len(shape), "C"))


def fill(out: Emitter, block: Name, value: Atom, place: Callable[[Index], Index], example: Index = ()) -> None:
    """Store a number, or all elements of an array, at `place` in a block; of a batch only one example."""
    target, type_ = out.types[block.id], out.type_of(value)
    if isinstance(target, Scalar):
        out.assign(block.id, out.cast(value, target))
        return
    assert isinstance(target, Array)
    if isinstance(type_, Scalar):
        # the block of two numbers is an array of one
        out.add(Store(block.id, place(()) or (Const(0),), out.cast(value, target.element), False, out.span))
        return
    assert isinstance(value, Name) and isinstance(type_, Array)

    def body(inner: Emitter, index: Index) -> None:
        item = inner.let("t", Op("load", (value, *example, *index)), type_.element)
        inner.add(Store(block.id, place(index), inner.cast(item, target.element), False, out.span))

    out.nest(out.extents(value)[len(example) :], body)
