"""What takes the place of Numba's own ways, and so stands on its insides.

| question | module |
|---|---|
| which passes of Numba's compiler run | `lean_compiler.py`; one of them in less time, `single_assignments.py` |
| types of operators; functions of NumPy without Numba's functions | `operator_types.py`, `direct_calls.py` |
| functions that compiled code alone calls | `linked_functions.py` |
| LLVM's text of elements, variables and powers; of zeros that nobody reads | `lean_lowering.py`, `dead_zeros.py` |
| classes of arguments that give them another meaning | `argument_classes.py` |
| memory of large arrays | `large_pages.py` |
| callers that Numba must not cache | `uncached_callers.py` |

Each module leaves to Numba what it does not know.  What is taken for granted of Numba, and which tests fail when a new
version breaks it: docs/design/0017-numba-internals.md.
"""
