"""Functions and methods that have a handler of their own, because plain Python cannot say what they do.

| functions | modules |
|---|---|
| Python's built-in functions: `len`, `range`, `zip`, `max`, `sum` | `builtin_functions.py` |
| methods and operators of lists | `list_methods.py` |
| methods of strings | `text_methods.py` |
| `math.prod`, `math.hypot`, `math.dist` | `math_calls.py` |
| `cmath`, and functions of complex arrays | `complex_calls.py` |
| `scipy.stats` | `distributions.py` |
| `scipy.sparse` | `sparse_calls.py` |
| objects of `scipy.interpolate`: polynomials between points; tables | `interpolators.py`, `table_interpolators.py` |
| elementwise functions: `out=`, `where=`, `dtype=`, `np.add.reduce` | `ufuncs.py` |
| `hasattr`, and what patterns of `match` ask | `pattern_tests.py` |
| arguments by position and by name, as the function's own signature has them | `argument_binding.py` |
| arguments that a handler does not know are refused | `argument_checks.py` |

Handlers that make or read arrays are in `arrays/`; `calls/function_handlers.py` has the table of all of them.  Most
functions of NumPy and SciPy need no handler: they are rows of `tapec/rules`.
"""
