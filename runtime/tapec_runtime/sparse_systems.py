"""Systems whose matrix is sparse, solved by factors that are sparse as well.

A column at a time is eliminated by those before it (Gilbert & Peierls, SIAM J. Sci. Stat. Comput. 9 (1988) 862-874), in
Cuthill and McKee's reverse order, in which little is filled in.  Pivots are those of the diagonal if they are large
enough.  The code follows T. A. Davis, Direct Methods for Sparse Linear Systems, SIAM, 2006, sections 6.2 and 3.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# what part of the largest element of its column a pivot of the diagonal has to be
_LARGE_ENOUGH = 0.1
_SINGULAR = "Matrix is singular."


@njit(cache=True, error_model="numpy")
def sparse_solved(data: Any, indices: Any, indptr: Any, b: Any, transposed: int) -> Any:
    """The solutions of systems with a sparse matrix.

    data, indices, indptr  an (n, n) matrix by columns, as `scipy.sparse.csc_array` has them
    b                      (n, m), the right sides
    transposed             1 for systems with the transposed matrix, else 0
    returns                (n, m)
    raises                 LinAlgError for a matrix that is singular or not finite

    >>> data, indices, indptr = np.array([2.0, 1.0, 4.0]), np.array([0, 1, 1]), np.array([0, 2, 3])
    >>> sparse_solved(data, indices, indptr, np.array([[2.0], [9.0]]), 0)
    array([[1.],
           [2.]])
    """
    n = indptr.shape[0] - 1
    order = _order(indices, indptr, n)
    places, l_rows, l_values, l_ends, u_rows, u_values, u_ends = _factors(data, indices, indptr, order)
    out = np.empty(b.shape, b.dtype)
    y = np.empty(n, data.dtype)
    for column in range(b.shape[1]):
        if transposed:
            for k in range(n):
                y[k] = b[order[k], column]
            for k in range(n):
                total = y[k]
                for at in range(u_ends[k], u_ends[k + 1] - 1):
                    total -= u_values[at] * y[u_rows[at]]
                y[k] = total / u_values[u_ends[k + 1] - 1]
            for k in range(n - 1, -1, -1):
                total = y[k]
                for at in range(l_ends[k] + 1, l_ends[k + 1]):
                    total -= l_values[at] * y[places[l_rows[at]]]
                y[k] = total
            for i in range(n):
                out[i, column] = y[places[i]]
        else:
            for i in range(n):
                y[places[i]] = b[i, column]
            for k in range(n):
                for at in range(l_ends[k] + 1, l_ends[k + 1]):
                    y[places[l_rows[at]]] -= l_values[at] * y[k]
            for k in range(n - 1, -1, -1):
                y[k] /= u_values[u_ends[k + 1] - 1]
                for at in range(u_ends[k], u_ends[k + 1] - 1):
                    y[u_rows[at]] -= u_values[at] * y[k]
            for k in range(n):
                out[order[k], column] = y[k]
    return out


@njit(cache=True)
def _order(indices: Any, indptr: Any, n: int) -> Any:
    """Cuthill and McKee's reverse order: rows that share elements stand close to each other."""
    # the neighbours of each row, in the pattern of the matrix and its transpose
    ends = np.zeros(n + 1, np.int64)
    for j in range(n):
        for at in range(indptr[j], indptr[j + 1]):
            ends[j + 1] += 1
            ends[indices[at] + 1] += 1
    ends = np.cumsum(ends)
    free = ends[:-1].copy()
    neighbours = np.empty(ends[n], np.int64)
    for j in range(n):
        for at in range(indptr[j], indptr[j + 1]):
            i = indices[at]
            neighbours[free[j]] = i
            free[j] += 1
            neighbours[free[i]] = j
            free[i] += 1
    degrees = ends[1:] - ends[:-1]
    seen = np.zeros(n, np.bool_)
    order = np.empty(n, np.int64)
    count = 0
    for start in np.argsort(degrees, kind="mergesort"):
        if seen[start]:
            continue
        seen[start] = True
        order[count] = start
        done, count = count, count + 1
        while done < count:
            row = order[done]
            first = count
            for at in range(ends[row], ends[row + 1]):
                if not seen[neighbours[at]]:
                    seen[neighbours[at]] = True
                    order[count] = neighbours[at]
                    count += 1
            added = order[first:count].copy()
            order[first:count] = added[np.argsort(degrees[added], kind="mergesort")]
            done += 1
    return order[::-1].copy()


