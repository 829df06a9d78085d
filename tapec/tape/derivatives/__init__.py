"""The derivative of a block's program.  Programs of core in, programs of core out: nothing here knows of live objects.

| question | module |
|---|---|
| the derivative with respect to inputs, or to values that the block computes | `block_derivative.py` |
| whether a source is connected with a target, or its gradient is None | `connectivity.py` |
| branches that decide this | `branch_connectivity.py` |
| complex sources, which are two real ones | `complex_sources.py` |
| values that the derivative of an inner tape computes once more | `recomputed_values.py` |
| how far rounding may move a target | `rounding_errors.py` |
"""
