"""What runs on vectors and threads, and the functions that it calls.

| module | what it does |
|---|---|
| `branchless_search.py` | search sorted tables without branches, in loops, and for many numbers side by side |
| `cheap_remainders.py` | remainders without a division where there is nothing to take off |
| `descending_rows.py` | let loops over rows run on vectors where the rows are counted down |
| `first_values_in_threads.py` | give names a first value in loops on threads, where Numba may think them unset |
| `function_stages.py` | elementary functions in loops of their own, where the loop around is not vectorised |
| `hidden_iteration_counts.py` | let loops run on vectors whose iteration count is a choice |
| `hidden_sizes.py` | hide sizes that change from Numba, where loops run on threads |
| `if_conversion.py` | compute both sides of a branch where one loop can run on vectors then, and select |
| `independence_hints.py` | tell LLVM of loops whose iterations work on elements of their own |
| `lane_buffers.py` | residuals of lanes with the axis of the lanes last |
| `lane_gain.py` | whether lanes are worth it: what the innermost loops of an iteration do |
| `lane_packing.py` | copies of what lanes read again and again, with the axis of lanes last |
| `lookup_hoisting.py` | look up once, before a loop, which rows all its iterations use |
| `outer_vectorisation.py` | run many iterations of a loop side by side, so that its inner loops run on vectors |
| `parallel_loops.py` | run loops on threads whose iterations can run in any order |
| `precomputed_functions.py` | elementary functions computed before a loop with loop-carried values |
| `select_numbers.py` | write a branch that only chooses between numbers that are known as one operation |
| `short_lanes.py` | a second version of a loop, in lanes, for the case that the loops inside are short |
| `short_loop_unrolling.py` | unroll short inner loops of lanes: their sums stay in the lane |
| `strided_sums.py` | keep LLVM from sums over many strided elements, or elements that are looked up, on vectors |
| `strip_mined_functions.py` | strip-mine a loop to compute its elementary functions on vectors |
| `tabulation.py` | a table of what a nest computes again from a sum of its loops' variables |
| `unroll_and_jam.py` | unroll four iterations around lanes and jam them: shared values stay in registers |
| `unsigned_subscripts.py` | subscripts without a sign where LLVM would look for one in every iteration |
| `values_before_stores.py` | compute what an iteration leaves for the next one before the iteration stores anything |
| `vector_math.py` | call the elementary functions that LLVM can vectorise, in the loops that it may vectorise |
| `vector_report.py` | remark which innermost loops can run on vectors, and what keeps the others from it |
| `wide_vectors.py` | ask for the widest vectors that the processor has, where loops are long |
"""
