"""From Python source to typed core form.

`lower` (`lower.py`) takes a function and the types of its arguments, and gives a core function.  It is a partial
evaluator: it walks the function's tree and executes all structure (tuples, strings, dtypes, keyword arguments, which
function is called); only operations on numbers and arrays are written to core.

The folders, from the top to the bottom; each imports only what stands below it (`python -m tools.check_layers`):

| folder | what it lowers |
|---|---|
| `calls/` | calls: inlining, recursion, decorators, Numba's functions, and the table of functions with handlers |
| `library/` | functions of Python, `math`, NumPy and SciPy that have a handler of their own |
| `statements/` | assignments, branches, loops, `with`, `try`, `import` |
| `expressions/` | names, operators, comparisons, attributes, comprehensions |
| `iteration/` | what a `for` can run over: ranges, iterators, generators, sequences, sets |
| `arrays/` | subscripts, stores, making and reshaping arrays, whole-array functions |
| `structures/` | lists, dicts, tuples and objects, and how the values of two control paths merge |
| `operations/` | operations on numbers, elementwise expressions, broadcasting, text, functions called as they are |
| `evaluator/` | the evaluator's state, values, and types |
| `source/` | a function's text and tree, and rewriting of the tree before it is lowered |

A node of the tree is lowered by a *handler*.  `full_evaluator.py` has the table: which function lowers which kind of
statement and expression.  Functions with handlers are listed in `calls/function_handlers.py`.  Handlers call what
stands below them by imports, and what stands above them by methods of the evaluator, which
`evaluator/lowering_methods.py` declares.

`assumed_extents.py` lowers a function once more for arguments whose shapes fit without broadcasting.
"""
