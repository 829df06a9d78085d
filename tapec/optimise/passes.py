"""The passes that keep core form and make it better, by phase, in the order in which they run.

Passes for speed change the order of statements and of sums; the others keep every bit of a result.  What a pass does
is the first line of its docstring: `python -m tools.passes` prints them all, and which programs each one changes.
"""

from __future__ import annotations

from tapec.optimise.buffers.allocation_hoisting import hoist_allocations
from tapec.optimise.buffers.array_phis import copy_array_phis
from tapec.optimise.buffers.buffer_rematerialisation import rematerialise_buffers
from tapec.optimise.buffers.buffer_reuse import reuse_buffers
from tapec.optimise.buffers.chunked_buffers import chunk_buffers
from tapec.optimise.buffers.column_layout import store_by_columns
from tapec.optimise.buffers.coordinate_columns import copy_coordinates
from tapec.optimise.buffers.counted_lists import lists_as_arrays
from tapec.optimise.buffers.dead_buffer_reuse import reuse_dead_buffers
from tapec.optimise.buffers.dead_lists import drop_dead_lists
from tapec.optimise.buffers.dead_stores import drop_dead_stores
from tapec.optimise.buffers.element_copy_reuse import share_element_copies
from tapec.optimise.buffers.iteration_rows import keep_in_rows
from tapec.optimise.buffers.ping_pong import use_ping_pong_buffers
from tapec.optimise.buffers.positioned_stacks import stacks_by_position
from tapec.optimise.buffers.privatisation import privatise
from tapec.optimise.buffers.redundant_loads import drop_redundant_loads
from tapec.optimise.buffers.row_store_hoisting import hoist_row_stores
from tapec.optimise.buffers.scalar_replacement import replace_small_arrays
from tapec.optimise.buffers.stack_allocation import use_stack_arrays
from tapec.optimise.buffers.tuple_lists import join_lists
from tapec.optimise.buffers.zero_fill import fuse_zero_fills
from tapec.optimise.buffers.zero_fill_choices import fuse_chosen_zero_fills
from tapec.optimise.buffers.zeroed_elements import replace_zeroed_elements
from tapec.optimise.contractions.common_factors import factor_out_products
from tapec.optimise.contractions.factorisation_reuse import reuse_factorisations
from tapec.optimise.contractions.loop_products import multiply_matrices
from tapec.optimise.contractions.outer_product_batching import batch_outer_products
from tapec.optimise.contractions.row_products import multiply_in_rows
from tapec.optimise.contractions.small_products import write_out_products
from tapec.optimise.contractions.squared_norms import square_norms
from tapec.optimise.contractions.summed_products import sum_before_products
from tapec.optimise.contractions.tall_matrices import transpose_tall_matrices
from tapec.optimise.contractions.transposed_products import transpose_products
from tapec.optimise.driver import Pass
from tapec.optimise.loops.array_statements import array_statements
from tapec.optimise.loops.early_exit import exit_early
from tapec.optimise.loops.fill_hoisting import hoist_fills
from tapec.optimise.loops.function_hoisting import hoist_functions, hoist_quotients
from tapec.optimise.loops.gather_planes import gather_planes, gather_planes_by_iteration
from tapec.optimise.loops.index_set_splitting import split_index_sets
from tapec.optimise.loops.last_branch import keep_last_branch
from tapec.optimise.loops.loop_distribution import distribute, distribute_by_iteration
from tapec.optimise.loops.loop_fusion import fuse_loops
from tapec.optimise.loops.loop_peeling import peel_loops
from tapec.optimise.loops.loop_reversal import reverse_loops
from tapec.optimise.loops.neighbour_fusion import fuse_inner_neighbours, fuse_neighbours
from tapec.optimise.loops.optimal_paths import follow_optimal_paths
from tapec.optimise.loops.register_rotation import rotate_additions, rotate_rows
from tapec.optimise.loops.scalar_accumulation import accumulate_in_scalars
from tapec.optimise.loops.shift_invariance import cancel_shifts
from tapec.optimise.loops.store_forwarding import forward_stores
from tapec.optimise.loops.unrolling import unroll
from tapec.optimise.loops.upward_recurrences import reverse_recurrences
from tapec.optimise.loops.value_hoisting import hoist_values
from tapec.optimise.loops.zero_skipping import skip_zeros
from tapec.optimise.shapes.broadcast_copies import copy_broadcast
from tapec.optimise.shapes.check_hoisting import hoist_checks
from tapec.optimise.shapes.check_sinking import sink_checks
from tapec.optimise.shapes.demanded_extents import demanded_extents
from tapec.optimise.shapes.equal_extents import extents_of_kept, extents_of_one_size
from tapec.optimise.shapes.implied_extents import implied_extents
from tapec.optimise.shapes.slice_folding import fold_slice_extents, fold_slices
from tapec.optimise.shapes.unit_stride_versions import with_unit_strides
from tapec.optimise.simplify.allocation_sinking import sink_allocations
from tapec.optimise.simplify.closed_form_counters import count_by_formula
from tapec.optimise.simplify.conditional_values import choose_values
from tapec.optimise.simplify.dead_code import drop_dead_code
from tapec.optimise.simplify.equal_ways import join_equal_ways
from tapec.optimise.simplify.renest import renest
from tapec.optimise.simplify.renest_to_read import renest_to_read
from tapec.optimise.simplify.straighten import straighten_branches
from tapec.optimise.simplify.strip_marks import strip_marks
from tapec.optimise.simplify.sweep_notes import drop_sweep_notes
from tapec.optimise.simplify.tail_breaks import move_breaks_last
from tapec.optimise.simplify.unset_names import initialise_unset
from tapec.optimise.simplify.value_numbering import number_values
from tapec.optimise.simplify.variable_names import coalesce, coalesce_carried
from tapec.optimise.simplify.widening_casts import widen_exactly
from tapec.optimise.vectors.branchless_search import search_tables
from tapec.optimise.vectors.cheap_remainders import cheap_remainders
from tapec.optimise.vectors.descending_rows import hide_descent
from tapec.optimise.vectors.function_stages import stage_functions
from tapec.optimise.vectors.hidden_iteration_counts import hide_iteration_counts
from tapec.optimise.vectors.if_conversion import select_functions
from tapec.optimise.vectors.independence_hints import mark_independent_loops
from tapec.optimise.vectors.lookup_hoisting import hoist_lookups
from tapec.optimise.vectors.outer_vectorisation import vectorise_outer_loops
from tapec.optimise.vectors.precomputed_functions import precompute_functions
from tapec.optimise.vectors.select_numbers import choose_numbers
from tapec.optimise.vectors.short_loop_unrolling import unroll_short_loops
from tapec.optimise.vectors.strided_sums import keep_scalar_sums
from tapec.optimise.vectors.strip_mined_functions import strip_mine_functions
from tapec.optimise.vectors.tabulation import tabulate
from tapec.optimise.vectors.unroll_and_jam import unroll_and_jam
from tapec.optimise.vectors.unsigned_subscripts import use_unsigned_subscripts
from tapec.optimise.vectors.values_before_stores import compute_before_stores
from tapec.optimise.vectors.vector_math import vectorise_functions
from tapec.optimise.vectors.wide_vectors import use_wide_vectors

