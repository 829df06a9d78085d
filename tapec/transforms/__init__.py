"""From a program in core form to one that computes its derivative.

Start at `forward.py`, or at `reverse.py`, which has the stages of reverse mode.

Reverse mode:

| question | module |
|---|---|
| the adjoint of each statement | `sweep.py`; of an operation on whole arrays, `primitives.py` |
| adjoint arrays alias as their primals do | `shadow.py` |
| the same of arrays that loops pass on, and of arrays that grow | `carried_shadows.py`, `grown_shadows.py` |
| the two sweeps written out | `assembly.py`; questions to their statements, `reverse_statements.py` |
| loops that run forward and back in one pass | `immediate_reversal.py` |
| loops that may be left by `break` | `loop_exits.py` |
| `vjp`: the two sweeps as two functions; the pullback of one number | `split.py`, `scaled_pullback.py` |
| zeros that stay zero where a partial derivative is infinite (`strong_zero`) | `strong_zeros.py` |
| new statements and names; code in the middle of other code | `emitter.py`, `splice.py` |
| divisions and functions that the program has computed itself | `reciprocals.py`, `shared_functions.py` |
| elements that take the better of two numbers, which adjoints skip | `relaxations.py` |

How a primal value gets to the reverse sweep (a residual):

| question | module |
|---|---|
| which way each value goes | `storage.py`, which makes a `storage_plan.py`; by costs, `recomputation_costs.py` |
| buffers that loop counters index, and stacks | `slots.py`; how many iterations there are, `iteration_bounds.py` |
| loaded from the element that still holds it | `stored_elements.py` |
| its array is copied, where loops go over enough of it | `array_copies.py`, `loop_coverage.py` |
| the store that overwrote it is undone | `undo.py` |
| its iteration is run again, from what it began with | `replays.py`, `iteration_starts.py` |
| which statements of it | `replayed_statements.py` |
| it is a formula of the loop counter | `iteration_counters.py` |
| recursive functions: residuals on lists that are passed down | `recursive_residuals.py`, `late_pushes.py` |
| what such functions ask of their callers; calls of them by name | `residual_requests.py`, `recursive_callees.py` |
| loops with few snapshots (docs/design/0005): both sweeps | `checkpointed_sweeps.py` |
| what a snapshot holds | `checkpoint_contents.py` |
| arrays of the last iteration only; loops that a limit of memory checkpoints | `last_iteration.py`, `memory_limit.py` |
| remarks on the plan, for `tapec explain` | `plan_remarks.py` |

Where snapshots go while a program runs, `tapec_runtime/checkpoint_schedule.py` says.

Several directions at once:

| question | module |
|---|---|
| forward mode, in loops over lanes (docs/design/0012) | `vector_forward.py`, `lane_loops.py`, `lane_arrays.py` |
| whole arrays in several directions; tangents that are unit vectors | `lane_primitives.py`, `unit_directions.py` |
| Jacobians, in strips of unit vectors; `WIDTH` of a strip | `jacobian.py`, `jacobian_strips.py`, `jacobian_blocks.py` |
| products in several directions that the caller gives | `several_directions.py` |
| sparsity patterns: sets of sources beside values (docs/design/0014) | `source_sets.py`, `sets_of_values.py` |
| branches in patterns, and whether a run took the same ones | `joined_branches.py`, `decision_digests.py` |
| elements of a sparse matrix as the function runs, also where ways meet | `local_partials.py`, `meeting_partials.py` |
| the values of those, and where they go | `stored_partials.py`, `recorded_partials.py` |
| runs by colours, and the elements in their order | `compressed.py`, `numbered_elements.py` |

`tapec/sparsity_pattern.py` chooses how a pattern is found, `tapec_runtime/colourings.py` colours it.

Taylor coefficients (docs/design/0022):

| question | module |
|---|---|
| beside every statement, those for its coefficients | `taylor.py` |
| power series of elementary functions, from the rules of their derivatives | `series.py` |

Programs that are prepared, or called:

| question | module |
|---|---|
| derivatives inside lowered code: `grad(f)(x)` | `nested_calls.py`, `nested.py`; `jvp`, `vjp`: `nested_products.py` |
| a derivative of a derivative: single assignment again | `ssa.py` |
| the other mode of a rule of the user's (docs/design/0015) | `transposition.py` |
| loops over lists that were lowered item by item become loops again (docs/design/0016) | `rerolled_loops.py` |
| its parts | `repeated_statements.py`, `rerolled_values.py`, `packed_columns.py` |
| IndexError where a derivative would write outside an array (docs/design/0008) | `index_guards.py` |
| arguments that share memory; the same inside lowered code | `overlap_guards.py`, `nested_memory.py` |
| shapes of tangents and cotangents | `seed_shapes.py` |
"""
