"""Pseudo-inverses and least squares."""

from __future__ import annotations

import numpy as np

import tapec_runtime
from tapec.rules.arrays_common import float_type
from tapec.rules.arrays_norms import unit_of


def pinv(a, rcond=None, hermitian=False, *, rtol=None):
    """The pseudo-inverse, of stacks of matrices, too; singular values below `rcond` times the largest one are 0."""
    matrix = np.asarray(a)
    kind = float_type(matrix.dtype)
    least = rtol if rcond is None else rcond
    size = max(matrix.shape[-2], matrix.shape[-1])
    if least is None:
        least = 1e-15 if rtol is None else size * np.finfo(kind).eps
    if matrix.ndim == 2:
        return tapec_runtime.pseudo_inverse(matrix, float(least))
    out = np.empty(matrix.shape[:-2] + (matrix.shape[-1], matrix.shape[-2]), kind)
    for i in np.ndindex(matrix.shape[:-2]):
        out[i] = tapec_runtime.pseudo_inverse(matrix[i], float(least))
    return out


def lstsq(a, b, rcond=None):
    """The least-squares solution of a system, the residual, the rank and the singular values.

    There is no derivative where the rank changes.
    """
    matrix = np.asarray(a)
    right = np.asarray(b)
    kind = float_type(matrix.dtype)
    rows, columns = matrix.shape
    least = np.finfo(kind).eps * max(rows, columns) if rcond is None else float(rcond)
    # the derivative of the pseudo-inverse has the square of its range
    unit = unit_of(matrix) if matrix.dtype.kind == "f" else 1
    found = np.dot(tapec_runtime.pseudo_inverse(matrix / unit, max(least, 0.0)), right / unit)
    _, s, _ = tapec_runtime.thin_svd(matrix)
    rank = 0
    for k in range(s.size):
        if s[k] > least * s[0]:
            rank += 1
    rest = np.dot(matrix, found) - right
    whole = 1 if right.ndim == 1 else right.shape[1]
    residual = np.zeros(whole if rank == columns and rows > columns else 0, kind)
    if residual.size > 0:
        if right.ndim == 1:
            residual[0] = np.sum(rest * rest)
        else:
            residual[:] = np.sum(rest * rest, 0)
    return found, residual, rank, s
