"""What live objects are for a program that is lowered while they are alive.

Floats, arrays and variables become inputs of the program.  Everything else is structure: the program holds for as
long as it is the same, which a guard checks.  What the block does to objects stays in the evaluator's state until the
block has run.

| question | module |
|---|---|
| what attributes, subscripts and calls of live objects give; the way in from the frontend | `live_objects.py` |
| which objects are inputs, and where they are found again | `block_inputs.py` |
| which structure a plan needs: types, lengths, keys, code, pinned numbers | `plan_guards.py` |
| copies of inputs at entry, and their types | `snapshots.py` |
| `tapec.Variable`: reads and assignments | `variable_versions.py` |
| complex numbers, which are pairs | `complex_identity.py` |
| objects of user classes: attributes read and assigned, also of dataclasses | `user_objects.py` |
| methods and operators of their classes | `class_lookup.py`, `special_methods.py` |
| what `@dataclass` generates: `__init__`, `==`, `fields`, `replace`, `asdict` | `dataclass_objects.py` |
| built-in functions on such objects: `getattr`, `super`, `id` | `object_calls.py` |
| `global` and `nonlocal` variables that functions assign | `outer_variables.py` |
| random generators | `random_state.py` |
| `items`, `keys`, `values`, `get` of dicts; tapes of other blocks; values that may not be read | `object_standins.py` |

What lists, dicts and arrays do otherwise is lowered as everywhere, by `tapec/frontend/`.
"""
