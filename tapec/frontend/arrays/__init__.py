"""Arrays: their elements and views, making them, and functions of whole arrays.

| subject | modules |
|---|---|
| `a[i]`, `a[1:n]`, `a[mask]`, `a[rows]` | `subscripts.py`; `owner[index]` of any owner: `indexing.py` |
| `a[i] = v`, `a += b`, `np.add.at` | `stores.py` |
| `np.zeros`, `np.array`, `astype`, copies | `array_creation.py` |
| `reshape`, `transpose`, `squeeze`, `shape` | `array_shapes.py` |
| casts to a dtype, `stop_gradient` | `casts.py` |
| products, solves and other functions with rules of their own | `array_primitives.py` |
| `np.einsum`, `np.tensordot` | `tensor_products.py` |
| arguments of `np.pad` (its values: `rules/arrays_pad.py`), `sliding_window_view`, `np.unstack` | `padding.py` |
| lists of equal items among the arguments, packed into arrays | `packed_lists.py` |
| copies of what NumPy gives as a view; programs that could tell are refused | `copies_of_views.py` |
"""
