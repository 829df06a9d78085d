"""Calls: which code a call runs, and how it becomes part of the program.

`calls.py` decides what a call is: a handler of a function (`function_handlers.py` has the table), a rule, a library
function, an object that knows how to be lowered, or a Python function, whose body is inlined.

| subject | modules |
|---|---|
| a Python function: its arguments bound to parameters (keywords, defaults, `*args`), its body inlined | `inlining.py` |
| the error for a function with syntax that is refused (the words are in `source/refused_syntax.py`) | `inlining.py` |
| functions that call themselves, and their results | `recursion.py` |
| how deep calls are inlined | `inlining.py` |
| functions of NumPy and SciPy that have no rule: an error in their source names the call | `package_sources.py` |
| decorators above inner functions, `njit(f)` inside a function | `decorators.py` |
| `functools.cache`, `lru_cache`; `singledispatch`, which is refused | `cached_functions.py` |
| C callbacks, `@overload` | `numba_calls.py` |
| `@vectorize`; `@guvectorize`; `@stencil` | `numba_vectorize.py`; `numba_guvectorize.py`; `numba_stencils.py` |
"""
