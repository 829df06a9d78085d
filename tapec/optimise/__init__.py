"""What the pipeline asks of the passes: a program prepared for differentiation, and generated code made fast.

| question | where |
|---|---|
| which passes there are, and in which order they run | `passes.py` |
| every number by which a pass chooses: how short a loop is unrolled, how small a product is written out | `costs.py` |
| how passes run; passes that replace statements one by one | `driver.py`, `rewriter.py` |
| whether a name is the user's; the names of the printed program | `name_origins.py`, `simplify/variable_names.py` |
| which loops are on threads; which functions LLVM vectorises | `thread_flags.py`, `vector_operations.py` |
| dead code, one name per value, algebraic identities | `simplify/` |
| fusion, distribution, interchange, hoisting, unrolling | `loops/` |
| where arrays are made, how long they live, what becomes numbers | `buffers/` |
| vectors, threads, and the functions called there | `vectors/` |
| extents that are known, and versions of a program for those that are not | `shapes/` |
| products of matrices and vectors, and what is left to BLAS | `contractions/` |

`python -m tools.passes` lists the passes with what they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

from tapec.analyses.varying_extents import varying_extents
from tapec.optimise import costs
from tapec.optimise.contractions.few_elements import of_few_elements
from tapec.optimise.contractions.loop_products import multiply_matrices
from tapec.optimise.contractions.outer_product_batching import batch_outer_products
from tapec.optimise.contractions.small_products import is_product
from tapec.optimise.driver import Pass, run, step
from tapec.optimise.loops.register_rotation import rotate_additions, rotate_rows
from tapec.optimise.passes import (
    ALLOCATED,
    CLEAN,
    FILLED,
    GENERATED,
    IN_ORDER,
    IN_STATEMENTS,
    ON_STACK,
    ON_THREADS,
    PREPARE,
    READABLE,
    SIDE_BY_SIDE,
    SPEED,
    VECTORS,
)
from tapec.optimise.shapes.broadcast_versions import (
    broadcast_versions,
    may_broadcast,
    remark_version,
    with_equal,
    with_extents_of_products,
)
from tapec.optimise.shapes.lookup_versions import lookup_versions
from tapec.optimise.shapes.slice_folding import fold_slice_extents, fold_slices
from tapec.optimise.shapes.versions import Equal, Version, Versions, alone, either
from tapec.optimise.simplify.dead_code import drop_dead_code
from tapec.optimise.simplify.exit_blocks import move_exits_behind_loops
from tapec.optimise.simplify.index_tests import add_index_tests
from tapec.optimise.simplify.non_finite_tests import add_non_finite_tests
from tapec.optimise.simplify.non_finite_tests import tested as tested
from tapec.optimise.simplify.stack_layouts import join_stack_layouts
from tapec.optimise.thread_flags import has_threads, sequential
from tapec.optimise.vectors.first_values_in_threads import initialise_in_threads
from tapec.optimise.vectors.hidden_sizes import hide_sizes
from tapec.optimise.vectors.outer_vectorisation import vectorise_outer_loops
from tapec.optimise.vectors.parallel_loops import on_threads
from tapec.optimise.vectors.vector_report import remark_vectors
from tapec.options import DEFAULT, Options
from tapec.remarks import heard_by, is_heard
from tapec.syntax.core import Function, distinct, walk
from tapec.transforms.ssa import to_ssa

_run = partial(run, clean=CLEAN)


def _unheard(passes: tuple[Pass, ...], function: Function, constants: frozenset[str]) -> Function:
    """The function after some passes whose remarks are not on the program that is made."""
    with heard_by(None):
        return _run(passes, function, constants)


def prepare(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """Rewrite a program so that its derivative is faster, in single assignment, as the transforms expect."""
    return step(to_ssa, _run(PREPARE, function, constants), constants)


def prepare_in_order(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """Rewrite a program so that its derivative is shorter, in its order, in single assignment."""
    return step(to_ssa, _unheard(IN_ORDER, function, constants), constants)


def program_versions(
    function: Function,
    constants: frozenset[str] = frozenset(),
    lowered: tuple[Function, tuple[Equal, ...]] | None = None,
    fast: bool = True,
    alone: bool = False,
) -> Versions | None:
    """Versions of the program for operands that need no broadcasting, for few elements, and for others, if worth it.

    lowered  the program for operands that need not be, if it has been lowered by itself, and what is equal for that
    fast     whether versions are worth it that only run faster
    alone    whether each becomes a function by itself
    """
    found = _without_broadcasting(function, constants, lowered, alone)
    if found is not None and alone and not fast:
        found = _with_later_extents(found, function, constants)
    if found is not None and is_heard():
        remark_version(found.special[0])
    if not fast:
        return found
    version = Version(function) if found is None else found.special[0]
    if found is None:
        behind = lookup_versions(_unheard((*CLEAN, *CLEAN), function, constants))
        if behind is not None:
            return Versions((behind,), function)
    if not any(map(is_product, walk(function.body))):
        return found
    first = (*CLEAN, fold_slice_extents, *CLEAN)
    few = of_few_elements(_unheard(first, version.program, constants))
    if few is None:
        return found
    program, extents = few
    small = replace(version, program=program, few=extents)
    return Versions((small,), function) if found is None else replace(found, special=(small, *found.special))


def alone_for(found: Versions, shapes: Mapping[str, tuple[int, ...]]) -> Versions:
    """The versions of which only the one is asked for that is taken for parameters of these shapes."""
    return replace(found, only=found.taken(shapes, costs.FEW_ELEMENTS))


def _without_broadcasting(
    function: Function, constants: frozenset[str], lowered: tuple[Function, tuple[Equal, ...]] | None, alone: bool
) -> Versions | None:
    """The versions for operands that need no broadcasting, and for others."""
    if lowered is not None:
        alike, equal = lowered
        alike = with_equal(_unheard(CLEAN, alike, constants), equal)
        alike = _unheard((*CLEAN, fold_slice_extents, *CLEAN, partial(fold_slices, equal=equal)), alike, constants)
        return Versions((Version(alike, equal),), function)
    if not may_broadcast(function):
        return None
    first = (*CLEAN, fold_slice_extents, *CLEAN)
    found = broadcast_versions(_unheard(first, function, constants), alone)
    if found is None:
        return None
    # later passes do not know which arrays are of one extent
    (version,) = found.special
    alike = _unheard((*first, partial(fold_slices, equal=version.equal)), version.program, constants)
    return replace(found, special=(replace(version, program=alike),))


def _with_later_extents(found: Versions, function: Function, constants: frozenset[str]) -> Versions:
    """The versions, of which the first takes operands to be alike whose extents are known since others are alike."""
    (version,) = found.special
    while may_broadcast(version.program) and (more := broadcast_versions(version.program, alone=True)) is not None:
        (later,) = more.special
        version = _folded(Version(later.program, (*version.equal, *later.equal)), constants)
    version = _folded(with_extents_of_products(version), constants)
    # what is not for it may differ in any of them
    return found if version.equal == found.special[0].equal else Versions((version,), function)


def _folded(version: Version, constants: frozenset[str]) -> Version:
    """The version without slices that are whole arrays where what it asks for is equal."""
    passes: tuple[Pass, ...] = (*CLEAN, fold_slice_extents, *CLEAN, partial(fold_slices, equal=version.equal))
    return replace(version, program=_unheard(passes, version.program, constants))


def simple(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """A program with constants folded and one name per value, for analyses."""
    return _unheard((*CLEAN, *CLEAN), function, constants)


def tidy(
    function: Function,
    constants: frozenset[str] = frozenset(),
    options: Options = DEFAULT,
    versions: Versions | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
) -> Function:
    """Clean up generated code, and from level 2 on make it fast, as far as the options allow.

    shapes  those of parameters: what does not hold for them may raise `OtherVersion` before anything is written

    Of a function that is the first of several `versions`, all that are asked for are made one function.

    Afterwards the places of atoms may hold expressions.  At level 0 only what nobody reads is dropped: iterations that
    the reverse sweep runs again compute more than it needs, from arrays that may be others by then.
    """
    if options.level == 0:
        function = add_index_tests(_run((drop_dead_code,), function, constants))
        if options.debug:
            function = add_non_finite_tests(function)
        return move_exits_behind_loops(join_stack_layouts(function))
    if versions is None:
        function = _as_fast(function, constants, options, shapes)
    else:
        function = _of_versions(versions, constants, options, shapes)
    if has_threads(function):
        # Numba knows one program: what a version without threads binds anew is wrong with those of another one
        alone = versions is None or varying_extents(function) is None
        function = hide_sizes(function) if alone else sequential(function)
    function = add_index_tests(function)
    if options.debug:
        function = add_non_finite_tests(function)
    shown = IN_STATEMENTS if options.whole_arrays else READABLE
    function = join_stack_layouts(_run(shown, join_stack_layouts(function), constants))
    return move_exits_behind_loops(initialise_in_threads(function) if has_threads(function) else function)


def used(options: Options, function: Function) -> Options:
    """The options that a generated function is compiled with: no threads where no loop runs on them."""
    return options if has_threads(function) else replace(options, parallel=False)


def _of_versions(
    versions: Versions,
    constants: frozenset[str],
    options: Options,
    shapes: Mapping[str, tuple[int, ...]] | None,
) -> Function:
    """The versions that are asked for as one function, made fast."""
    made = None
    if versions.asks_for(len(versions.special)):
        with heard_by(None):
            made = _as_fast(versions.other, constants, options, shapes, rare=True)
    for k, version in reversed(tuple(enumerate(versions.special))):
        if not versions.asks_for(k):
            made = made and (made if versions.apart else alone(made, version, False, costs.FEW_ELEMENTS, constants))
            continue
        # all remarks are on the first one
        with nullcontext() if k == 0 else heard_by(None):
            # extents of what is made, such as a product, are then extents of parameters
            program = with_equal(_run(GENERATED, version.program, constants), version.equal)
            program = replace(program, few=version.few)
            version = replace(version, program=_as_fast(program, constants, options, shapes))
        if made is None:
            made = alone(version.program, version, True, costs.FEW_ELEMENTS, constants)
        else:
            made = either(version, made, costs.FEW_ELEMENTS, constants)
    assert made is not None
    # versions have statements in common
    return replace(made, body=distinct(made.body))


def _as_fast(
    function: Function,
    constants: frozenset[str],
    options: Options,
    shapes: Mapping[str, tuple[int, ...]] | None,
    rare: bool = False,
) -> Function:
    """Generated code, cleaned up and made fast, before it is made readable.

    rare    another version of the program takes what is common: this one is kept short
    """
    # iterations that wait for the one before cannot be shared out; matrices of a nest's own have no room within a limit
    loops_alone = bool(function.few) or options.memory is not None
    left_out: dict[Pass, bool] = {
        rotate_additions: options.threads,
        rotate_rows: options.threads,
        multiply_matrices: loops_alone,
        batch_outer_products: loops_alone or rare,
    }
    speed = tuple(one for one in SPEED if not left_out.get(one, False))
    if options.threads:
        speed = tuple(ON_THREADS.get(one, one) for one in speed)
    first = (*GENERATED, *speed) if options.fast else GENERATED
    function = _run(first, sequential(function), constants)
    if is_heard():
        # before loops are shared out: what is proved of all iterations holds for those of a thread
        remark_vectors(function)
    if options.threads:
        function = on_threads(function, options.strict)
    if options.fast and options.memory is None:
        lanes = partial(vectorise_outer_loops, shapes=shapes)
        side_by_side = tuple(lanes if one is vectorise_outer_loops else one for one in SIDE_BY_SIDE)
        function = _run(side_by_side, function, constants)
    if options.level > 1:
        function = _run(ALLOCATED, function, constants)
    if options.fast and options.math == "fast":
        function = _run(VECTORS, function, constants)
    if options.level > 1:
        function = _run(FILLED, function, constants)
    if options.fast and not options.threads:
        function = _run(ON_STACK, function, constants)
    return function
