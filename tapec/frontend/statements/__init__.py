"""Statements of the language.

| subject | modules |
|---|---|
| `x = y`, `a, *b = c`, `x += y` | `assignments.py` |
| expressions, `assert`, `raise`, `del`, `def`, `print` | `simple_statements.py` |
| `if` | `branches.py` |
| `with`; over `objmode` | `context_managers.py`; `object_mode.py` |
| `try` | `try_statement.py` |
| `import`; `nonlocal` and `global` | `import_statement.py`, `nonlocal_variables.py` |
| `for`, `while` | `loops.py` |

A loop is lowered again until its loop-carried values and their types no longer change: `loop_carried.py`, which array
keeps its extents (`loop_invariant_extents.py`), which arrays come to share memory (`loop_memory_sharing.py`).  Loops
that cannot have one body are unrolled (`unrolled_loops.py`), long ones over literals are not
(`rolled_loops.py`).  `checkpointed_loops.py` has `tapec.checkpointed`.
"""
