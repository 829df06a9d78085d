"""Expressions of the language.

| subject | modules |
|---|---|
| names, literals, `+`, `-x`, tuples, lists, f-strings, `lambda` | `operators.py` |
| `<`, `==`, `is`, `in` | `comparisons.py` |
| `owner.name` | `attributes.py` |
| Python objects that names and attributes lead to, such as arrays of a module | `outside_objects.py` |
| comprehensions | `comprehensions.py` |
| arguments, results and variables of the types that Numba's decorators say | `declared_types.py` |

`and`, `or` and `x if test else y` are in `operations/conditions.py`, subscripts in `arrays/indexing.py`, calls in
`calls/`.
"""
