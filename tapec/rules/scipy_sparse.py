"""Matrices of `scipy.sparse`, as loops over their elements.

`frontend/structures/sparse_matrices.py` calls these functions with what such a matrix holds.  `row` and `column` say
where each element stands; of compressed matrices, `indptr` says where the elements of each row, or column, begin.
"""

from __future__ import annotations

import numpy as np

import tapec_runtime
from tapec.rules.arrays_common import common_dtype


def majors(indices, indptr):
    """The row of each element of a matrix that is compressed by rows."""
    out = np.empty(indptr[-1], indices.dtype)
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            out[k] = i
    return out


def count(indptr):
    """The number of elements."""
    return int(indptr[-1])


def _check(extent, x):
    if x.shape[0] != extent:
        raise ValueError("matmul: dimension mismatch of a sparse matrix and an array")


def product_by_rows(data, indices, indptr, extents, x):
    """The product with a vector or matrix, of a matrix that is compressed by rows."""
    _check(extents[1], x)
    dtype = common_dtype(data.dtype, x.dtype)
    out = np.zeros((extents[0],) + x.shape[1:], dtype)
    for i in range(extents[0]):
        if x.ndim == 1:
            total = dtype.type(0)
            for k in range(indptr[i], indptr[i + 1]):
                total += data[k] * x[indices[k]]
            out[i] = total
        else:
            for k in range(indptr[i], indptr[i + 1]):
                for c in range(x.shape[1]):
                    out[i, c] += data[k] * x[indices[k], c]
    return out


def product_by_columns(data, indices, indptr, extents, x):
    """The same of a matrix that is compressed by columns."""
    _check(extents[1], x)
    out = np.zeros((extents[0],) + x.shape[1:], common_dtype(data.dtype, x.dtype))
    for j in range(extents[1]):
        for k in range(indptr[j], indptr[j + 1]):
            if x.ndim == 1:
                out[indices[k]] += data[k] * x[j]
            else:
                for c in range(x.shape[1]):
                    out[indices[k], c] += data[k] * x[j, c]
    return out


def product_by_elements(data, row, column, extents, x):
    """The same of a matrix whose elements have a row and a column each."""
    _check(extents[1], x)
    out = np.zeros((extents[0],) + x.shape[1:], common_dtype(data.dtype, x.dtype))
    for k in range(row.shape[0]):
        if x.ndim == 1:
            out[row[k]] += data[k] * x[column[k]]
        else:
            for c in range(x.shape[1]):
                out[row[k], c] += data[k] * x[column[k], c]
    return out


def dense(data, row, column, extents):
    """The matrix as an array."""
    out = np.zeros(extents, data.dtype)
    for k in range(row.shape[0]):
        out[row[k], column[k]] += data[k]
    return out


def diagonal(data, row, column, extents, k=0):
    """A diagonal; `k` counts from the main one to the right."""
    first_row = max(-k, 0)
    length = max(min(extents[0] - first_row, extents[1] - max(k, 0)), 0)
    out = np.zeros(length, data.dtype)
    for at in range(row.shape[0]):
        if column[at] - row[at] == k:
            out[row[at] - first_row] += data[at]
    return out


def trace(data, row, column, extents, offset=0):
    """The sum of a diagonal."""
    return np.sum(diagonal(data, row, column, extents, offset))


def totals(data, places, extent):
    """Sums of rows or columns, of which `places` names that of each element."""
    out = np.zeros(extent, data.dtype)
    for k in range(places.shape[0]):
        out[places[k]] += data[k]
    return out


def total(data, places):
    """The sum of all elements."""
    found = data.dtype.type(0)
    for k in range(places.shape[0]):
        found += data[k]
    return found


def multiplied(data, row, column, extents, other):
    """The elements, times those of an array that is broadcast to the matrix."""
    if np.ndim(other) == 0:
        return data * other
    if np.ndim(other) > 2:
        raise ValueError("a sparse matrix is multiplied by an array of more than two axes")
    table = np.atleast_2d(other)
    for axis in (0, 1):
        if table.shape[axis] != 1 and table.shape[axis] != extents[axis]:
            raise ValueError("a sparse matrix is multiplied by an array that does not fit, or is larger")
    out = np.empty(row.shape[0], common_dtype(data.dtype, table.dtype))
    for k in range(row.shape[0]):
        i = 0 if table.shape[0] == 1 else row[k]
        j = 0 if table.shape[1] == 1 else column[k]
        out[k] = data[k] * table[i, j]
    return out


