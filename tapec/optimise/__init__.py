"""Passes that keep core form and make it better, in the order in which they run.

Passes for speed change the order of statements and of sums; the others keep every bit of a result.
"""

from __future__ import annotations

from collections.abc import Callable

from tapec.journal import Listener
from tapec.optimise.ascending import ascend
from tapec.optimise.branches import straighten
from tapec.optimise.coalesce import coalesce
from tapec.optimise.dead import drop_dead
from tapec.optimise.defined import define_copied
from tapec.optimise.distribute import distribute
from tapec.optimise.early import leave_early
from tapec.optimise.elementary import vectorise_functions
from tapec.optimise.extents import known_extents
from tapec.optimise.hoist import hoist_allocations
from tapec.optimise.joined import copy_joined
from tapec.optimise.privatise import privatise
from tapec.optimise.renest import renest
from tapec.optimise.scalars import replace_small_arrays
from tapec.optimise.settle import settle_stores
from tapec.optimise.single import single_values
from tapec.optimise.sink import sink_allocations
from tapec.optimise.small_products import write_out_products
from tapec.optimise.sums import sum_in_variables
from tapec.optimise.tails import breaks_last
from tapec.optimise.unroll import unroll
from tapec.optimise.vectors import tell_vectors
from tapec.optimise.zeros import skip_zeros
from tapec.syntax.core import Function

Pass = Callable[[Function, frozenset[str]], Function]
Telling = Callable[[Function, frozenset[str], Listener], Function]

# each takes a function, and the names that it reads but does not set
# before differentiation, for kinds that do
CLEAN: tuple[Pass, ...] = (single_values, drop_dead)
PREPARE: tuple[Pass, ...] = (
    *CLEAN,
    known_extents,
    *CLEAN,
    copy_joined,
    write_out_products,
    *CLEAN,
    privatise,
    unroll,
    single_values,
    replace_small_arrays,
    *CLEAN,
    breaks_last,
)
SPEED: tuple[Pass, ...] = (
    skip_zeros,
    sum_in_variables,
    *CLEAN,
    settle_stores,
    distribute,
    ascend,
    leave_early,
    hoist_allocations,
    *CLEAN,
)
READABLE: tuple[Pass, ...] = (define_copied, sink_allocations, renest, coalesce, straighten)
PASSES: tuple[Pass, ...] = (*CLEAN, *READABLE)
# those that take a listener, too, and tell it what they decide
TELLING: dict[Pass, Telling] = {
    one: one for one in (distribute, hoist_allocations, privatise, replace_small_arrays, sum_in_variables, unroll)
}


def prepare(
    function: Function, constants: frozenset[str] = frozenset(), listener: Listener | None = None
) -> Function:
    """Rewrite a program so that its derivative is faster; core form stays what the transforms expect."""
    return _run(PREPARE, function, constants, listener)


def tidy(
    function: Function,
    constants: frozenset[str] = frozenset(),
    level: int = 2,
    math: str = "fast",
    listener: Listener | None = None,
) -> Function:
    """Clean up generated code, and from level 2 on make it fast; with the C library's functions if `math` is "libm".

    Afterwards the places of atoms may hold expressions.
    """
    speed = SPEED if math == "libm" else (*SPEED, vectorise_functions)
    function = _run((*CLEAN, *(speed if level > 1 else ())), function, constants, listener)
    if listener is not None:
        tell_vectors(function, listener)
    return _run(READABLE, function, constants, listener)


def _run(
    passes: tuple[Pass, ...], function: Function, constants: frozenset[str], listener: Listener | None
) -> Function:
    for change in passes:
        telling = TELLING.get(change)
        if listener is None or telling is None:
            function = change(function, constants)
        else:
            function = telling(function, constants, listener)
    return function
