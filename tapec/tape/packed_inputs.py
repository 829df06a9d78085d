"""Inputs of a block, packed for a derivative that loops over them, and its adjoints as those of the inputs.

What is packed is a copy of the inputs' elements.  The adjoints of a column are one array, of which each input's is a view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from tapec.syntax.types import Scalar
from tapec.tape.derive import DerivedProgram
from tapec.transforms.rerolled_loops import Column


def taking_inputs(derivative: DerivedProgram, run: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled derivative as a function of its inputs, zeros and seeds."""
    return run if derivative.packing is None else _Packed(derivative, run)


@dataclass
class _Layout:
    """Where the arrays of a column begin, and their extents: the same as long as they have the same `shapes`."""

    shapes: tuple[tuple[int, ...], ...]
    numbers: tuple[Any, ...]
    parts: tuple[tuple[slice, tuple[int, ...]], ...]


class _Column:
    """A column, and how it was laid out when it was last packed."""

    def __init__(self, column: Column, names: Sequence[str]) -> None:
        self.column = column
        self.pick = itemgetter(*map(names.index, column.names))
        self.of_numbers = isinstance(column.type, Scalar)
        self.last = _Layout((), (), ())

    def layout(self, values: Sequence[Any]) -> _Layout:
        """Where each of the inputs is."""
        shapes = () if self.of_numbers else tuple([value.shape for value in values])
        found = self.last
        if shapes != found.shapes:
            found = self.last = self._layout(shapes)
        return found

    def packed(self, values: Sequence[Any], layout: _Layout) -> tuple[Any, ...]:
        """The parameters for the inputs that are given."""
        if self.of_numbers:
            return (_fixed(np.array(values, self.column.type.dtype)),)
        return (_fixed(np.concatenate([value.ravel() for value in values])), *layout.numbers)

    def _layout(self, shapes: tuple[tuple[int, ...], ...]) -> _Layout:
        extents = np.array(shapes, np.int64)
        starts = np.zeros(len(shapes) + 1, np.int64)
        np.cumsum(extents.prod(axis=1), out=starts[1:])
        axes = range(len(self.column.extents))
        numbers = (_fixed(starts), *(_fixed(np.ascontiguousarray(extents[:, axis])) for axis in axes))
        ends = starts.tolist()
        parts = tuple((slice(ends[k], ends[k + 1]), shape) for k, shape in enumerate(shapes))
        return _Layout(shapes, numbers, parts)

    def part(self, whole: Any, place: int, layout: _Layout) -> Any:
        """The adjoint of an input, or what a Jacobian by all has of it."""
        if self.of_numbers:
            found = whole[..., place]
            return found if found.ndim else found[()]
        part, shape = layout.parts[place]
        return whole[..., part].reshape(whole.shape[:-1] + shape)


class _Packed:
    """A derivative that takes its inputs packed."""

    def __init__(self, derivative: DerivedProgram, run: Callable[..., Any]) -> None:
        packing = derivative.packing
        assert packing is not None
        program = packing.program
        self.run = run
        self.first = derivative.first
        names = (*derivative.inputs, *(zero for zero, _ in derivative.zeros))
        self.left = [names.index(name) for name in program.inputs]
        self.seeds = len(names)
        self.columns = [_Column(column, names) for column in program.columns]
        self.tables = [tuple(self._entry(entry, names) for entry in entries) for _, entries in program.tables]
        self.counts = [count for _, count in program.counts]
        self.results = list(self._results(packing.sources))

    @staticmethod
    def _entry(entry: Any, names: Sequence[str]) -> Any:
        return entry if isinstance(entry, int) else (names.index(entry[0]), entry[1])

    def _results(self, sources: Sequence[str]) -> Iterator[tuple[int, int | None, int]]:
        """For each source the place of its adjoint among the results, its column, and its place there."""
        places: dict[str, int] = {}
        for name in sources:
            number = next((k for k, one in enumerate(self.columns) if name in one.column.names), None)
            column = None if number is None else self.columns[number].column
            place = self.first + places.setdefault(name if column is None else column.items, len(places))
            yield place, number, 0 if column is None else column.names.index(name)

    def __call__(self, *given: Any) -> tuple[Any, ...]:
        arguments = [given[place] for place in self.left]
        layouts = []
        for column in self.columns:
            values = column.pick(given)
            layouts.append(column.layout(values))
            arguments += column.packed(values, layouts[-1])
        for entries in self.tables:
            numbers = [one if isinstance(one, int) else given[one[0]].shape[one[1]] for one in entries]
            arguments.append(_fixed(np.array(numbers, np.int64)))
        found = self.run(*arguments, *self.counts, *given[self.seeds :])
        adjoints = [
            found[place] if number is None else self.columns[number].part(found[place], own, layouts[number])
            for place, number, own in self.results
        ]
        return (*found[: self.first], *adjoints)


def _fixed(array: Any) -> Any:
    """What is packed is not written: a store would not reach the inputs."""
    array.flags.writeable = False
    return array
