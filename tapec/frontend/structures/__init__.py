"""Values with structure: lists, dicts, tuples, objects; and the merging of values where control paths meet.

| subject | modules |
|---|---|
| lists whose length only the run knows: a buffer and a count | `lists.py` |
| dicts with known keys | `dicts.py` |
| lists and dicts of modules and closures, which are constants | `constant_containers.py` |
| members of enum classes, by their values | `enum_members.py` |
| named tuples with methods | `named_tuples.py` |
| other classes derived from numbers, text and containers | `derived_classes.py` |
| sparse matrices; the classes that SciPy has of them | `sparse_matrices.py`, `sparse_classes.py` |
| `numba.typed.List` and `Dict` that the code makes | `typed_containers.py` |
| jitclasses | `jitclasses.py` |
| objects among the arguments, `super`, `getattr` | `argument_objects.py` |
| objects that a function makes: attributes, operators, `vars` | `made_objects.py` |
| `isinstance` and `type` | `isinstance_tests.py` |
| one value from the values of two control paths (phi functions) | `merging.py` |
| lists, dicts and objects that a branch or loop binds a name to anew | `rebuilt_containers.py` |
| what closures hold, taken into a program that is lowered later | `captured_values.py` |
| values as Numba's types: signatures, types of variables | `numba_conversions.py` |
"""
