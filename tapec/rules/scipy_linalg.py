"""Functions of `scipy.linalg`, of real matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.rules import linalg_calls
from tapec.rules.arrays_common import flat, float_type
from tapec.rules.arrays_norms import norm as numpy_norm
from tapec.rules.least_squares import lstsq as numpy_lstsq
from tapec.rules.least_squares import pinv as numpy_pinv
from tapec.rules.linalg_calls import svdvals


def solve(a, b, lower=False, *, assume_a=None, transposed=False):
    """The solution of a system; what is assumed of the matrix does not matter but for the triangle that is read."""
    matrix = np.asarray(a)
    if assume_a == "sym" or assume_a == "pos" or assume_a == "her":
        matrix = _mirrored(matrix, lower)
    elif assume_a is not None and assume_a != "gen":
        raise ValueError("scipy.linalg.solve is taken with assume_a='gen', 'sym' or 'pos'")
    return np.linalg.solve(matrix.T if transposed else matrix, np.asarray(b))


def _mirrored(a, lower):
    """The symmetric matrix that has one triangle of `a`."""
    out = np.empty(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(i + 1):
            x = a[i, j] if lower else a[j, i]
            out[i, j] = x
            out[j, i] = x
    return out


def inv(a):
    """The inverse of a matrix."""
    return np.linalg.inv(np.asarray(a))


def det(a):
    """The determinant of a matrix."""
    return np.linalg.det(np.asarray(a))


def pinv(a, *, atol=None, rtol=None, return_rank=False):
    """The pseudo-inverse of a matrix."""
    if atol is not None or return_rank:
        raise ValueError("scipy.linalg.pinv is taken with rtol alone")
    return numpy_pinv(a, rtol=_rtol(np.asarray(a)) if rtol is None else rtol)


def _rtol(a):
    return max(a.shape[0], a.shape[1]) * np.finfo(float_type(a.dtype)).eps


def norm(a, ord=None, axis=None, keepdims=False):
    """Norm of a vector or matrix."""
    return numpy_norm(a, ord, axis, keepdims=keepdims)


def svd(a, full_matrices=True, compute_uv=True):
    """Singular values and vectors."""
    return linalg_calls.svd(a, full_matrices, compute_uv)


def qr(a, overwrite_a=False, lwork=None, mode="full"):
    """The factors of a matrix with orthonormal columns and an upper triangular one."""
    if mode == "r":
        raise ValueError("scipy.linalg.qr is taken with mode='full' or 'economic'")
    return linalg_calls.qr(a, "reduced" if mode == "economic" else "complete")


def cholesky(a, lower=False):
    """The triangular factor of a positive definite matrix, of which the same triangle is read."""
    matrix = np.asarray(a)
    return np.linalg.cholesky(matrix) if lower else np.linalg.cholesky(matrix.T).T


def cho_factor(a, lower=False):
    """The triangular factor of a positive definite matrix, with zeros elsewhere, and which triangle it is."""
    return cholesky(a, lower), lower


def cho_solve(c_and_lower, b):
    """The solution of a system whose matrix is factored by `cho_factor`."""
    c, lower = c_and_lower
    if lower:
        return solve_triangular(c, solve_triangular(c, b, 0, True), 1, True)
    return solve_triangular(c, solve_triangular(c, b, 1), 0)


def _triangle(a, lower, unit_diagonal):
    if a.ndim != 2:
        raise ValueError("scipy.linalg.solve_triangular is taken of one matrix: call np.linalg.solve for stacks")
    out = np.zeros(a.shape, float_type(a.dtype))
    for i in range(a.shape[0]):
        for j in range(i):
            if lower:
                out[i, j] = a[i, j]
            else:
                out[j, i] = a[j, i]
        out[i, i] = 1.0 if unit_diagonal else a[i, i]
    return out


def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False):
    """The solution of a system of which one triangle is read."""
    matrix = _triangle(np.asarray(a), lower, unit_diagonal)
    right = np.asarray(b)
    if isinstance(trans, str):
        return np.linalg.solve(matrix if trans == "N" else matrix.T, right)
    return np.linalg.solve(matrix if trans == 0 else matrix.T, right)


def lstsq(a, b, cond=None):
    """The least-squares solution of a system, the residual, the rank and the singular values."""
    return numpy_lstsq(a, b, np.finfo(float_type(np.asarray(a).dtype)).eps if cond is None else cond)


def _reduced(a, b, lower):
    """The symmetric matrix with the eigenvalues of `a @ v == w * b @ v`, and the factor of `b`."""
    factor = np.linalg.cholesky(_mirrored(np.asarray(b), lower))
    half = np.linalg.solve(factor, _mirrored(np.asarray(a), lower))
    return np.linalg.solve(factor, half.T), factor


def eigh(a, b=None, *, lower=True, eigvals_only=False):
    """Eigenvalues and eigenvectors of a symmetric matrix, of which one triangle is read; also generalised ones."""
    if b is not None:
        whole, factor = _reduced(a, b, lower)
        if eigvals_only:
            return np.linalg.eigvalsh(whole)
        values, vectors = np.linalg.eigh(whole)
        return values, np.linalg.solve(factor.T, vectors)
    if eigvals_only:
        return linalg_calls.eigvalsh(a, "L" if lower else "U")
    return linalg_calls.eigh(a, "L" if lower else "U")


def eigvalsh(a, b=None, *, lower=True):
    """Eigenvalues of a symmetric matrix, of which one triangle is read; also generalised ones."""
    if b is not None:
        return np.linalg.eigvalsh(_reduced(a, b, lower)[0])
    return linalg_calls.eigvalsh(a, "L" if lower else "U")


def eig(a, b=None, left=False, right=True):
    """Eigenvalues and eigenvectors of a general matrix."""
    if b is not None or left:
        raise ValueError("scipy.linalg.eig is taken without b and left")
    return linalg_calls.eig(a) if right else linalg_calls.eigvals(a)


def eigvals(a, b=None):
    """Eigenvalues of a general matrix."""
    if b is not None:
        raise ValueError("scipy.linalg.eigvals is taken without b")
    return linalg_calls.eigvals(a)


def block_diag(*arrs):
    """The matrix with these along its diagonal."""
    blocks: tuple[Any, ...] = ()
    rows = 0
    columns = 0
    kind = np.asarray(arrs[0]).dtype
    for one in arrs:
        block = np.atleast_2d(np.asarray(one))
        blocks = blocks + (block,)
        rows += block.shape[0]
        columns += block.shape[1]
        kind = (kind.type(0) + block.dtype.type(0)).dtype
    out = np.zeros((rows, columns), kind)
    row = 0
    column = 0
    for block in blocks:
        out[row : row + block.shape[0], column : column + block.shape[1]] = block
        row += block.shape[0]
        column += block.shape[1]
    return out


def toeplitz(c, r=None):
    """The matrix with constant diagonals that has this first column and first row."""
    first = flat(c)
    row = first if r is None else flat(r)
    out = np.empty((first.size, row.size), (first.dtype.type(0) + row.dtype.type(0)).dtype)
    for i in range(first.size):
        for j in range(row.size):
            out[i, j] = first[i - j] if i >= j else row[j - i]
    return out


def hankel(c, r=None):
    """The matrix with constant antidiagonals that has this first column and last row."""
    first = flat(c)
    last = np.zeros(first.size, first.dtype) if r is None else flat(r)
    out = np.empty((first.size, last.size), (first.dtype.type(0) + last.dtype.type(0)).dtype)
    for i in range(first.size):
        for j in range(last.size):
            out[i, j] = first[i + j] if i + j < first.size else last[i + j - first.size + 1]
    return out


def circulant(c):
    """The matrix whose columns are a first one, turned round."""
    first = flat(c)
    n = first.size
    out = np.empty((n, n), first.dtype)
    for i in range(n):
        for j in range(n):
            out[i, j] = first[(i - j) % n]
    return out


def companion(a):
    """The matrix whose characteristic polynomial has these coefficients, highest power first."""
    coefficients = flat(a)
    n = coefficients.size
    if n < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    out = np.zeros((n - 1, n - 1), float_type(coefficients.dtype))
    for k in range(n - 1):
        out[0, k] = -coefficients[k + 1] / coefficients[0]
    for k in range(n - 2):
        out[k + 1, k] = 1.0
    return out


def khatri_rao(a, b):
    """The Kronecker products of corresponding columns."""
    first = np.asarray(a)
    second = np.asarray(b)
    if first.shape[1] != second.shape[1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    return np.reshape(first[:, None, :] * second[None, :, :], (first.shape[0] * second.shape[0], first.shape[1]))


def solve_toeplitz(c_or_cr, b):
    """The solution of a system with constant diagonals."""
    if isinstance(c_or_cr, tuple):
        return np.linalg.solve(toeplitz(c_or_cr[0], c_or_cr[1]), np.asarray(b))
    return np.linalg.solve(toeplitz(c_or_cr), np.asarray(b))


def matmul_toeplitz(c_or_cr, x):
    """The product of a matrix with constant diagonals and a vector or matrix."""
    if isinstance(c_or_cr, tuple):
        return toeplitz(c_or_cr[0], c_or_cr[1]) @ np.asarray(x)
    return toeplitz(c_or_cr) @ np.asarray(x)


def solve_circulant(c, b):
    """The solution of a system whose columns are a first one, turned round."""
    return np.linalg.solve(circulant(c), np.asarray(b))


def _banded(ab, low, high):
    """The rows of a matrix from its diagonals, with room for what elimination with pivots adds."""
    n = ab.shape[1]
    rows = np.zeros((n, 2 * low + high + 1), float_type(ab.dtype))
    for i in range(n):
        for j in range(max(0, i - low), min(n, i + high + 1)):
            # element (i, j) stands in column j - i + low of its row
            rows[i, j - i + low] = ab[high + i - j, j]
    return rows


def solve_banded(l_and_u, ab, b):
    """The solution of a system whose diagonals are given, by elimination with pivots."""
    low, high = l_and_u
    diagonals = np.asarray(ab)
    right = np.asarray(b)
    n = diagonals.shape[1]
    rows = _banded(diagonals, low, high)
    wide = rows.shape[1]
    columns = right.size // max(n, 1)
    x = np.reshape(right.astype(rows.dtype), (n, columns)).copy()
    # each row begins at the column that is eliminated next
    for k in range(n):
        best = k
        for i in range(k + 1, min(n, k + low + 1)):
            if abs(rows[i, k - i + low]) > abs(rows[best, k - best + low]):
                best = i
        if rows[best, k - best + low] == 0:
            raise np.linalg.LinAlgError("singular matrix")
        if best != k:
            for j in range(k, min(n, k + low + high + 1)):
                held = rows[k, j - k + low]
                rows[k, j - k + low] = rows[best, j - best + low] if j - best + low < wide else 0.0
                if j - best + low < wide:
                    rows[best, j - best + low] = held
            for m in range(columns):
                other = x[k, m]
                x[k, m] = x[best, m]
                x[best, m] = other
        for i in range(k + 1, min(n, k + low + 1)):
            factor = rows[i, k - i + low] / rows[k, low]
            for j in range(k + 1, min(n, k + low + high + 1)):
                rows[i, j - i + low] -= factor * rows[k, j - k + low]
            for m in range(columns):
                x[i, m] -= factor * x[k, m]
    for back in range(n):
        k = n - 1 - back
        for m in range(columns):
            total = x[k, m]
            for j in range(k + 1, min(n, k + low + high + 1)):
                total -= rows[k, j - k + low] * x[j, m]
            x[k, m] = total / rows[k, low]
    return np.reshape(x, right.shape)


def solveh_banded(ab, b, overwrite_ab=False, overwrite_b=False, lower=False):
    """The solution of a symmetric positive definite system of which one half of the diagonals is given."""
    diagonals = np.asarray(ab)
    right = np.asarray(b)
    band = diagonals.shape[0] - 1
    n = diagonals.shape[1]
    columns = right.size // max(n, 1)
    # the lower triangular factor, element (i, j) in (i - j, j)
    factor = np.zeros((band + 1, n), float_type(diagonals.dtype))
    for j in range(n):
        for i in range(j, min(n, j + band + 1)):
            total = diagonals[i - j, j] if lower else diagonals[band - (i - j), i]
            for k in range(max(0, i - band), j):
                total -= factor[i - k, k] * factor[j - k, k]
            if i == j:
                if not total > 0:
                    raise np.linalg.LinAlgError("the matrix is not positive definite")
                factor[0, j] = np.sqrt(total)
            else:
                factor[i - j, j] = total / factor[0, j]
    x = np.reshape(right.astype(factor.dtype), (n, columns)).copy()
    for i in range(n):
        for m in range(columns):
            total = x[i, m]
            for k in range(max(0, i - band), i):
                total -= factor[i - k, k] * x[k, m]
            x[i, m] = total / factor[0, i]
    for back in range(n):
        i = n - 1 - back
        for m in range(columns):
            total = x[i, m]
            for k in range(i + 1, min(n, i + band + 1)):
                total -= factor[k - i, i] * x[k, m]
            x[i, m] = total / factor[0, i]
    return np.reshape(x, right.shape)


def solve_sylvester(a, b, q):
    """The solution `x` of `a @ x + x @ b == q`, by a system of as many unknowns as `x` has."""
    first = np.asarray(a)
    second = np.asarray(b)
    m = first.shape[0]
    n = second.shape[0]
    whole = np.kron(first, np.eye(n)) + np.kron(np.eye(m), second.T)
    return np.reshape(np.linalg.solve(whole, np.ravel(np.asarray(q))), (m, n))


def solve_continuous_lyapunov(a, q):
    """The solution `x` of `a @ x + x @ a.T == q`."""
    matrix = np.asarray(a)
    return solve_sylvester(matrix, matrix.T, q)


def solve_discrete_lyapunov(a, q, method=None):
    """The solution `x` of `a @ x @ a.T - x + q == 0`."""
    matrix = np.asarray(a)
    n = matrix.shape[0]
    whole = np.eye(n * n) - np.kron(matrix, matrix)
    return np.reshape(np.linalg.solve(whole, np.ravel(np.asarray(q))), (n, n))


def orth_polar(a, side="right"):
    """The polar decomposition of a matrix: its orthonormal and its positive semidefinite factor."""
    u, s, vt = linalg_calls.svd(a, False)
    turned = np.dot(u, vt)
    if side == "right":
        return turned, np.dot(vt.T * s, vt)
    return turned, np.dot(u * s, u.T)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        function.__name__: function
        for function in (
            *(block_diag, cho_factor, cho_solve, cholesky, circulant, companion, det, eig, eigh),
            *(eigvals, eigvalsh, hankel, inv),
            *(khatri_rao, lstsq, matmul_toeplitz, norm, pinv, qr, solve, solve_banded, solve_circulant),
            *(solve_continuous_lyapunov, solve_discrete_lyapunov, solve_sylvester, solve_toeplitz, solve_triangular),
            *(solveh_banded, svd, svdvals, toeplitz),
        )
    },
    "polar": orth_polar,
}
