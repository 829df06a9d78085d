"""Expressions of the language.

| subject | modules |
|---|---|
| names, literals, tuples, lists, `lambda`; a variable that is not set | `names_and_literals.py` |
| `+`, `-x`, `//`, `@` | `operators.py` |
| f-strings | `formatted_strings.py` |
| `<`, `==`, `is`, `in` | `comparisons.py` |
| whether known objects are equal, by methods of their classes | `object_equality.py` |
| `owner.name` | `attributes.py` |
| Python objects that names and attributes lead to, such as arrays of a module | `outside_objects.py` |
| comprehensions | `comprehensions.py` |
| arguments, results and variables of the types that Numba's decorators say | `declared_types.py` |

`and`, `or` and `x if test else y` are in `operations/conditions.py`, subscripts in `arrays/indexing.py`, calls in
`calls/`.
"""
