"""How large the adjoints of each line are at given arguments: `tapec.explain(..., args=...)`.

The program that finds it out is a second one, compiled for that: derivatives pay nothing.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numba
import numpy as np

from tapec.backend import printer
from tapec.backend.callee_text import callees_text
from tapec.backend.dispatcher import make_derivative
from tapec.backend.program import Program
from tapec.backend.signature import arguments
from tapec.errors import Span, UsageError
from tapec.finishing import finish
from tapec.frontend.lower import lower
from tapec.frontend.source.function_source import parameters, source_of
from tapec.kinds import Asked, Derivation
from tapec.optimise.simplify.recorded_adjoints import NOT_RUN, recorded
from tapec.options import Options
from tapec.plain_functions import plain_function
from tapec.products import _carrier, _plain, flat
from tapec.syntax.core import Atom, Expr, Function, Name, Return
from tapec.transforms.reverse import reverse
from tapec_runtime import variables


@dataclass(frozen=True)
class LargestAdjoint:
    """How large the adjoints are that a line hands on to what it reads, or those of a parameter.

    file, line  the place; line 0 for a parameter
    text        the line, or the name of the parameter
    largest     the largest one in magnitude; nan if one is; -1 if the line does not run
    """

    file: str
    line: int
    text: str
    largest: float

    @property
    def mark(self) -> str:
        """What is unusual: zero, overflow, nan, not run; empty if nothing is.

        >>> [LargestAdjoint("a.py", 1, "", size).mark for size in (2.0, 0.0, math.inf, math.nan, NOT_RUN)]
        ['', 'all are zero', 'overflow', 'nan', 'does not run']
        """
        if math.isnan(self.largest):
            return "nan"
        return {0.0: "all are zero", math.inf: "overflow", NOT_RUN: "does not run"}.get(self.largest, "")


def table(found: tuple[LargestAdjoint, ...], file: str) -> Iterator[str]:
    """A line of text for each: place, size, mark, source; `file` is that of the function."""
    places = [_place(one, file) for one in found]
    width = max(map(len, places), default=0)
    for place, one in zip(places, found, strict=True):
        size = "" if one.largest == NOT_RUN else f"{one.largest:.3g}"
        yield f"{place:<{width}}  {size:>9}  {one.mark:<12}  {one.text}"


def _place(one: LargestAdjoint, file: str) -> str:
    if one.line == 0:
        return "gradient"
    return f"line {one.line}" if one.file == file else f"{os.path.basename(one.file)} line {one.line}"


def types_of(f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The Numba types of arguments."""
    values = _plain(plain_function(f), variables.plain(tuple(args)))
    try:
        return tuple(map(numba.typeof, values))
    except ValueError as error:
        raise UsageError(f"args: {error}") from error


def largest_adjoints(
    f: Callable[..., Any], wrt: Any, args: tuple[Any, ...], options: Options
) -> tuple[LargestAdjoint, ...]:
    """The adjoints of the sources and of the lines of `f` at `args`; the lines in the order of the source.

    raises  UsageError  if the function raises with these arguments
    """
    function = plain_function(f)
    labels = list(parameters(function))
    # as it is differentiated: nothing is left out, joined or moved
    settings = replace(Options(), level=0, strong_zero=options.strong_zero, has_aux=options.has_aux)
    made: list[tuple[tuple[Span, ...], tuple[str, ...]]] = []

    def make_program(argument_types: tuple[Any, ...], _: Any) -> Program:
        taken = arguments(argument_types, labels)
        asked = Asked(lower(function, taken), function, taken, "grad", wrt, settings, None, None, ())
        program, lines, sources = _recording(asked)
        made.append((lines, sources))
        return program

    values = _plain(function, variables.plain(copy.deepcopy(tuple(args))))
    carrier = _carrier(function, [f"argument_{k}" for k in range(len(values))])
    derivative = make_derivative(carrier, make_program, (largest_adjoints, f, wrt, args, options))
    try:
        gradient, largest = derivative(*values)
    except (ArithmeticError, ValueError, LookupError) as error:
        raise UsageError(f"with `args` the function raises {type(error).__name__}: {error}") from error
    lines, sources = made[-1]
    file = source_of(function).file
    by_sources = gradient if len(sources) > 1 else (gradient,)
    found = [LargestAdjoint(file, 0, name, _largest(one)) for name, one in zip(sources, by_sources, strict=True)]
    rows = [
        LargestAdjoint(at.file, at.line, at.text.strip(), float(one)) for at, one in zip(lines, largest, strict=True)
    ]
    return (*found, *sorted(rows, key=lambda row: (row.file != file, row.file, row.line)))


def _recording(asked: Asked) -> tuple[Program, tuple[Span, ...], tuple[str, ...]]:
    """The program that returns the gradient and the largest adjoints, the lines of those, and the sources."""
    made = Derivation(asked).by()
    made.check_target()
    core = replace(made.checked(asked.lowered.function), strong_zero=asked.options.strong_zero)
    swept, largest, lines = recorded(reverse(core, made.sources, made.constants, unit_seed=True))
    results: tuple[Atom, ...] = (*swept.adjoints, Name(largest))
    body = (*swept.forward, *swept.backward, Return(results))
    whole = made.described(Function(made.name, (*core.params, *swept.seeds), body, swept.types))

    def text(values: tuple[Expr, ...]) -> str:
        return f"{made.gradients(values[:-1])}, {printer.expression(values[-1])}"

    program = finish(whole, text, asked.lowered, made.structure, asked.options)
    callees = callees_text(program, asked.lowered, asked.options) if asked.lowered.callees else ""
    prelude = "\n\n".join(filter(None, (callees, program.prelude)))
    names = tuple(made.structure.labels[position] for position in made.positions)
    return replace(program, prelude=prelude), lines, names


def _largest(gradient: Any) -> float:
    """The largest element in magnitude of an array or a structure of them; nan if one is."""
    sizes = [np.max(np.abs(leaf), initial=0.0) for leaf in flat(gradient) if leaf is not None]
    return float(np.max(sizes, initial=0.0))
