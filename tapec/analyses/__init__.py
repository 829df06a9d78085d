"""Facts about programs in core form, kept beside them: they change nothing.

`facts.py` has what passes ask for: each analysis of a program is made once, when it is asked for first.

| question | module |
|---|---|
| which names carry derivatives | `activity.py` |
| which names may share memory | `aliases.py` |
| where a statement or a name lives: the tree of blocks | `scopes.py` |
| which iterations of a loop touch the same elements; may it be reordered or run on threads | `iterations.py` |
| which loops over elements may be axes of whole arrays | `array_axes.py` |
| whether another store touches the element that was loaded | `dependence.py`; its arithmetic, `integers.py` |
| which names are read later, at every statement | `liveness.py` |
| what is written before it is read | `definite_writes.py` |
| what is loop-invariant; what differs from lane to lane | `loop_invariance.py`, `lane_variance.py` |
| loop-carried values that LLVM can shift in vectors | `first_order_recurrences.py` |
| which integers are never negative or never equal; which floats have a lower bound | `integers.py`, `lower_bounds.py` |
| whether subscripts are in range | `index_ranges.py` |
| whether inequalities of integers can hold together | `inequalities.py` |
| numbers that may be left out of the result | `masked_values.py` |
| arrays that iterations make or exchange | `carried_arrays.py`, `buffer_rotation.py` |
| arrays that are copied into larger ones when they are full | `array_growth.py` |
| names that stand for arrays of several extents | `varying_extents.py` |
| whether the examples of a batch are independent | `batch_independence.py`, `batch_extents.py` |
| the one extent of all arrays that a variable may stand for | `merged_extents.py` |
| which statements draw random numbers | `random_draws.py` |
"""