def compressed(data, row, column, rows, columns):
    """The elements by rows, in the order of their columns; those that stand in one place are added up."""
    n = row.shape[0]
    order = sorted_by(row, sorted_by(column, np.arange(n), columns), rows)
    place = np.empty(n, np.int64)
    indptr = np.zeros(rows + 1, row.dtype)
    last = -1
    for at in range(n):
        k = order[at]
        if at == 0 or row[k] != row[order[at - 1]] or column[k] != column[order[at - 1]]:
            last += 1
            indptr[row[k] + 1] += 1
        place[k] = last
    indices = np.empty(last + 1, row.dtype)
    out = np.zeros(last + 1, data.dtype)
    for k in range(n):
        indices[place[k]] = column[k]
        out[place[k]] += data[k]
    for i in range(rows):
        indptr[i + 1] += indptr[i]
    return out, indices, indptr


def turned(data, indices, indptr, extent):
    """A matrix that is compressed by rows, compressed by columns, of which there are `extent`; or the other way."""
    row = majors(indices, indptr)
    n = row.shape[0]
    order = sorted_by(indices[:n], np.arange(n), extent)
    out = np.empty(n, data.dtype)
    minor = np.empty(n, indices.dtype)
    ends = np.zeros(extent + 1, indptr.dtype)
    for at in range(n):
        out[at] = data[order[at]]
        minor[at] = row[order[at]]
        ends[indices[at] + 1] += 1
    for j in range(extent):
        ends[j + 1] += ends[j]
    return out, minor, ends


def sorted_by(keys, order, extent):
    """The numbers in `order`, sorted by their keys below `extent`; equal ones stay as they are."""
    ends = np.zeros(extent + 1, np.int64)
    for k in range(keys.shape[0]):
        ends[keys[k] + 1] += 1
    for j in range(extent):
        ends[j + 1] += ends[j]
    out = np.empty(order.shape[0], np.int64)
    for at in range(order.shape[0]):
        key = keys[order[at]]
        out[ends[key]] = order[at]
        ends[key] += 1
    return out


def solution(data, indices, indptr, extents, b, by_rows):
    """The solution of a system with a compressed matrix."""
    if extents[0] != extents[1]:
        raise ValueError("matrix must be square")
    if b.shape[0] != extents[0]:
        raise ValueError("matrix - rhs dimension mismatch")
    # the rows of a matrix are the columns of its transpose
    transposed = 1 if by_rows else 0
    if b.ndim == 1:
        return tapec_runtime.sparse_solved(data, indices, indptr, b.reshape(b.shape[0], 1), transposed)[:, 0]
    if b.shape[1] == 1:
        raise ValueError("spsolve makes a vector of a matrix with one column: pass the vector")
    return tapec_runtime.sparse_solved(data, indices, indptr, b, transposed)


def _applied(data, indices, indptr, x, transposed):
    """The product of a matrix by columns, or of its transpose, and a matrix."""
    out = np.zeros(x.shape, x.dtype)
    for j in range(x.shape[0]):
        for k in range(indptr[j], indptr[j + 1]):
            for c in range(x.shape[1]):
                if transposed:
                    out[j, c] += data[k] * x[indices[k], c]
                else:
                    out[indices[k], c] += data[k] * x[j, c]
    return out


def sparse_solved_tangent(
    y, data, indices, indptr, b, transposed, data_dot, indices_dot, indptr_dot, b_dot, transposed_dot
):
    if data_dot is None:
        return tapec_runtime.sparse_solved(data, indices, indptr, b_dot, transposed)
    change = -_applied(data_dot, indices, indptr, y, transposed)
    if b_dot is not None:
        change = b_dot + change
    return tapec_runtime.sparse_solved(data, indices, indptr, change, transposed)


def sparse_solved_adjoint(
    y, data, indices, indptr, b, transposed, y_bar, data_bar, indices_bar, indptr_bar, b_bar, transposed_bar
):
    seed = tapec_runtime.sparse_solved(data, indices, indptr, y_bar, 1 - transposed)
    if b_bar is not None:
        b_bar += seed
    if data_bar is not None:
        for j in range(y.shape[0]):
            for k in range(indptr[j], indptr[j + 1]):
                for c in range(y.shape[1]):
                    if transposed:
                        data_bar[k] -= seed[j, c] * y[indices[k], c]
                    else:
                        data_bar[k] -= seed[indices[k], c] * y[j, c]
