"""Passes that keep core form and make it better, in the order in which they run.

Passes for speed change the order of statements and of sums; the others keep every bit of a result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from inspect import signature
from typing import cast

from tapec.analyses.rebound import rebound
from tapec.journal import Listener
from tapec.optimise.clean.branches import straighten
from tapec.optimise.clean.coalesce import coalesce, coalesce_carried
from tapec.optimise.clean.counters import count_by_formula
from tapec.optimise.clean.dead import drop_dead
from tapec.optimise.clean.defined import define_copied
from tapec.optimise.clean.liveness import distinct
from tapec.optimise.clean.renest import renest
from tapec.optimise.clean.single import single_values
from tapec.optimise.clean.sink import sink_allocations
from tapec.optimise.clean.tails import breaks_last
from tapec.optimise.clean.values import values_alone
from tapec.optimise.clean.way_out import behind_loops
from tapec.optimise.extents.checks import check_once
from tapec.optimise.extents.demanded import demanded_extents
from tapec.optimise.extents.extents import known_extents
from tapec.optimise.extents.forms import Equal, Form, Forms, alone, either
from tapec.optimise.extents.lookups import looked_up_behind
from tapec.optimise.extents.same_extents import extents_of_kept, extents_of_one_size
from tapec.optimise.extents.slices import elements_of_slices, extents_of_slices
from tapec.optimise.extents.stretched import copy_stretched
from tapec.optimise.extents.unstepped import stencils_without_steps, without_steps
from tapec.optimise.extents.unstretched import may_stretch, tell_form, two_forms, with_equal
from tapec.optimise.loops.ascending import ascend
from tapec.optimise.loops.carried import carry_additions, carry_in_rows
from tapec.optimise.loops.chains import split_chains
from tapec.optimise.loops.distribute import distribute, distribute_by_iteration
from tapec.optimise.loops.early import leave_early
from tapec.optimise.loops.edges import part_edges
from tapec.optimise.loops.functions_once import functions_once, quotients_once
from tapec.optimise.loops.invariant import fill_once
from tapec.optimise.loops.last_taken import keep_last_taken
from tapec.optimise.loops.left_out import pass_over
from tapec.optimise.loops.neighbours import join_inner_neighbours, join_neighbours
from tapec.optimise.loops.once import compute_once
from tapec.optimise.loops.paths import follow_paths
from tapec.optimise.loops.planes import gather_planes, gather_planes_by_iteration
from tapec.optimise.loops.settle import settle_stores
from tapec.optimise.loops.shifts import cancel_shifts
from tapec.optimise.loops.sums import sum_in_variables
from tapec.optimise.loops.together import run_together
from tapec.optimise.loops.unroll import unroll
from tapec.optimise.loops.upward import count_upward
from tapec.optimise.loops.zeros import skip_zeros
from tapec.optimise.memory.chunks import share_chunks
from tapec.optimise.memory.columnwise import keep_columns
from tapec.optimise.memory.counted_lists import lists_as_arrays
from tapec.optimise.memory.dropped import reuse_dropped
from tapec.optimise.memory.elements import known_elements
from tapec.optimise.memory.filled import fill_at_once
from tapec.optimise.memory.filled_choices import fill_choices
from tapec.optimise.memory.grown_lists import grow_in_place
from tapec.optimise.memory.hoist import hoist_allocations
from tapec.optimise.memory.joined import copy_joined
from tapec.optimise.memory.kept_rows import keep_written_rows
from tapec.optimise.memory.last_stores import drop_last_stores
from tapec.optimise.memory.points import copy_points
from tapec.optimise.memory.privatise import privatise
from tapec.optimise.memory.records import keep_once
from tapec.optimise.memory.refill import refill
from tapec.optimise.memory.reused import reuse_memory
from tapec.optimise.memory.rows_of_iterations import keep_in_rows
from tapec.optimise.memory.scalars import replace_small_arrays
from tapec.optimise.memory.spent import numbers_of_spent
from tapec.optimise.memory.stacks import stacks_by_position
from tapec.optimise.memory.stored_once import store_rows_once
from tapec.optimise.memory.tuple_lists import join_lists
from tapec.optimise.memory.turns import take_turns
from tapec.optimise.products.columns import products_in_rows
from tapec.optimise.products.factors import share_factors
from tapec.optimise.products.few import FEW, of_few_elements
from tapec.optimise.products.joined_products import join_products
from tapec.optimise.products.later import add_later
from tapec.optimise.products.lengths import square_lengths
from tapec.optimise.products.loop_products import multiply_matrices
from tapec.optimise.products.small_products import is_product, write_out_products
from tapec.optimise.products.summed_products import sum_before_products
from tapec.optimise.products.tall import turn_tall
from tapec.optimise.products.turned_products import turn_products
from tapec.optimise.vectors.ahead import compute_ahead
from tapec.optimise.vectors.aside import call_aside
from tapec.optimise.vectors.before_stores import compute_before_stores
from tapec.optimise.vectors.choices import choose_numbers
from tapec.optimise.vectors.chosen import hide_choices
from tapec.optimise.vectors.elementary import vectorise_functions
from tapec.optimise.vectors.hidden_sizes import hide_sizes
from tapec.optimise.vectors.independent import tell_independent
from tapec.optimise.vectors.jammed import jam_lanes
from tapec.optimise.vectors.lanes import in_lanes
from tapec.optimise.vectors.looked_up import look_up_once
from tapec.optimise.vectors.parallel import has_threads, on_threads, sequential
from tapec.optimise.vectors.remainders import cheap_remainders
from tapec.optimise.vectors.rows import hide_descent
from tapec.optimise.vectors.searches import search_tables
from tapec.optimise.vectors.selected import select_functions, select_values
from tapec.optimise.vectors.set_in_iterations import set_in_iterations
from tapec.optimise.vectors.stages import stage_functions
from tapec.optimise.vectors.strided import keep_in_line
from tapec.optimise.vectors.tabled import tabulate
from tapec.optimise.vectors.unsigned import drop_signs
from tapec.optimise.vectors.vectors import tell_vectors
from tapec.optimise.vectors.wide import widen
from tapec.optimise.vectors.written_out import write_out_short
from tapec.options import DEFAULT, Options
from tapec.syntax.core import Block, Function, walk
from tapec.transforms.ssa import to_ssa

Pass = Callable[[Function, frozenset[str]], Function]
Telling = Callable[[Function, frozenset[str], Listener], Function]

# each takes a function, and the names that it reads but does not set
# before differentiation, for kinds that do
CLEAN: tuple[Pass, ...] = (single_values, drop_dead)
PREPARE: tuple[Pass, ...] = (
    *CLEAN,
    extents_of_slices,
    extents_of_one_size,
    square_lengths,
    demanded_extents,
    known_extents,
    *CLEAN,
    # extents that depended on others
    extents_of_slices,
    *CLEAN,
    elements_of_slices,
    copy_stretched,
    *CLEAN,
    copy_joined,
    write_out_products,
    *CLEAN,
    # of the vectors that are multiplied, and of products that are written out
    extents_of_slices,
    extents_of_one_size,
    *CLEAN,
    elements_of_slices,
    *CLEAN,
    count_by_formula,
    # what may raise an error does not run with others
    check_once,
    *CLEAN,
    share_factors,
    functions_once,
    *CLEAN,
    fill_once,
    *CLEAN,
    compute_once,
    *CLEAN,
    run_together,
    *CLEAN,
    refill,
    privatise,
    unroll,
    single_values,
    replace_small_arrays,
    check_once,
    *CLEAN,
    # after the passes that turn arrays into numbers, and say so
    known_elements,
    *CLEAN,
    cancel_shifts,
    *CLEAN,
    tabulate,
    *CLEAN,
    part_edges,
    choose_numbers,
    *CLEAN,
    reuse_dropped,
    breaks_last,
)
# code as the transforms leave it
GENERATED: tuple[Pass, ...] = (values_alone, *CLEAN, extents_of_kept, *CLEAN)
SPEED: tuple[Pass, ...] = (
    lists_as_arrays,
    *CLEAN,
    keep_once,
    skip_zeros,
    sum_in_variables,
    *CLEAN,
    stencils_without_steps,
    select_values,
    follow_paths,
    settle_stores,
    store_rows_once,
    count_upward,
    carry_additions,
    carry_in_rows,
    gather_planes,
    distribute,
    ascend,
    leave_early,
    keep_last_taken,
    turn_products,
    fill_at_once,
    fill_choices,
    join_neighbours,
    drop_last_stores,
    reuse_memory,
    join_products,
    sum_before_products,
    add_later,
    multiply_matrices,
    turn_tall,
    join_inner_neighbours,
    numbers_of_spent,
    drop_last_stores,
    quotients_once,
)
# instead of others, where loops run on threads
ON_THREADS: dict[Pass, Pass] = {gather_planes: gather_planes_by_iteration, distribute: distribute_by_iteration}
# what multiplies the memory of an iteration; recurrences in loops that run side by side need not be split
SIDE_BY_SIDE: tuple[Pass, ...] = (write_out_short, coalesce_carried, in_lanes, jam_lanes, split_chains, pass_over)
ALLOCATED: tuple[Pass, ...] = (copy_points, keep_columns, hoist_allocations, share_chunks, *CLEAN)
# what only the runtime makes fast
VECTORS: tuple[Pass, ...] = (
    without_steps,
    products_in_rows,
    call_aside,
    select_functions,
    compute_ahead,
    stage_functions,
    vectorise_functions,
    cheap_remainders,
    search_tables,
    look_up_once,
    keep_in_line,
    compute_before_stores,
    hide_descent,
    hide_choices,
    tell_independent,
    drop_signs,
    widen,
)
# after those that know buffers which change places for different arrays
IN_PLACE: tuple[Pass, ...] = (keep_written_rows,)
# after the passes that know what a list is, and which arrays are separate
FILLED: tuple[Pass, ...] = (keep_in_rows, grow_in_place, join_lists, stacks_by_position, take_turns)
READABLE: tuple[Pass, ...] = (define_copied, sink_allocations, renest, coalesce, straighten)
PASSES: tuple[Pass, ...] = (*CLEAN, *READABLE)


def prepare(function: Function, constants: frozenset[str] = frozenset(), listener: Listener | None = None) -> Function:
    """Rewrite a program so that its derivative is faster, in single assignment, as the transforms expect."""
    return to_ssa(_run(PREPARE, function, constants, listener), constants)


def forms(
    function: Function,
    constants: frozenset[str] = frozenset(),
    lowered: tuple[Function, tuple[Equal, ...]] | None = None,
    listener: Listener | None = None,
) -> Forms | None:
    """Forms of the program for operands that need not be stretched, for few elements, and for others, if worth it.

    lowered  the program for operands that need not be, if it has been lowered by itself, and what is equal for that
    """
    found = _unstretched(function, constants, lowered)
    if found is not None and listener is not None:
        tell_form(found.special[0], listener)
    form = Form(function) if found is None else found.special[0]
    if found is None:
        behind = looked_up_behind(_run((*CLEAN, *CLEAN), function, constants, None), listener)
        if behind is not None:
            return Forms((behind,), function)
    if not any(map(is_product, walk(function.body))):
        return found
    first = (*CLEAN, extents_of_slices, *CLEAN)
    few = of_few_elements(_run(first, form.program, constants, None), listener)
    if few is None:
        return found
    program, extents = few
    small = replace(form, program=program, few=extents)
    return Forms((small,), function) if found is None else replace(found, special=(small, *found.special))


def alone_for(found: Forms, shapes: Mapping[str, tuple[int, ...]]) -> Forms:
    """The forms of which only the one is asked for that is taken for parameters of these shapes."""
    return replace(found, only=found.taken(shapes, FEW))


def _unstretched(
    function: Function, constants: frozenset[str], lowered: tuple[Function, tuple[Equal, ...]] | None
) -> Forms | None:
    """The forms for operands that need not be stretched, and for others."""
    if lowered is not None:
        alike, equal = lowered
        alike = with_equal(_run(CLEAN, alike, constants, None), equal)
        alike = _run((*CLEAN, extents_of_slices, *CLEAN), alike, constants, None)
        return Forms((Form(elements_of_slices(alike, constants, None, equal), equal),), function)
    if not may_stretch(function):
        return None
    first = (*CLEAN, extents_of_slices, *CLEAN)
    found = two_forms(_run(first, function, constants, None))
    if found is None:
        return None
    # later passes do not know which arrays are of one extent
    (form,) = found.special
    alike = elements_of_slices(_run(first, form.program, constants, None), constants, None, form.equal)
    return replace(found, special=(replace(form, program=alike),))


def simple(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """A program with constants folded and one name per value, for analyses."""
    return _run((*CLEAN, *CLEAN), function, constants, None)


def tidy(
    function: Function,
    constants: frozenset[str] = frozenset(),
    options: Options = DEFAULT,
    listener: Listener | None = None,
    forms: Forms | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
) -> Function:
    """Clean up generated code, and from level 2 on make it fast, as far as the options allow.

    shapes  those of parameters: what does not hold for them may raise `OtherForm` before anything is written

    Of a function that is the first of several `forms`, all that are asked for are made one function.

    Afterwards the places of atoms may hold expressions.  At level 0 only what nobody reads is dropped: iterations that
    the reverse sweep runs again compute more than it needs, from arrays that may be others by then.
    """
    if options.level == 0:
        return behind_loops(drop_dead(function, constants))
    if forms is None:
        function = _as_fast(function, constants, options, listener, shapes)
    else:
        function = _formed(forms, constants, options, listener, shapes)
    if has_threads(function):
        # Numba knows one program: what a form without threads binds anew is wrong with those of another one
        alone = forms is None or rebound(function) is None
        function = hide_sizes(function) if alone else sequential(function)
    function = _run(READABLE, function, constants, listener)
    return behind_loops(set_in_iterations(function) if has_threads(function) else function)


def used(options: Options, function: Function) -> Options:
    """The options that a generated function is compiled with: no threads where no loop runs on them."""
    return options if has_threads(function) else replace(options, parallel=False)


def _formed(
    forms: Forms,
    constants: frozenset[str],
    options: Options,
    listener: Listener | None,
    shapes: Mapping[str, tuple[int, ...]] | None,
) -> Function:
    """The forms that are asked for as one function, made fast."""
    made = None
    if forms.asks_for(len(forms.special)):
        made = _as_fast(forms.other, constants, options, None, shapes, rare=True)
    for k, form in reversed(tuple(enumerate(forms.special))):
        if not forms.asks_for(k):
            made = made and alone(made, form, False, FEW, constants)
            continue
        told = listener if k == 0 else None
        # extents of what is made, such as a product, are then extents of parameters
        program = with_equal(_run(GENERATED, form.program, constants, told), form.equal)
        program = replace(program, few=form.few)
        form = replace(form, program=_as_fast(program, constants, options, told, shapes))
        made = alone(form.program, form, True, FEW, constants) if made is None else either(form, made, FEW, constants)
    assert made is not None
    return made


def _as_fast(
    function: Function,
    constants: frozenset[str],
    options: Options,
    listener: Listener | None,
    shapes: Mapping[str, tuple[int, ...]] | None,
    rare: bool = False,
) -> Function:
    """Generated code, cleaned up and made fast, before it is made readable.

    rare    another form of the program takes what is common: this one is kept short
    """
    # iterations that wait for the one before cannot be shared out; matrices of a nest's own have no room within a limit
    loops_alone = bool(function.few) or options.memory is not None
    left_out: dict[Pass, bool] = {
        carry_additions: options.threads,
        carry_in_rows: options.threads,
        multiply_matrices: loops_alone,
        add_later: loops_alone or rare,
    }
    speed = tuple(one for one in SPEED if not left_out.get(one, False))
    if options.threads:
        speed = tuple(ON_THREADS.get(one, one) for one in speed)
    first = (*GENERATED, *speed) if options.fast else GENERATED
    function = _run(first, sequential(function), constants, listener)
    if listener is not None:
        # before loops are shared out: what is proved of all iterations holds for those of a thread
        tell_vectors(function, listener)
    if options.threads:
        function = on_threads(function, options.strict, listener)
    if options.fast and options.memory is None:
        lanes = partial(in_lanes, shapes=shapes)
        side_by_side = tuple(lanes if one is in_lanes else one for one in SIDE_BY_SIDE)
        function = _run(side_by_side, function, constants, listener)
    if options.level > 1:
        function = _run(ALLOCATED, function, constants, listener)
    if options.fast and options.math == "fast":
        function = _run(VECTORS, function, constants, listener)
    if options.fast and options.memory is None:
        function = _run(IN_PLACE, function, constants, listener)
    if options.level > 1:
        function = _run(FILLED, function, constants, listener)
    return function


def _run(
    passes: tuple[Pass, ...], function: Function, constants: frozenset[str], listener: Listener | None
) -> Function:
    # what CLEAN has left: where the passes in between find nothing to do, it need not look again
    clean: Block | None = None
    function = replace(function, body=distinct(function.body))
    for change in passes:
        if change in CLEAN and function.body == clean:
            continue
        if listener is not None and _tells(change):
            made = cast("Telling", change)(function, constants, listener)
        else:
            made = change(function, constants)
        # the object stays while the program does: analyses know it again; facts are kept by statement
        body = function.body if made.body == function.body else distinct(made.body)
        function = made if made.body is body else replace(made, body=body)
        if change is CLEAN[-1]:
            clean = body
    return function


@cache
def _tells(change: Pass) -> bool:
    """Whether a pass takes a listener, too, and tells it what it decides."""
    return "listener" in signature(change).parameters
