"""Which loops there are, in which order they run, and what their iterations hand on.

| module | what it does |
|---|---|
| `array_statements.py` | statements over whole arrays in place of loops over their elements |
| `early_exit.py` | leave a loop as soon as nothing is left to spread |
| `fill_hoisting.py` | fill an array once, before a loop whose iterations would all fill it alike |
| `function_hoisting.py` | hoist elementary functions that are invariant in an outer loop into an array before it |
| `gather_planes.py` | scatter to gather on two axes: one loop nest over the elements that receive |
| `index_set_splitting.py` | run the iterations before and after the one that a loop leaves out as loops of their own |
| `last_branch.py` | keep which iteration took a branch last, where the reverse sweep asks for nothing else |
| `loop_distribution.py` | give each neighbour that a stencil's adjoint adds to a loop of its own |
| `loop_fusion.py` | fuse a loop with an earlier one that makes what it uses |
| `loop_interchange.py` | interchange: nests whose outer iterations are independent, with the outer loop inside |
| `loop_peeling.py` | give the first and the last iterations of a loop around a ring loops of their own |
| `loop_preheader.py` | buffers and extents that a pass puts before the outermost loop |
| `loop_reversal.py` | run loops upward whose iterations can run in any order |
| `nest_values.py` | what stands for the numbers of iterations where a nest becomes statements over whole arrays |
| `neighbour_fusion.py` | fuse loops of the generated code over the same elements |
| `optimal_paths.py` | reverse only the path that a dynamic programme has chosen |
| `register_rotation.py` | carry to the next iterations what an iteration adds to their elements |
| `scalar_accumulation.py` | add up in a variable what a loop adds to one element |
| `scatter_to_gather.py` | write the additions to several neighbours as one loop over the elements that receive them |
| `shift_invariance.py` | a number whose shift cancels in the result is a constant for derivatives |
| `shift_propagation.py` | how values follow a number that is shifted |
| `store_forwarding.py` | store an element once where a stretch of statements stores it several times |
| `unrolling.py` | unroll short loops over small arrays, so that the arrays become numbers |
| `upward_recurrences.py` | run upward what the reverse sweep hands down from element to element of one array |
| `value_hoisting.py` | hoist loop-invariant systems, products and sums; scalars are left to LLVM |
| `zero_skipping.py` | add nothing where there is nothing to add |
"""
