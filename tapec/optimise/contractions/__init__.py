"""Products of matrices and vectors, and what is left to BLAS.

| module | what it does |
|---|---|
| `common_factors.py` | take one product for two that are added up and share a factor |
| `factorisation_reuse.py` | take a matrix apart once for all systems that are solved with it |
| `few_elements.py` | give a program a version for matrices of few elements, whose products in loops are loops, too |
| `loop_matrices.py` | the matrices that a nest of three loops multiplies, and the loops that fill them |
| `loop_nests.py` | nests of three loops that add products of numbers |
| `loop_pairs.py` | two products of a nest that are one |
| `loop_products.py` | leave nests of loops that multiply matrices to BLAS, where the matrices are large |
| `outer_product_batching.py` | outer products added after a loop as one product of matrices |
| `product_factors.py` | the factors of a number, through the names of partial products |
| `row_products.py` | leave products with a factor in columns, which loops repeat, to the runtime |
| `small_products.py` | write small products out as loops |
| `squared_norms.py` | square lengths without taking their roots |
| `summed_products.py` | sum the rows of a matrix before a product of which only the sum is read |
| `tall_matrices.py` | keep matrices of many short rows in transpose, where a loop multiplies them |
| `tall_matrix_loops.py` | a loop whose matrices of many short rows are kept in transpose |
| `transposed_products.py` | take a product in transpose where it is added to a transposed array |
"""
