"""Dense and banded linear algebra by explicit loops."""

from __future__ import annotations

import numpy as np

from tests.programs import Program


def thomas(lower, diag, upper, rhs):
    """Solve a tridiagonal system; overwrites `rhs` with the solution."""
    n = len(rhs)
    ratio = np.empty(n)
    pivot = diag[0]
    rhs[0] /= pivot
    for i in range(1, n):
        ratio[i] = upper[i - 1] / pivot
        pivot = diag[i] - lower[i] * ratio[i]
        rhs[i] = (rhs[i] - lower[i] * rhs[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        rhs[i] -= ratio[i + 1] * rhs[i + 1]
    return rhs


def lu_log_determinant(matrix):
    """Doolittle's factorisation in place with row pivoting; the logarithm of |det|."""
    a = matrix.copy()
    n = a.shape[0]
    logdet = 0.0
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[best, k]):
                best = i
        if best != k:
            for j in range(n):
                a[k, j], a[best, j] = a[best, j], a[k, j]
        logdet += np.log(abs(a[k, k]))
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return logdet


def cholesky_loops(a):
    """The lower factor of a symmetric positive definite matrix, row by row."""
    n = a.shape[0]
    low = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= low[i, k] * low[j, k]
            if i == j:
                if s <= 0.0:
                    raise ValueError("matrix is not positive definite")
                low[i, i] = np.sqrt(s)
            else:
                low[i, j] = s / low[j, j]
    return low


def gram_schmidt(a):
    """Modified Gram-Schmidt: orthonormal columns, the input's columns updated through views."""
    q = a.copy()
    n = q.shape[1]
    r = np.zeros((n, n))
    for j in range(n):
        column = q[:, j]
        r[j, j] = np.sqrt((column * column).sum())
        column /= r[j, j]
        for k in range(j + 1, n):
            other = q[:, k]
            r[j, k] = (column * other).sum()
            other -= r[j, k] * column
    return q, r


def _positive_definite(rng, n):
    a = rng.normal(size=(n, n))
    return (a @ a.T + n * np.eye(n),)


def _tridiagonal(rng, n):
    lower, upper = rng.uniform(-1.0, 1.0, (2, n))
    return lower, rng.uniform(2.5, 4.0, n), upper, rng.normal(size=n)


PROGRAMS = (
    Program(thomas, _tridiagonal, (1, 2, 6), (0, 1, 2, 3)),
    Program(lu_log_determinant, lambda rng, n: (rng.normal(size=(n, n)),), (0, 1, 5)),
    Program(cholesky_loops, _positive_definite, (1, 4)),
    Program(gram_schmidt, lambda rng, n: (rng.normal(size=(n + 2, n)),), (1, 3)),
)
