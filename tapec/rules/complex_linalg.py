"""Functions of `np.linalg` of complex matrices, by elimination or by real matrices of twice the size."""

from __future__ import annotations

import numpy as np

from tapec.rules.arrays_common import complex_of
from tapec.rules.least_squares import pinv as real_pinv


def _real_form(a):
    """The real matrix that does to parts what a complex one does to numbers."""
    re, im = np.real(a), np.imag(a)
    return np.concatenate((np.concatenate((re, -im), -1), np.concatenate((im, re), -1)), -2)


def _is_matrix(a):
    if a.ndim != 2:
        raise ValueError("stacks of complex matrices are not supported")


def _eliminated(a):
    """The diagonal of the upper triangular factor, and the sign of the exchanges of rows."""
    _is_matrix(a)
    rows = a.copy()
    n = rows.shape[0]
    sign = 1.0
    for k in range(n):
        best = k + np.argmax(np.abs(rows[k:, k]))
        if best != k:
            held = rows[k].copy()
            rows[k] = rows[best]
            rows[best] = held
            sign = -sign
        if rows[k, k] != 0:
            for i in range(k + 1, n):
                rows[i, k:] = rows[i, k:] - rows[i, k] / rows[k, k] * rows[k, k:]
    return np.diag(rows), sign


def det(a):
    """The determinant of a complex matrix."""
    diagonal, sign = _eliminated(np.asarray(a))
    return sign * np.prod(diagonal)


def slogdet(a):
    """The phase of the determinant of a complex matrix, and the logarithm of its size."""
    diagonal, sign = _eliminated(np.asarray(a))
    sizes = np.abs(diagonal)
    return sign * np.prod(diagonal / sizes), np.sum(np.log(sizes))


def cholesky(a, *, upper=False):
    """The lower triangular factor of a Hermitian matrix, of which one triangle is read."""
    matrix = np.conj(np.asarray(a)).T if upper else np.asarray(a)
    _is_matrix(matrix)
    n = matrix.shape[0]
    out = np.zeros((n, n), matrix.dtype)
    for j in range(n):
        total = np.real(matrix[j, j])
        for k in range(j):
            total = total - np.real(out[j, k]) ** 2 - np.imag(out[j, k]) ** 2
        if not total > 0:
            raise np.linalg.LinAlgError("Matrix is not positive definite")
        pivot = np.sqrt(total)
        out[j, j] = pivot
        for i in range(j + 1, n):
            rest = matrix[i, j]
            for k in range(j):
                rest = rest - out[i, k] * np.conj(out[j, k])
            out[i, j] = rest / pivot
    return np.conj(out).T if upper else out


def eigvalsh(a, UPLO="L"):
    """Eigenvalues of a Hermitian matrix, of which one triangle is read: the real form has each of them twice."""
    matrix = np.asarray(a)
    _is_matrix(matrix)
    n = matrix.shape[0]
    whole = np.empty((n, n), matrix.dtype)
    for i in range(n):
        whole[i, i] = np.real(matrix[i, i])
        for j in range(i):
            element = np.conj(matrix[j, i]) if UPLO == "U" else matrix[i, j]
            whole[i, j] = element
            whole[j, i] = np.conj(element)
    return np.linalg.eigvalsh(_real_form(whole))[::2]


def svdvals(x):
    """Singular values of a complex matrix: the real form has each of them twice."""
    matrix = np.asarray(x)
    _is_matrix(matrix)
    return np.linalg.svd(_real_form(matrix), compute_uv=False)[::2]


def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    """Singular values of a complex matrix, without the vectors."""
    if compute_uv or hermitian:
        raise ValueError("np.linalg.svd of a complex matrix is taken with compute_uv=False and hermitian=False")
    return svdvals(a)


def cond(x, p=None):
    """The condition number of a complex matrix, of singular values."""
    sizes = svdvals(x)
    if p is None or p == 2:
        return sizes[0] / sizes[-1]
    if p == -2:
        return sizes[-1] / sizes[0]
    raise ValueError("np.linalg.cond of a complex matrix is taken with p=2 or -2")


def _halves(found):
    """The complex matrix, or vector, whose real form's first columns are given."""
    n = found.shape[0] // 2
    return complex_of(found[:n], found[n:])


def pinv(a, rcond=None):
    """The pseudo-inverse of a complex matrix."""
    matrix = np.asarray(a)
    _is_matrix(matrix)
    found = real_pinv(_real_form(matrix), rcond)
    return _halves(found[:, : matrix.shape[0]])


def lstsq(a, b, rcond=None):
    """The least-squares solution of a complex system, the residual, the rank and the singular values."""
    matrix = np.asarray(a)
    right = np.asarray(b)
    _is_matrix(matrix)
    both = np.concatenate((np.real(right), np.imag(right)))
    found, left, rank, sizes = np.linalg.lstsq(_real_form(matrix), both, rcond)
    return _halves(found), left, rank // 2, sizes[::2]


def inv(a):
    """Inverses of a stack of complex matrices."""
    matrix = np.asarray(a)
    n = matrix.shape[-1]
    found = np.linalg.inv(_real_form(matrix))
    return complex_of(found[..., :n, :n], found[..., n:, :n])


def solve(a, b):
    """Solutions of a stack of complex systems."""
    matrix = np.asarray(a)
    right = np.asarray(b)
    n = matrix.shape[-1]
    if right.ndim == 1:
        whole = np.concatenate((np.real(right), np.imag(right)))
        vectors = np.linalg.solve(_real_form(matrix), whole)
        return complex_of(vectors[..., :n], vectors[..., n:])
    found = np.linalg.solve(_real_form(matrix), np.concatenate((np.real(right), np.imag(right)), -2))
    return complex_of(found[..., :n, :], found[..., n:, :])
