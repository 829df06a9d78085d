"""Operations on numbers, arrays and text: what becomes statements of core.

`elementwise.py` keeps `a * x + b` as a tree and writes it as one loop when its elements are needed; `broadcasting.py`
works out its shape and how each operand is read, `circular_shifts.py` reads `np.roll(u, 1)` without a copy,
`allocation.py` makes the array and knows extents.

| subject | modules |
|---|---|
| which arrays NumPy may keep in columns where ours are in rows | `memory_order.py` |
| truth, `and`, `or`, `x if test else y`, `np.where` | `conditions.py` |
| complex numbers, as two real ones | `complex_arithmetic.py` |
| integer operations that raise in Python: `1 // 0`, `1 << -1` | `integer_checks.py` |
| what Python's numbers raise inside `try` | `python_errors.py` |
| division by zero in code under Numba's decorators | `division_by_zero.py` |
| factors of a product that compute the same | `repeated_factors.py` |
| text that the run makes of numbers: `f"{loss:.2f}"` | `runtime_text.py` |
| functions that are called as they are (`tapec.opaque`) | `opaque_calls.py` |
| functions that have a derivative of the user's own | `registered_derivatives.py` |
"""
