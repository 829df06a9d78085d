"""Sums and products of two sparse matrices, both compressed by rows, or both by columns.

Elements of the result stand where SciPy puts them, and in the same order, but that those which happen to be 0 are kept:
they have derivatives.  A row of a matrix that is compressed by columns is called a column elsewhere.
"""

from __future__ import annotations

import numpy as np

from tapec.rules.arrays_common import common_dtype
from tapec.rules.scipy_sparse import majors, sorted_by


def _is_canonical(indices, indptr):
    """Whether the elements of each row are in order, and no two stand in one place."""
    found = True
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i] + 1, indptr[i + 1]):
            if indices[k] <= indices[k - 1]:
                found = False
    return found


def _backwards(row, indptr):
    """The elements of each row, the last one first."""
    out = np.empty(row.shape[0], np.int64)
    for k in range(row.shape[0]):
        out[k] = indptr[row[k]] + indptr[row[k] + 1] - 1 - k
    return out


def _ordered(indices, indptr, order):
    """The indices in another order, and where each element stands in it."""
    place = np.empty(order.shape[0], np.int64)
    out = np.empty(order.shape[0], indices.dtype)
    for at in range(order.shape[0]):
        place[order[at]] = at
        out[at] = indices[order[at]]
    return out, indptr, place


def _united(indices, indptr, other_indices, other_indptr, minors):
    """The elements of one matrix or the other: where they stand, and which of them each element of either is."""
    rows = indptr.shape[0] - 1
    met = np.full(minors, -1, np.int64)
    first = np.empty(indptr[-1], np.int64)
    second = np.empty(other_indptr[-1], np.int64)
    made = np.empty(first.shape[0] + second.shape[0], indices.dtype)
    ends = np.zeros(rows + 1, indptr.dtype)
    for i in range(rows):
        count = ends[i]
        for k in range(indptr[i], indptr[i + 1]):
            if met[indices[k]] < ends[i]:
                met[indices[k]] = count
                made[count] = indices[k]
                count += 1
            first[k] = met[indices[k]]
        for k in range(other_indptr[i], other_indptr[i + 1]):
            if met[other_indices[k]] < ends[i]:
                met[other_indices[k]] = count
                made[count] = other_indices[k]
                count += 1
            second[k] = met[other_indices[k]]
        ends[i + 1] = count
    made = made[: ends[-1]]
    row = majors(made, ends)
    if _is_canonical(indices, indptr) and _is_canonical(other_indices, other_indptr):
        order = sorted_by(row, sorted_by(made, np.arange(row.shape[0]), minors), rows)
    else:
        order = _backwards(row, ends)
    made, ends, place = _ordered(made, ends, order)
    return made, ends, place[first], place[second]


def _check_same(extents, other_extents):
    if extents[0] != other_extents[0] or extents[1] != other_extents[1]:
        raise ValueError("inconsistent shapes of two sparse matrices")


def added(data, indices, indptr, extents, other, other_indices, other_indptr, other_extents, minors, sign):
    """The sum, or the difference, of two matrices; each row has `minors` places."""
    _check_same(extents, other_extents)
    made, ends, first, second = _united(indices, indptr, other_indices, other_indptr, minors)
    out = np.zeros(made.shape[0], common_dtype(data.dtype, other.dtype))
    for k in range(first.shape[0]):
        out[first[k]] += data[k]
    for k in range(second.shape[0]):
        out[second[k]] += sign * other[k]
    return out, made, ends


def multiplied_elements(data, indices, indptr, extents, other, other_indices, other_indptr, other_extents, minors):
    """The product of two matrices, element by element."""
    _check_same(extents, other_extents)
    made, ends, first, second = _united(indices, indptr, other_indices, other_indptr, minors)
    dtype = common_dtype(data.dtype, other.dtype)
    one = np.zeros(made.shape[0], dtype)
    two = np.zeros(made.shape[0], dtype)
    in_one = np.zeros(made.shape[0], np.bool_)
    in_two = np.zeros(made.shape[0], np.bool_)
    for k in range(first.shape[0]):
        one[first[k]] += data[k]
        in_one[first[k]] = True
    for k in range(second.shape[0]):
        two[second[k]] += other[k]
        in_two[second[k]] = True
    kept = np.flatnonzero(in_one & in_two)
    row = majors(made, ends)
    own_ends = np.zeros(ends.shape[0], ends.dtype)
    for k in range(kept.shape[0]):
        own_ends[row[kept[k]] + 1] += 1
    for i in range(ends.shape[0] - 1):
        own_ends[i + 1] += own_ends[i]
    return one[kept] * two[kept], made[kept], own_ends


def multiplied_matrices(data, indices, indptr, extents, other, other_indices, other_indptr, other_extents, minors):
    """The product of two matrices that are compressed by rows; of the second one, each row has `minors` places."""
    if extents[1] != other_extents[0]:
        raise ValueError("matmul: dimension mismatch of two sparse matrices")
    rows = extents[0]
    count = 0
    for k in range(indptr[-1]):
        count += other_indptr[indices[k] + 1] - other_indptr[indices[k]]
    left = np.empty(count, np.int64)
    right = np.empty(count, np.int64)
    term = np.empty(count, np.int64)
    made = np.empty(count, indices.dtype)
    met = np.full(minors, -1, np.int64)
    ends = np.zeros(rows + 1, indptr.dtype)
    at = 0
    for i in range(rows):
        last = ends[i]
        for k in range(indptr[i], indptr[i + 1]):
            for m in range(other_indptr[indices[k]], other_indptr[indices[k] + 1]):
                if met[other_indices[m]] < ends[i]:
                    met[other_indices[m]] = last
                    made[last] = other_indices[m]
                    last += 1
                left[at] = k
                right[at] = m
                term[at] = met[other_indices[m]]
                at += 1
        ends[i + 1] = last
    made = made[: ends[-1]]
    made, ends, place = _ordered(made, ends, _backwards(majors(made, ends), ends))
    out = np.zeros(made.shape[0], common_dtype(data.dtype, other.dtype))
    for t in range(count):
        out[place[term[t]]] += data[left[t]] * other[right[t]]
    return out, made, ends