@njit(cache=True, error_model="numpy")
def _factors(data: Any, indices: Any, indptr: Any, order: Any) -> Any:
    """The factors L and U, column by column, and which pivot each row has.

    A column of L begins with the pivot's 1, that of U ends with the pivot.  Rows of L are those of the matrix.
    """
    n = order.shape[0]
    size = 4 * data.shape[0] + 2 * n
    l_rows, l_values, l_ends = np.empty(size, np.int64), np.empty(size, data.dtype), np.zeros(n + 1, np.int64)
    u_rows, u_values, u_ends = np.empty(size, np.int64), np.empty(size, data.dtype), np.zeros(n + 1, np.int64)
    places = np.full(n, -1, np.int64)
    x = np.zeros(n, data.dtype)
    found, stack, resumed = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    # in which step a row was found last
    marks = np.full(n, -1, np.int64)
    lowers = uppers = 0
    for step in range(n):
        if max(lowers, uppers) + n + 1 > l_rows.shape[0]:
            more = l_rows.shape[0] + n
            l_rows, l_values = _longer(l_rows, more), _longer(l_values, more)
            u_rows, u_values = _longer(u_rows, more), _longer(u_values, more)
        column = order[step]
        top = n
        for at in range(indptr[column], indptr[column + 1]):
            if marks[indices[at]] != step:
                top = _reached(indices[at], step, top, l_rows, l_ends, places, found, stack, resumed, marks)
        for at in range(indptr[column], indptr[column + 1]):
            x[indices[at]] += data[at]
        for place in range(top, n):
            row = found[place]
            k = places[row]
            if k < 0:
                continue
            for at in range(l_ends[k] + 1, l_ends[k + 1]):
                x[l_rows[at]] -= l_values[at] * x[row]
            u_rows[uppers], u_values[uppers] = k, x[row]
            uppers += 1
            x[row] = 0
        largest, pivot_row = -1.0, -1
        for place in range(top, n):
            row = found[place]
            if places[row] < 0 and not abs(x[row]) <= largest:
                largest, pivot_row = abs(x[row]), row
        if not 0 < largest < np.inf:
            raise np.linalg.LinAlgError(_SINGULAR)
        if marks[column] == step and places[column] < 0 and abs(x[column]) >= _LARGE_ENOUGH * largest:
            pivot_row = column
        pivot = x[pivot_row]
        u_rows[uppers], u_values[uppers] = step, pivot
        uppers += 1
        places[pivot_row] = step
        l_rows[lowers], l_values[lowers] = pivot_row, 1
        lowers += 1
        for place in range(top, n):
            row = found[place]
            if places[row] < 0:
                l_rows[lowers], l_values[lowers] = row, x[row] / pivot
                lowers += 1
            x[row] = 0
        l_ends[step + 1], u_ends[step + 1] = lowers, uppers
    return places, l_rows, l_values, l_ends, u_rows, u_values, u_ends


@njit(cache=True)
def _reached(
    start: int,
    step: int,
    top: int,
    l_rows: Any,
    l_ends: Any,
    places: Any,
    found: Any,
    stack: Any,
    resumed: Any,
    marks: Any,
) -> int:
    """Put the rows that elimination reaches from a row before those that were found, which begin at `top`."""
    depth = 0
    stack[0] = start
    while depth >= 0:
        row = stack[depth]
        k = places[row]
        if marks[row] != step:
            marks[row] = step
            resumed[depth] = 0 if k < 0 else l_ends[k] + 1
        deeper = False
        if k >= 0:
            for at in range(resumed[depth], l_ends[k + 1]):
                if marks[l_rows[at]] != step:
                    resumed[depth] = at + 1
                    depth += 1
                    stack[depth] = l_rows[at]
                    deeper = True
                    break
        if not deeper:
            depth -= 1
            top -= 1
            found[top] = row
    return top


@njit(cache=True)
def _longer(array: Any, more: int) -> Any:
    out = np.empty(array.shape[0] + more, array.dtype)
    out[: array.shape[0]] = array
    return out
