"""Tangents and adjoints of systems that are solved from the factors of their matrix, as `linalg` has those of others.

What factors stand for is the matrix: their tangent and adjoint are those of the matrix, in all but the last row, so
that nobody need know how it was taken apart.  Formulas: Giles, see `linalg`.
"""

from __future__ import annotations

import numpy as np

import tapec_runtime


def factorised_tangent(y, a, a_dot):
    out = np.zeros(y.shape, y.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a_dot[i, j]
    return out


def factorised_adjoint(y, a, y_bar, a_bar):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a_bar[i, j] += y_bar[i, j]


def factorised_lower_tangent(y, a, a_dot):
    out = np.zeros(y.shape, y.dtype)
    for i in range(a.shape[0]):
        for j in range(i + 1):
            out[i, j] = a_dot[i, j]
    return out


def factorised_lower_adjoint(y, a, y_bar, a_bar):
    for i in range(a.shape[0]):
        for j in range(i + 1):
            a_bar[i, j] += y_bar[i, j]


def solved_tangent(y, factors, b, factors_dot, b_dot):
    if factors_dot is None:
        return tapec_runtime.solved(factors, b_dot)
    change = np.dot(factors_dot[:-1], y)
    if b_dot is None:
        return tapec_runtime.solved(factors, -change)
    return tapec_runtime.solved(factors, b_dot - change)


def solved_adjoint(y, factors, b, y_bar, factors_bar, b_bar):
    seed = tapec_runtime.solved_transposed(factors, y_bar)
    if b_bar is not None:
        b_bar += seed
    if factors_bar is not None:
        _subtract_products(factors_bar, seed, y)


def solved_transposed_tangent(y, factors, b, factors_dot, b_dot):
    if factors_dot is None:
        return tapec_runtime.solved_transposed(factors, b_dot)
    change = np.dot(factors_dot[:-1].T, y)
    if b_dot is None:
        return tapec_runtime.solved_transposed(factors, -change)
    return tapec_runtime.solved_transposed(factors, b_dot - change)


def solved_transposed_adjoint(y, factors, b, y_bar, factors_bar, b_bar):
    seed = tapec_runtime.solved(factors, y_bar)
    if b_bar is not None:
        b_bar += seed
    if factors_bar is not None:
        _subtract_products(factors_bar, y, seed)


def _subtract_products(factors_bar, rows, columns):
    """`factors_bar[:-1] -= rows @ columns.T`, of vectors or matrices."""
    n = columns.shape[0]
    if columns.ndim == 1:
        for i in range(n):
            factor = rows[i]
            for j in range(n):
                factors_bar[i, j] -= factor * columns[j]
    else:
        product = np.dot(rows, columns.T)
        for i in range(n):
            for j in range(n):
                factors_bar[i, j] -= product[i, j]
