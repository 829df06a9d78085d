"""From generated core to functions that are called: text, machine code, caches, arguments.

| question | module |
|---|---|
| a derivative that Numba compiles, and how it is called; one that runs as Python | `dispatcher.py`, `interpreted.py` |
| what both have in common | `derivative_base.py`; `repr` and `help`, `description.py` |
| core as Python text | `printer.py`; a module of it, `module.py`, `file_header.py`; a stage's text, `stage_text.py` |
| a program over whole arrays | `array_text.py`; which loops may be axes, `analyses/array_axes.py` |
| nests of loops over whole arrays | `array_nests.py`; values in those, `array_values.py` |
| runs of statements that repeat in a long program | `kernels.py` |
| text to a Numba function | `jit.py`; what stands on Numba's insides, `numba_internals/` |
| a function that stands for another one | `carrier.py`; recursive functions, `callee_text.py` |
| machine code on disk, and the versions of Numba for which it is valid | `cache.py`; of tapes, `code_by_text.py` |
| what a program was made of: the key of its entry | `fingerprint.py` |
| files that only the user writes; what the folder holds, for `tapec cache` | `private_folder.py`, `stored.py` |
| whether code, defaults or globals have changed since a derivative was compiled | `staleness.py` |
| messages while a compilation takes long | `progress.py` |
| what the pipeline hands over | `program.py`; parameters and results, `boundary.py`; complex ones, `pairs.py` |

Arguments of a call:

| question | module |
|---|---|
| their Numba types, and what lowering takes for those | `argument_types.py`, `signature.py` |
| lists and dicts become tuples, and gradients lists and dicts again | `structured_arguments.py` |
| objects become named tuples of what they hold | `object_arguments.py` |
| lists of like items are packed (docs/design/0009) | `packing.py` |
| functions, dtypes, modules: known while compiling | `known_arguments.py` |
| one array passed twice; classes of named tuples with one name | `repeated_arguments.py`, `same_named_classes.py` |
| tangents, cotangents and vectors behind the arguments (docs/design/0013) | `directions.py` |
| residuals between the two halves of `vjp` | `residuals.py` |
"""
