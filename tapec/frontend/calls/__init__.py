"""Calls: which code a call runs, and how it becomes part of the program.

`calls.py` decides what a call is: a handler of a function (`function_handlers.py` has the table), a rule, a library
function, an object that knows how to be lowered, or a Python function, whose body is inlined (`inlining.py`).
Arguments are bound to parameters there: defaults, keywords, `*args`.

| subject | modules |
|---|---|
| functions that call themselves | `recursion.py` |
| decorators above inner functions, `njit(f)` inside a function | `decorators.py` |
| `functools.cache`, `lru_cache` | `cached_functions.py` |
| C callbacks, `@overload` | `numba_calls.py` |
| `@vectorize` | `numba_vectorize.py` |
"""
