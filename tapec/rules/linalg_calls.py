"""Linear algebra as NumPy calls it: with keywords, of stacks of matrices, and functions made of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tapec_runtime
from tapec.rules.arrays_common import AXES, complex_of, flat, float_type, lane_size, within
from tapec.rules.arrays_norms import norm
from tapec.rules.arrays_product import cross, matmul, outer, vecdot
from tapec.rules.arrays_select import diagonal, trace
from tapec.rules.arrays_shape import broadcast_shapes, matrix_transpose
from tapec.rules.least_squares import lstsq, pinv


def _turned(a, uplo):
    """A matrix whose lower triangle is the one that is read."""
    if uplo == "U" or uplo == "u":
        return np.swapaxes(a, a.ndim - 2, a.ndim - 1)
    if uplo != "L" and uplo != "l":
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return a


def eigh(a, UPLO="L"):
    """Eigenvalues and eigenvectors of a symmetric matrix, of which one triangle is read."""
    matrix = _turned(np.asarray(a), UPLO)
    if matrix.ndim == 2:
        return np.linalg.eigh(matrix)
    return _two_of_each(np.linalg.eigh, matrix, matrix.shape[:-1], matrix.shape)


def eigvalsh(a, UPLO="L"):
    """Eigenvalues of a symmetric matrix, of which one triangle is read."""
    w, _ = eigh(a, UPLO)
    return w


def cholesky(a, /, *, upper=False):
    """The triangular factor of a positive definite matrix, of which the same triangle is read."""
    matrix = np.asarray(a)
    if upper:
        return matrix_transpose(_of_each(np.linalg.cholesky, matrix_transpose(matrix)))
    return _of_each(np.linalg.cholesky, matrix)


def _of_each(function, a):
    """A matrix of the same shape for each matrix of a stack."""
    if a.ndim == 2:
        return function(a)
    out = np.empty(a.shape, float_type(a.dtype))
    for i in np.ndindex(a.shape[:-2]):
        out[i] = function(a[i])
    return out


def _two_of_each(function, a, first, second):
    kind = float_type(a.dtype)
    one = np.empty(first, kind)
    two = np.empty(second, kind)
    for i in np.ndindex(a.shape[:-2]):
        found = function(a[i])
        one[i] = found[0]
        two[i] = found[1]
    return one, two


def stacked_inv(a):
    return _of_each(np.linalg.inv, a)


def stacked_cholesky(a):
    return _of_each(np.linalg.cholesky, a)


def stacked_eigh(a):
    return eigh(a)


def stacked_det(a):
    out = np.empty(a.shape[:-2], float_type(a.dtype))
    for i in np.ndindex(a.shape[:-2]):
        out[i] = np.linalg.det(a[i])
    return out


def stacked_slogdet(a):
    return _two_of_each(np.linalg.slogdet, a, a.shape[:-2], a.shape[:-2])


def stacked_pinv(a):
    return pinv(a)


def _own(index, extents):
    place: tuple[Any, ...] = ()
    skipped = len(index) - len(extents)
    for k in AXES[: len(extents)]:
        place = place + ((index[skipped + k] if extents[k] != 1 else 0),)
    return place


def stacked_solve(a, b):
    """Solutions for each matrix of one stack and each vector, or matrix of another stack, that is broadcast to it."""
    kind = float_type((a[..., 0, 0] + b[..., 0]).dtype)
    if b.ndim == 1:
        out = np.empty(a.shape[:-1], kind)
        for i in np.ndindex(a.shape[:-2]):
            out[i] = np.linalg.solve(a[i], b)
        return out
    outer_shape = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    whole = np.empty(outer_shape + b.shape[-2:], kind)
    for i in np.ndindex(outer_shape):
        whole[i] = np.linalg.solve(a[_own(i, a.shape[:-2])], b[_own(i, b.shape[:-2])])
    return whole


def _eigen(a):
    """The parts of eigenvalues and eigenvectors of a matrix."""
    if np.iscomplexobj(a):
        return tapec_runtime.eigen_of_parts(np.real(a).copy(), np.imag(a).copy())
    return tapec_runtime.eigen(a)


def eig(a):
    """Eigenvalues and eigenvectors of a general matrix, which are complex always."""
    matrix = np.asarray(a)
    if matrix.ndim == 2:
        w_re, w_im, v_re, v_im = _eigen(matrix)
        return complex_of(w_re, w_im), complex_of(v_re, v_im)
    kind = float_type(np.real(matrix).dtype)
    values_re = np.empty(matrix.shape[:-1], kind)
    values_im = np.empty(matrix.shape[:-1], kind)
    vectors_re = np.empty(matrix.shape, kind)
    vectors_im = np.empty(matrix.shape, kind)
    for i in np.ndindex(matrix.shape[:-2]):
        w_re, w_im, v_re, v_im = _eigen(matrix[i])
        values_re[i] = w_re
        values_im[i] = w_im
        vectors_re[i] = v_re
        vectors_im[i] = v_im
    return complex_of(values_re, values_im), complex_of(vectors_re, vectors_im)


def eigvals(a):
    """Eigenvalues of a general matrix, which are complex always."""
    w, _ = eig(a)
    return w


def svdvals(x, /):
    """Singular values of a matrix, or of each of a stack, the largest first."""
    matrix = np.asarray(x)
    if matrix.ndim == 2:
        _, s, _ = tapec_runtime.thin_svd(matrix)
        return s
    out = np.empty(matrix.shape[:-2] + (min(matrix.shape[-2], matrix.shape[-1]),), float_type(matrix.dtype))
    for i in np.ndindex(matrix.shape[:-2]):
        _, s, _ = tapec_runtime.thin_svd(matrix[i])
        out[i] = s
    return out


def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    """Singular values and vectors; `full_matrices` of a matrix that is not square would add vectors that are any."""
    matrix = np.asarray(a)
    if not compute_uv:
        return svdvals(matrix)
    if full_matrices and matrix.shape[-2] != matrix.shape[-1]:
        raise tapec_runtime.Unsupported("np.linalg.svd of a matrix that is not square needs full_matrices=False")
    if matrix.ndim == 2:
        return tapec_runtime.thin_svd(matrix)
    count = min(matrix.shape[-2], matrix.shape[-1])
    kind = float_type(matrix.dtype)
    u = np.empty(matrix.shape[:-1] + (count,), kind)
    s = np.empty(matrix.shape[:-2] + (count,), kind)
    vt = np.empty(matrix.shape[:-2] + (count, matrix.shape[-1]), kind)
    for i in np.ndindex(matrix.shape[:-2]):
        one, two, three = tapec_runtime.thin_svd(matrix[i])
        u[i] = one
        s[i] = two
        vt[i] = three
    return u, s, vt


def qr(a, mode="reduced"):
    """The factors of a matrix with orthonormal columns and an upper triangular one; columns of full rank."""
    matrix = np.asarray(a)
    if matrix.ndim != 2:
        raise ValueError("np.linalg.qr of stacks is not supported")
    if mode == "complete" and matrix.shape[0] > matrix.shape[1]:
        raise tapec_runtime.Unsupported("np.linalg.qr in mode 'complete' adds columns that are any: take 'reduced'")
    if mode != "reduced" and mode != "complete" and mode != "r":
        raise ValueError("the mode of np.linalg.qr must be 'reduced', 'complete' or 'r'")
    rows = matrix.shape[0]
    if rows >= matrix.shape[1]:
        q, r = tapec_runtime.thin_qr(matrix)
    else:
        q, first = tapec_runtime.thin_qr(matrix[:, :rows])
        r = np.concatenate((first, np.dot(q.T, matrix[:, rows:])), 1)
    if mode == "r":
        return r
    return q, r


def cond(x, p=None):
    """The condition number: the norm of a matrix times that of its inverse."""
    matrix = np.asarray(x)
    if p is None or p == 2:
        s = svdvals(matrix)
        return s[..., 0] / s[..., -1]
    if p == -2:
        s = svdvals(matrix)
        return s[..., -1] / s[..., 0]
    return norm(matrix, p, (-2, -1)) * norm(_of_each(np.linalg.inv, matrix), p, (-2, -1))


def matrix_power(a, n):
    """A square matrix multiplied by itself; a negative power inverts it first."""
    base = np.linalg.inv(a) if n < 0 else np.asarray(a)
    times = abs(n)
    if base.ndim > 2:
        powers = np.empty(base.shape, base.dtype)
        for i in np.ndindex(base.shape[:-2]):
            powers[i] = _power(base[i], times)
        return powers
    return _power(base, times)


def _power(base, times):
    result = np.eye(base.shape[0], base.shape[1], 0, base.dtype)
    for _ in range(times):
        result[...] = np.dot(result, base)
    return result


def multi_dot(arrays):
    """The product of several matrices; the first and the last one may be vectors."""
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    if np.ndim(arrays[len(arrays) - 1]) == 1:
        result = arrays[len(arrays) - 1]
        for k in AXES[1 : len(arrays)]:
            result = arrays[len(arrays) - 1 - k] @ result
        return result
    if len(arrays) == 3 and np.ndim(arrays[0]) == 2:
        first, second, third = arrays
        left = first.shape[0] * second.shape[1] * (first.shape[1] + third.shape[1])
        right = first.shape[1] * third.shape[1] * (second.shape[1] + first.shape[0])
        return (first @ second) @ third if left < right else first @ (second @ third)
    result = arrays[0]
    for k in AXES[1 : len(arrays)]:
        result = result @ arrays[k]
    return result


def tensorsolve(a, b, axes=None):
    """The array `x` with `np.tensordot(a, x, x.ndim) == b`."""
    matrix = np.asarray(a)
    right = np.asarray(b)
    if axes is not None:
        for axis in axes:
            matrix = np.moveaxis(matrix, axis, -1)
    shape = matrix.shape[right.ndim :]
    size = lane_size(shape)
    if size != right.size:
        raise ValueError("Input arrays must satisfy prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])")
    return np.reshape(np.linalg.solve(np.reshape(matrix, (size, size)), np.ravel(right)), shape)


def tensorinv(a, ind=2):
    """The inverse of an array as an operation on arrays, whose first `ind` axes are those of what it gives."""
    array = np.asarray(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    rows = array.shape[:ind]
    columns = array.shape[ind:]
    matrix = np.reshape(array, (lane_size(rows), lane_size(columns)))
    return np.reshape(np.linalg.inv(matrix), columns + rows)


def linalg_trace(x, /, *, offset=0, dtype=None):
    """Sums of diagonals of matrices along the last two axes."""
    return trace(x, offset, -2, -1, dtype)


def linalg_diagonal(x, /, *, offset=0):
    """Diagonals of matrices along the last two axes."""
    return diagonal(x, offset, -2, -1)


def linalg_outer(x1, x2, /):
    """All products of an element of one vector and one of the other."""
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ValueError("Input arrays must be one-dimensional")
    return outer(x1, x2)


def linalg_cross(x1, x2, /, *, axis=-1):
    """Vector products of 3-vectors along an axis."""
    return cross(x1, x2, axis=axis)


def linalg_matmul(x1, x2, /):
    """The product of matrices."""
    return matmul(x1, x2)


def linalg_vecdot(x1, x2, /, *, axis=-1):
    """Products of vectors along an axis."""
    return vecdot(x1, x2, axis)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """Norm of all elements, or of vectors along an axis or several."""
    array = np.asarray(x)
    if axis is None:
        found = norm(flat(array), ord)
        return np.full((1,) * array.ndim, found) if keepdims else found
    if isinstance(axis, tuple):
        places: tuple[Any, ...] = ()
        for one in axis:
            places = places + (within(one, array.ndim),)
        rest: tuple[Any, ...] = ()
        shape: tuple[Any, ...] = ()
        for k in AXES[: array.ndim]:
            rest = rest if k in places else rest + (k,)
            shape = shape + ((1,) if k in places else (array.shape[k],))
        moved = np.transpose(array, rest + places)
        outside = moved.shape[: len(rest)]
        lanes = np.reshape(moved, outside + (lane_size(moved.shape[len(rest) :]),))
        found = norm(lanes, ord, -1)
        return np.reshape(found, shape) if keepdims else found
    return norm(array, ord, axis, keepdims=keepdims)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """Norm of a matrix, or of each of a stack."""
    return norm(x, ord, (-2, -1), keepdims=keepdims)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "linalg.cond": cond,
    "linalg.cross": linalg_cross,
    "linalg.diagonal": linalg_diagonal,
    "linalg.eig": eig,
    "linalg.eigvals": eigvals,
    "linalg.eigvalsh": eigvalsh,
    "linalg.lstsq": lstsq,
    "linalg.matmul": linalg_matmul,
    "linalg.matrix_norm": matrix_norm,
    "linalg.matrix_power": matrix_power,
    "linalg.matrix_transpose": matrix_transpose,
    "linalg.multi_dot": multi_dot,
    "linalg.outer": linalg_outer,
    "linalg.qr": qr,
    "linalg.svd": svd,
    "linalg.svdvals": svdvals,
    "linalg.tensorinv": tensorinv,
    "linalg.tensorsolve": tensorsolve,
    "linalg.trace": linalg_trace,
    "linalg.vecdot": linalg_vecdot,
    "linalg.vector_norm": vector_norm,
}

FORMS: dict[str, Callable[..., Any]] = {
    "np.linalg.cholesky": cholesky,
    "np.linalg.eigh": eigh,
    "np.linalg.pinv": pinv,
}

# by the dotted name of a function of matrices, what does the same to stacks of them
STACKS: dict[str, Callable[..., Any]] = {
    "np.linalg.cholesky": stacked_cholesky,
    "np.linalg.det": stacked_det,
    "np.linalg.eigh": stacked_eigh,
    "np.linalg.inv": stacked_inv,
    "np.linalg.pinv": stacked_pinv,
    "np.linalg.slogdet": stacked_slogdet,
    "np.linalg.solve": stacked_solve,
}