# each takes a function, and the names that it reads but does not set
# before differentiation, for kinds that do
CLEAN: tuple[Pass, ...] = (number_values, drop_dead_code)
PREPARE: tuple[Pass, ...] = (
    *CLEAN,
    fold_slice_extents,
    extents_of_one_size,
    square_norms,
    demanded_extents,
    implied_extents,
    *CLEAN,
    # extents that depended on others
    fold_slice_extents,
    *CLEAN,
    fold_slices,
    copy_broadcast,
    *CLEAN,
    copy_array_phis,
    write_out_products,
    *CLEAN,
    # of the vectors that are multiplied, and of products that are written out
    fold_slice_extents,
    extents_of_one_size,
    *CLEAN,
    fold_slices,
    *CLEAN,
    count_by_formula,
    # what may raise an error does not run with others
    hoist_checks,
    sink_checks,
    *CLEAN,
    reuse_factorisations,
    hoist_functions,
    *CLEAN,
    hoist_fills,
    *CLEAN,
    hoist_values,
    *CLEAN,
    fuse_loops,
    *CLEAN,
    rematerialise_buffers,
    privatise,
    unroll,
    number_values,
    replace_small_arrays,
    hoist_checks,
    *CLEAN,
    # after the passes that turn arrays into numbers, and say so
    drop_redundant_loads,
    *CLEAN,
    cancel_shifts,
    *CLEAN,
    tabulate,
    *CLEAN,
    peel_loops,
    choose_numbers,
    *CLEAN,
    reuse_dead_buffers,
    move_breaks_last,
)
# of these, what changes nothing but extents and loads: for programs whose derivatives are in their order
IN_ORDER: tuple[Pass, ...] = (
    *CLEAN,
    join_equal_ways,
    *CLEAN,
    fold_slice_extents,
    extents_of_one_size,
    demanded_extents,
    *CLEAN,
    fold_slice_extents,
    *CLEAN,
    fold_slices,
    *CLEAN,
    drop_redundant_loads,
    *CLEAN,
)
# code as the transforms leave it
GENERATED: tuple[Pass, ...] = (strip_marks, *CLEAN, extents_of_kept, *CLEAN)
SPEED: tuple[Pass, ...] = (
    lists_as_arrays,
    *CLEAN,
    share_element_copies,
    skip_zeros,
    accumulate_in_scalars,
    *CLEAN,
    follow_optimal_paths,
    forward_stores,
    hoist_row_stores,
    reverse_recurrences,
    rotate_additions,
    rotate_rows,
    gather_planes,
    distribute,
    reverse_loops,
    exit_early,
    keep_last_branch,
    transpose_products,
    fuse_zero_fills,
    fuse_chosen_zero_fills,
    fuse_neighbours,
    drop_dead_stores,
    reuse_buffers,
    factor_out_products,
    sum_before_products,
    batch_outer_products,
    multiply_matrices,
    transpose_tall_matrices,
    fuse_inner_neighbours,
    replace_zeroed_elements,
    drop_dead_stores,
    hoist_quotients,
)
# instead of others, where loops run on threads
ON_THREADS: dict[Pass, Pass] = {gather_planes: gather_planes_by_iteration, distribute: distribute_by_iteration}
# what multiplies the memory of an iteration
SIDE_BY_SIDE: tuple[Pass, ...] = (
    unroll_short_loops,
    coalesce_carried,
    vectorise_outer_loops,
    unroll_and_jam,
    split_index_sets,
)
ALLOCATED: tuple[Pass, ...] = (copy_coordinates, store_by_columns, hoist_allocations, chunk_buffers, *CLEAN)
# what only the runtime makes fast
VECTORS: tuple[Pass, ...] = (
    with_unit_strides,
    multiply_in_rows,
    strip_mine_functions,
    select_functions,
    precompute_functions,
    stage_functions,
    vectorise_functions,
    cheap_remainders,
    search_tables,
    hoist_lookups,
    keep_scalar_sums,
    compute_before_stores,
    hide_descent,
    hide_iteration_counts,
    mark_independent_loops,
    use_unsigned_subscripts,
    use_wide_vectors,
)
# after the passes that know what a list is, and which arrays are separate
FILLED: tuple[Pass, ...] = (keep_in_rows, join_lists, stacks_by_position, use_ping_pong_buffers)
# after all passes that know what makes an array
ON_STACK: tuple[Pass, ...] = (use_stack_arrays,)
READABLE: tuple[Pass, ...] = (initialise_unset, sink_allocations, widen_exactly, renest, coalesce, straighten_branches)
# of files at level 1, which are for reading
IN_STATEMENTS: tuple[Pass, ...] = (
    drop_dead_stores,
    *READABLE[:2],
    array_statements,
    drop_dead_code,
    drop_dead_lists,
    drop_dead_code,
    widen_exactly,
    choose_values,
    renest_to_read,
    coalesce,
    straighten_branches,
    choose_values,
    drop_sweep_notes,
)
PASSES: tuple[Pass, ...] = (*CLEAN, *READABLE)
