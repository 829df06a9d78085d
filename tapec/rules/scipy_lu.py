"""Triangular factors of general matrices: `lu`, `lu_factor` and `lu_solve` of `scipy.linalg`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules.scipy_linalg import solve_triangular


def _order(exchanged, n):
    """The order of rows after they were exchanged one by one."""
    order = np.arange(n)
    for k in range(exchanged.size):
        held = order[k]
        order[k] = order[exchanged[k]]
        order[exchanged[k]] = held
    return order


def lu_factor(a):
    """Both triangular factors of a matrix in one, and which rows were exchanged."""
    factors = np.asarray(a) * 1.0
    if factors.ndim != 2:
        raise ValueError("scipy.linalg.lu_factor is taken of one matrix")
    rows, columns = factors.shape
    size = min(rows, columns)
    exchanged = np.zeros(size, np.int32)
    for k in range(size):
        best = k + np.argmax(np.abs(factors[k:, k]))
        exchanged[k] = best
        if best != k:
            held = factors[k].copy()
            factors[k] = factors[best]
            factors[best] = held
        if factors[k, k] != 0:
            for i in range(k + 1, rows):
                factors[i, k] = factors[i, k] / factors[k, k]
                factors[i, k + 1 :] = factors[i, k + 1 :] - factors[i, k] * factors[k, k + 1 :]
    return factors, exchanged


def lu_solve(lu_and_piv, b, trans=0):
    """The solution of a system whose matrix is factored by `lu_factor`."""
    factors, exchanged = lu_and_piv
    right = np.asarray(b) * 1.0
    order = _order(exchanged, factors.shape[0])
    if trans == 0:
        return solve_triangular(factors, solve_triangular(factors, right[order], 0, True, True))
    found = solve_triangular(factors, solve_triangular(factors, right, 1), 1, True, True)
    return found[np.argsort(order)]


def lu(a, permute_l=False):
    """The permutation of a matrix's rows and its triangular factors."""
    factors, exchanged = lu_factor(a)
    rows, columns = factors.shape
    size = min(rows, columns)
    order = _order(exchanged, rows)
    permutation = np.zeros((rows, rows))
    for k in range(rows):
        permutation[order[k], k] = 1.0
    low = np.tril(factors[:, :size], -1) + np.eye(rows, size)
    if permute_l:
        return permutation @ low, np.triu(factors[:size])
    return permutation, low, np.triu(factors[:size])


FUNCTIONS: dict[str, Callable[..., Any]] = {function.__name__: function for function in (lu, lu_factor, lu_solve)}
