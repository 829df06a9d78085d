"""Matrix products that OpenBLAS is slow at: of a few long rows, or by a small factor in columns (`x @ w.T`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tapec_runtime.independence import independent
from tapec_runtime.widths import wide_vectors

# from 32 by 32 on, a copy costs more than it saves where the first factor has few rows
_SMALL = 24 * 24
# at most so many rows, of so many elements, are multiplied by loops
_FEW = 20
_LONG = 128


@njit(cache=True)
def product(first: Any, second: Any) -> Any:
    """`first @ second` of matrices; OpenBLAS takes up to three times as long for small ones that stand in columns.

    first    (m, k), float64 or float32
    second   (k, n), of the same type, in Fortran's order
    returns  (m, n)

    >>> product(np.ones((1, 2)), np.ones((2, 2)).T)
    array([[2., 2.]])
    """
    if second.size <= _SMALL:
        return np.dot(first, np.ascontiguousarray(second))
    few = 1 < first.shape[0] <= _FEW and 1 < second.shape[1] <= _FEW
    if first.flags.c_contiguous and few and first.shape[1] == second.shape[0] >= _LONG:
        return _sums(first, second.T)
    return np.dot(first, second)


@njit(cache=True)
def product_in_rows(first: Any, second: Any) -> Any:
    """`first @ second` of matrices; OpenBLAS takes up to twice as long for a few long rows.

    first    (m, k), float64 or float32, in C's order as the second one
    second   (k, n), of the same type
    returns  (m, n)

    >>> product_in_rows(np.ones((1, 2)), np.ones((2, 2)))
    array([[2., 2.]])
    """
    few = 1 < first.shape[0] <= _FEW and 0 < first.shape[1] <= _FEW
    if few and first.shape[1] == second.shape[0] and second.shape[1] >= _LONG:
        return _combined(first, second)
    return np.dot(first, second)


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _combined(first: Any, second: Any) -> Any:
    """`first @ second` of a few long rows: two rows at once, of four, part by part, which stay in the cache."""
    wide_vectors()
    rows, terms, columns = first.shape[0], first.shape[1], second.shape[1]
    result = np.empty((rows, columns), first.dtype)
    for begin in range(0, columns, _LONG):
        end = min(begin + _LONG, columns)
        for i in range(0, rows, 2):
            # where a row is left over, it is both rows: loads come before stores
            i_1 = min(i + 1, rows - 1)
            out, out_1 = result[i, begin:end], result[i_1, begin:end]
            for p in independent(range(end - begin)):
                out[p] = 0.0
                out_1[p] = 0.0
            fours = terms // 4 * 4
            for k in range(0, fours, 4):
                a, a_1, a_2, a_3 = first[i, k], first[i, k + 1], first[i, k + 2], first[i, k + 3]
                b, b_1, b_2, b_3 = first[i_1, k], first[i_1, k + 1], first[i_1, k + 2], first[i_1, k + 3]
                x, x_1 = second[k, begin:end], second[k + 1, begin:end]
                x_2, x_3 = second[k + 2, begin:end], second[k + 3, begin:end]
                for p in independent(range(end - begin)):
                    one = out[p] + a * x[p] + a_1 * x_1[p] + a_2 * x_2[p] + a_3 * x_3[p]
                    other = out_1[p] + b * x[p] + b_1 * x_1[p] + b_2 * x_2[p] + b_3 * x_3[p]
                    out[p], out_1[p] = one, other
            for k in range(fours, terms):
                a, b, x = first[i, k], first[i_1, k], second[k, begin:end]
                for p in independent(range(end - begin)):
                    one, other = out[p] + a * x[p], out_1[p] + b * x[p]
                    out[p], out_1[p] = one, other
    return result


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _sums(first: Any, second: Any) -> Any:
    """`first @ second.T` of two matrices of a few long rows: eight sums at once, of what is loaded once for all."""
    wide_vectors()
    rows, columns = first.shape[0], second.shape[0]
    result = np.empty((rows, columns), first.dtype)
    zero = first.dtype.type(0.0)
    for i in range(0, rows, 2):
        # where rows are left over, the last one is taken again
        i_1 = min(i + 1, rows - 1)
        x, x_1 = first[i], first[i_1]
        for j in range(0, columns, 4):
            j_1, j_2, j_3 = min(j + 1, columns - 1), min(j + 2, columns - 1), min(j + 3, columns - 1)
            y, y_1, y_2, y_3 = second[j], second[j_1], second[j_2], second[j_3]
            a = a_1 = a_2 = a_3 = zero
            b = b_1 = b_2 = b_3 = zero
            for k in range(first.shape[1]):
                a += x[k] * y[k]
                a_1 += x[k] * y_1[k]
                a_2 += x[k] * y_2[k]
                a_3 += x[k] * y_3[k]
                b += x_1[k] * y[k]
                b_1 += x_1[k] * y_1[k]
                b_2 += x_1[k] * y_2[k]
                b_3 += x_1[k] * y_3[k]
            result[i, j], result[i, j_1], result[i, j_2], result[i, j_3] = a, a_1, a_2, a_3
            result[i_1, j], result[i_1, j_1], result[i_1, j_2], result[i_1, j_3] = b, b_1, b_2, b_3
    return result
