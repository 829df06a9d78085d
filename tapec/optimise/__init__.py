"""Passes that keep core form and make it better, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable

from tapec.optimise.branches import straighten
from tapec.optimise.coalesce import coalesce
from tapec.optimise.dead import drop_dead
from tapec.optimise.defined import define_copied
from tapec.optimise.renest import renest
from tapec.optimise.single import single_values
from tapec.optimise.sink import sink_allocations
from tapec.syntax.core import Function

# each takes a function, and the names that it reads but does not set
PASSES: tuple[Callable[[Function, frozenset[str]], Function], ...] = (
    single_values,
    drop_dead,
    define_copied,
    sink_allocations,
    renest,
    coalesce,
    straighten,
)


def tidy(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """Clean up generated code.  Afterwards the places of atoms may hold expressions."""
    for change in PASSES:
        function = change(function, constants)
    return function
