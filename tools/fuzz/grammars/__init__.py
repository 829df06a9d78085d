"""What random programs are made of.

Modules with a function `generate` are grammars, each of which makes whole programs: `programs` (the language at large),
`vectors` (whole arrays), `loops`, `aliases` (names that share arrays), `repeats` (what could be computed once),
`systems` (linear algebra), `complex_numbers`, `functions` (NumPy's), `pairs` (points), `stacks` (lists that grow) and
`recursion`.  A new one gets a row of `GRAMMARS` in `examination.py`.

The other modules are parts: `writer` (text and names), `expressions` and `shapes` (of numbers and arrays), `calls`,
`arrays`, `containers`, `flow`, `idioms`, `kernels`, `lanes`, `nests` and `tables`.
"""
