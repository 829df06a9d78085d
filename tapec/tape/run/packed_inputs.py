"""Inputs of a block, packed for a derivative that loops over them, and its adjoints as those of the inputs.

What is packed is a copy of the inputs' elements, which the derivative does not write.  The adjoints of a column are one
array, of which each input's is a view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from tapec.backend.packing import layout_of, packed_arrays
from tapec.syntax.types import Scalar
from tapec.tape.derivatives.block_derivative import DerivedProgram
from tapec.transforms.packed_columns import Column, Rerolled

# for each array its elements among those of all, and its shape
Parts = tuple[tuple[slice, tuple[int, ...]], ...]


def taking_inputs(derivative: DerivedProgram, run: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled derivative as a function of its inputs, zeros and seeds."""
    return run if derivative.packing is None else _Packed(derivative, run)


class _Column:
    """A column, among inputs, zeros and seeds with some names."""

    def __init__(self, column: Column, names: Sequence[str]) -> None:
        self.column = column
        self.pick = itemgetter(*map(names.index, column.names))
        self.of_numbers = isinstance(column.type, Scalar)

    def packed(self, given: Sequence[Any]) -> tuple[tuple[Any, ...], Parts]:
        """The parameters for what is given, and where each input is among the elements."""
        values = self.pick(given)
        if self.of_numbers:
            numbers = np.array(values, self.column.type.dtype)
            numbers.flags.writeable = False
            return (numbers,), ()
        packed, layout = packed_arrays(values)
        return packed, layout.parts

    def part(self, whole: Any, place: int, parts: Parts) -> Any:
        """The adjoint of an input, or what a Jacobian by all has of it."""
        if self.of_numbers:
            found = whole[..., place]
            return found if found.ndim else found[()]
        part, shape = parts[place]
        return whole[..., part].reshape(whole.shape[:-1] + shape)


class _Inputs:
    """What a program takes for inputs with some names."""

    def __init__(self, program: Rerolled, names: Sequence[str]) -> None:
        self.left = [names.index(name) for name in program.inputs]
        self.columns = [_Column(column, names) for column in program.columns]
        self.tables = [tuple(_entry(entry, names) for entry in entries) for _, entries in program.tables]
        self.counts = [count for _, count in program.counts]

    def __call__(self, given: Sequence[Any]) -> tuple[list[Any], list[Parts]]:
        """The arguments, and where the inputs of each column are."""
        arguments = [given[place] for place in self.left]
        places = []
        for column in self.columns:
            packed, parts = column.packed(given)
            arguments += packed
            places.append(parts)
        for entries in self.tables:
            # integers are int64, as in the program
            numbers = [_number(one, given) for one in entries]
            arguments.append(np.array(numbers, float if type(numbers[0]) is float else np.int64))
            arguments[-1].flags.writeable = False
        return [*arguments, *self.counts], places


class _Packed:
    """A derivative that takes its inputs packed."""

    def __init__(self, derivative: DerivedProgram, run: Callable[..., Any]) -> None:
        packing = derivative.packing
        assert packing is not None
        self.run = run
        self.first = derivative.first
        names = (*derivative.inputs, *(zero for zero, _ in derivative.zeros))
        self.inputs = _Inputs(packing.program, names)
        self.seeds = len(names)
        self.results = list(self._results(packing.sources))

    def _results(self, sources: Sequence[str]) -> Iterator[tuple[int, int | None, int]]:
        """For each source the place of its adjoint among the results, its column, and its place there."""
        places: dict[str, int] = {}
        columns = [one.column for one in self.inputs.columns]
        for name in sources:
            number = next((k for k, one in enumerate(columns) if name in one.names), None)
            column = None if number is None else columns[number]
            place = self.first + places.setdefault(name if column is None else column.items, len(places))
            yield place, number, 0 if column is None else column.names.index(name)

    def __call__(self, *given: Any) -> tuple[Any, ...]:
        arguments, places = self.inputs(given)
        found = self.run(*arguments, *given[self.seeds :])
        columns = self.inputs.columns
        adjoints = [
            found[place] if number is None else columns[number].part(found[place], own, places[number])
            for place, number, own in self.results
        ]
        return (*found[: self.first], *adjoints)


def taking_inputs_of(program: Rerolled | None, names: Sequence[str], run: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled program as a function of inputs with some names, with the results of what it was made of."""
    return run if program is None else _PackedProgram(program, names, run)


class _PackedProgram:
    """A program that takes its inputs packed, and packs its results."""

    def __init__(self, program: Rerolled, names: Sequence[str], run: Callable[..., Any]) -> None:
        self.run = run
        self.inputs = _Inputs(program, names)
        self.shapes = {
            output: tuple(tuple(_entry(entry, names) for entry in shape) for shape in output.shapes)
            for output in program.outputs
        }
        self.results = program.results

    def __call__(self, *given: Any) -> Any:
        arguments, _ = self.inputs(given)
        parts: dict[Any, Parts] = {}
        for output, shapes in self.shapes.items():
            if output.starts:
                layout = layout_of(tuple(tuple(_number(one, given) for one in shape) for shape in shapes))
                arguments.append(layout.numbers[0])
                parts[output] = layout.parts
        found = self.run(*arguments)
        found = found if isinstance(found, tuple) else (found,)
        results = []
        for place, packed, own in self.results:
            whole = found[place]
            if packed in parts:
                part, shape = parts[packed][own]
                results.append(whole[part].reshape(shape))
            else:
                results.append(whole if packed is None else whole[own])
        return results[0] if len(results) == 1 else tuple(results)


def _entry(entry: Any, names: Sequence[str]) -> Any:
    return (names.index(entry[0]), entry[1]) if isinstance(entry, tuple) else entry


def _number(entry: Any, given: Sequence[Any]) -> Any:
    return given[entry[0]].shape[entry[1]] if isinstance(entry, tuple) else entry
