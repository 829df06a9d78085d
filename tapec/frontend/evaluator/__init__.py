"""The evaluator's state: what is known while a function is lowered.

`evaluator.py` has the `Evaluator`: the block that is written, the frames of the functions being inlined, names and
their types; `ev.assign` and `ev.op` write a statement, `ev.fail` raises an error at the user's line.  `values.py` has
what an expression can evaluate to: a name of core (`Sym`), a lazy elementwise expression, a tuple, a list, an object.
`lowering_methods.py` declares the methods by which handlers call handlers that stand above them.

| subject | modules |
|---|---|
| the type of an operation: the way in, and Numba's answer | `numba_types.py` |
| promotions that NumPy makes differently (float32, booleans) | `evaluator.py`, `op` |
| a shortcut past Numba: the commonest types (float64, int64), and products | `common_types.py`, `matrix_types.py` |
| extents as sums of names, so that two are known to be equal | `symbolic_extents.py` |
| operations whose result is known: `2 * 3`, `i + 0` | `literal_folding.py` |
| the functions that are being inlined: variables, consumers | `frames.py` |
| `if` and loops whose blocks still grow | `unfinished_blocks.py` |
| what a tape's block asks of the running program | `running_program.py` |
| arguments of handlers: dtypes, shapes, optional ones | `handler_arguments.py` |
| methods that Python looks up in an object's class, such as `__getitem__` | `class_methods.py` |
"""
