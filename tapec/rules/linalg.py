"""Tangents and adjoints of whole-array operations.

A tangent `NAME_tangent(y, *args, *arg_dots)` returns `y_dot`; the tangent of an inactive argument is
None.  An adjoint `NAME_adjoint(y, *args, y_bar, *arg_bars)` adds to the adjoints in place; that of an
inactive argument is None.  Operations with several results have tuples for `y`, `y_dot` and `y_bar`,
where an entry of `y_bar` that nothing depends on is None.  All of it is code that is differentiated
again for higher orders.

Sources:
  Giles    M. B. Giles, "Collected matrix derivative results for forward and reverse mode
           algorithmic differentiation", Advances in Automatic Differentiation, Springer, 2008
  Murray   I. Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527, 2016
  Golub    G. H. Golub, V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least
           squares problems whose variables separate", SIAM J. Numer. Anal. 10 (1973) 413-432
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tapec_runtime
from tapec.rules.arrays_common import common_dtype
from tapec.rules.arrays_norms import unit_of
from tapec.rules.eigen_rules import (
    eigen_adjoint,
    eigen_of_parts_adjoint,
    eigen_of_parts_tangent,
    eigen_tangent,
)
from tapec.rules.factorised_systems import (
    factorised_adjoint,
    factorised_lower_adjoint,
    factorised_lower_tangent,
    factorised_tangent,
    solved_adjoint,
    solved_tangent,
    solved_transposed_adjoint,
    solved_transposed_tangent,
)
from tapec.rules.fourier_rules import (
    dft_adjoint,
    dft_tangent,
    real_dft_adjoint,
    real_dft_tangent,
    real_inverse_adjoint,
    real_inverse_tangent,
)
from tapec.rules.scipy_sparse import sparse_solved_adjoint, sparse_solved_tangent
from tapec.rules.svd_and_qr import (
    over_gaps,
    thin_qr_adjoint,
    thin_qr_tangent,
    thin_svd_adjoint,
    thin_svd_tangent,
)


@dataclass(frozen=True)
class Primitive:
    """A whole-array operation with hand-written derivatives.

    name     dotted name of the function, such as "np.linalg.solve"
    params   its arguments
    tangent  directional derivative: (y, *args, *arg_dots) -> y_dot
    adjoint  adds to the adjoints of the arguments: (y, *args, y_bar, *arg_bars) -> None
    note     what a user should know
    source   where the formulas come from
    integers  the places of arrays of integers, which stay as they are; others are converted to one type of floats
    """

    name: str
    params: tuple[str, ...]
    tangent: Callable[..., Any]
    adjoint: Callable[..., None]
    note: str
    source: str
    integers: frozenset[int] = frozenset()


def dot_tangent(y, a, b, a_dot, b_dot):
    if a_dot is None:
        return np.dot(a, b_dot)
    if b_dot is None:
        return np.dot(a_dot, b)
    return np.dot(a_dot, b) + np.dot(a, b_dot)


def dot_adjoint(y, a, b, y_bar, a_bar, b_bar):
    if a_bar is not None:
        if a.ndim == 2 and b.ndim == 2:
            a_bar += np.dot(y_bar, b.T)
        elif a.ndim == 2:
            for i in range(a.shape[0]):
                seed = y_bar[i]
                for j in range(a.shape[1]):
                    a_bar[i, j] += seed * b[j]
        elif b.ndim == 2:
            a_bar += np.dot(b, y_bar)
        else:
            for k in range(a.shape[0]):
                a_bar[k] += y_bar * b[k]
    if b_bar is not None:
        if a.ndim == 2:
            b_bar += np.dot(a.T, y_bar)
        elif b.ndim == 2:
            for i in range(b.shape[0]):
                factor = a[i]
                for j in range(b.shape[1]):
                    b_bar[i, j] += factor * y_bar[j]
        else:
            for k in range(b.shape[0]):
                b_bar[k] += y_bar * a[k]


def solve_tangent(y, a, b, a_dot, b_dot):
    if a_dot is None:
        return np.linalg.solve(a, b_dot)
    if b_dot is None:
        return np.linalg.solve(a, -np.dot(a_dot, y))
    return np.linalg.solve(a, b_dot - np.dot(a_dot, y))


def solve_adjoint(y, a, b, y_bar, a_bar, b_bar):
    seed = np.linalg.solve(a.T, y_bar)
    if b_bar is not None:
        b_bar += seed
    if a_bar is not None:
        if y.ndim == 1:
            for i in range(a.shape[0]):
                factor = seed[i]
                for j in range(a.shape[1]):
                    a_bar[i, j] -= factor * y[j]
        else:
            a_bar -= np.dot(seed, y.T)


def inv_tangent(y, a, a_dot):
    return -np.dot(np.dot(y, a_dot), y)


def inv_adjoint(y, a, y_bar, a_bar):
    a_bar -= np.dot(np.dot(y.T, y_bar), y.T)


def _relative_change(a, a_dot):
    """Trace of `inv(a) @ a_dot`: the derivative of log |det a|."""
    change = np.linalg.solve(a, a_dot)
    total = a.dtype.type(0)
    for k in range(a.shape[0]):
        total += change[k, k]
    return total


def _add_inverse(a, factor, a_bar):
    """`a_bar += factor * inv(a).T`."""
    inverse = np.linalg.inv(a)
    a_bar += factor * inverse.T


def _cofactors(a):
    """The derivatives of the determinant, each the determinant of a minor: what is left of a singular matrix."""
    count = a.shape[0]
    out = np.ones(a.shape, a.dtype)
    if count > 1:
        minor = np.empty((count - 1, count - 1), a.dtype)
        for i in range(count):
            for j in range(count):
                for k in range(count - 1):
                    for m in range(count - 1):
                        minor[k, m] = a[k + (k >= i), m + (m >= j)]
                sign = 1 - 2 * ((i + j) % 2)
                out[i, j] = sign * np.linalg.det(minor)
    return out


def _is_in_range(y, a):
    """Whether the determinant of a matrix has all its digits, so that its derivative is a multiple of it."""
    size = abs(y)
    return np.finfo(a.dtype).tiny < size and size < np.inf


def _scaled_cofactors(a):
    """The same of a matrix whose determinant is 0 or out of the range of its type."""
    largest = a.dtype.type(0)
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            largest = max(largest, abs(a[i, j]))
    if largest == 0 or largest == np.inf:
        return _cofactors(a)
    unit = a / largest
    y = a.dtype.type(np.linalg.det(unit))
    out = y * np.linalg.inv(unit).T if y != 0 else _cofactors(unit)
    for _ in range(a.shape[0] - 1):
        out = out * largest
    return out


def det_tangent(y, a, a_dot):
    if _is_in_range(y, a):
        return y * _relative_change(a, a_dot)
    return np.sum(_scaled_cofactors(a) * a_dot)


def det_adjoint(y, a, y_bar, a_bar):
    if _is_in_range(y, a):
        _add_inverse(a, y_bar * y, a_bar)
    else:
        a_bar += y_bar * _scaled_cofactors(a)


def slogdet_tangent(y, a, a_dot):
    return 0.0, _relative_change(a, a_dot)


def slogdet_adjoint(y, a, y_bar, a_bar):
    if y_bar[1] is not None:
        _add_inverse(a, y_bar[1], a_bar)


def symmetric(a):
    """The symmetric matrix that has the lower triangle of `a`."""
    out = np.empty(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(i):
            out[i, j] = a[i, j]
            out[j, i] = a[i, j]
        out[i, i] = a[i, i]
    return out


def _add_symmetric(s, a_bar):
    """Adjoint of `symmetric`: `s` is the adjoint of the whole matrix."""
    for i in range(s.shape[0]):
        for j in range(i):
            a_bar[i, j] += s[i, j] + s[j, i]
        a_bar[i, i] += s[i, i]


def _lower_half(a):
    """The lower triangle with half of the diagonal: Murray's function Phi."""
    out = np.zeros(a.shape, a.dtype)
    half = a.dtype.type(0.5)
    for i in range(a.shape[0]):
        for j in range(i):
            out[i, j] = a[i, j]
        out[i, i] = half * a[i, i]
    return out


def _triangle(a):
    """The lower triangle."""
    out = np.zeros(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(i + 1):
            out[i, j] = a[i, j]
    return out


def cholesky_tangent(y, a, a_dot):
    factors = tapec_runtime.factorised_lower(y)
    inner = tapec_runtime.solved(factors, tapec_runtime.solved(factors, symmetric(a_dot)).T)
    return np.dot(y, _lower_half(inner))


def cholesky_adjoint(y, a, y_bar, a_bar):
    _add_symmetric(tapec_runtime.cholesky_seed(y, y_bar), a_bar)


def cholesky_seed_tangent(y, lower, seed, lower_dot, seed_dot):
    # y = l^-T p l^-1, with p = phi(l^T s): phi takes half of the diagonal, and nothing above it
    factors = tapec_runtime.factorised_lower(lower)
    if lower_dot is None:
        inner = _lower_half(np.dot(_triangle(lower).T, _triangle(seed_dot)))
        right = tapec_runtime.solved_transposed(factors, inner.T).T
        return tapec_runtime.solved_transposed(factors, right)
    change = _triangle(lower_dot)
    inner = np.dot(change.T, _triangle(seed))
    if seed_dot is not None:
        inner = inner + np.dot(_triangle(lower).T, _triangle(seed_dot))
    right = tapec_runtime.solved_transposed(factors, _lower_half(inner).T).T
    left = tapec_runtime.solved_transposed(factors, right - np.dot(change.T, y))
    return left - tapec_runtime.solved_transposed(factors, np.dot(y, change).T).T


def cholesky_seed_adjoint(y, lower, seed, y_bar, lower_bar, seed_bar):
    factors = tapec_runtime.factorised_lower(lower)
    inner = _lower_half(tapec_runtime.solved(factors, tapec_runtime.solved(factors, y_bar.T).T))
    if seed_bar is not None:
        seed_bar += _triangle(np.dot(_triangle(lower), inner))
    if lower_bar is not None:
        both = np.dot(y, y_bar.T) + np.dot(y.T, y_bar)
        lower_bar += _triangle(np.dot(_triangle(seed), inner.T) - tapec_runtime.solved(factors, both.T).T)


def eigh_tangent(y, a, a_dot):
    w, v = y
    inner = np.dot(v.T, np.dot(symmetric(a_dot), v))
    w_dot = np.empty(w.shape, w.dtype)
    for k in range(w.shape[0]):
        w_dot[k] = inner[k, k]
    return w_dot, np.dot(v, over_gaps(w, inner))


def eigh_adjoint(y, a, y_bar, a_bar):
    w, v = y
    w_bar, v_bar = y_bar
    if v_bar is None:
        inner = np.zeros(a.shape, a.dtype)
    else:
        inner = over_gaps(w, np.dot(v.T, v_bar))
    if w_bar is not None:
        for k in range(w.shape[0]):
            inner[k, k] += w_bar[k]
    _add_symmetric(np.dot(v, np.dot(inner, v.T)), a_bar)


def pinv_tangent(y, a, a_dot):
    # gram = y y', and the residual projections eye - a y and eye - y a
    rows = -np.dot(a, y)
    columns = -np.dot(y, a)
    for k in range(a.shape[0]):
        rows[k, k] += 1
    for k in range(a.shape[1]):
        columns[k, k] += 1
    size = unit_of(y)
    unit = y / size
    seed = a_dot.T * size
    left = np.dot(np.dot(unit, unit.T), np.dot(seed, rows)) * size
    right = np.dot(np.dot(columns, seed), np.dot(unit.T, unit)) * size
    return left + right - np.dot(np.dot(y, a_dot), y)


def pseudo_inverse_tangent(y, a, rcond, a_dot, rcond_dot):
    return pinv_tangent(y, a, a_dot)


def pseudo_inverse_adjoint(y, a, rcond, y_bar, a_bar, rcond_bar):
    if a_bar is not None:
        pinv_adjoint(y, a, y_bar, a_bar)


def pinv_adjoint(y, a, y_bar, a_bar):
    rows = -np.dot(a, y)
    columns = -np.dot(y, a)
    for k in range(a.shape[0]):
        rows[k, k] += 1
    for k in range(a.shape[1]):
        columns[k, k] += 1
    size = unit_of(y)
    unit = y / size
    seed = y_bar.T * size
    a_bar += np.dot(rows, np.dot(seed, np.dot(unit, unit.T))) * size
    a_bar += np.dot(np.dot(unit.T, unit), np.dot(seed, columns)) * size
    a_bar -= np.dot(np.dot(y.T, y_bar), y.T)


_GILES = "Giles 2008, section 2"
_FACTORS = "for systems: its tangent and adjoint are those of the matrix"
_EQUAL = "vectors of values that are equal to rounding have no derivative: it is nan there"
_LOWER = "reads the lower triangle alone, as NumPy and Numba do: the derivative belongs to those elements"

PRIMITIVES: dict[str, Primitive] = {
    primitive.name: primitive
    for primitive in (
        Primitive("np.dot", ("a", "b"), dot_tangent, dot_adjoint, "vectors and matrices; also `@`", _GILES),
        Primitive("np.linalg.solve", ("a", "b"), solve_tangent, solve_adjoint, "", _GILES),
        Primitive("np.linalg.inv", ("a",), inv_tangent, inv_adjoint, "", _GILES),
        Primitive("np.linalg.det", ("a",), det_tangent, det_adjoint, "of a singular matrix, the cofactors", _GILES),
        Primitive(
            "np.linalg.slogdet",
            ("a",),
            slogdet_tangent,
            slogdet_adjoint,
            "the sign has derivative 0; a singular matrix raises LinAlgError",
            _GILES,
        ),
        Primitive("np.linalg.cholesky", ("a",), cholesky_tangent, cholesky_adjoint, _LOWER, "Murray 2016, section 3"),
        Primitive(
            "tapec_runtime.cholesky_seed",
            ("lower", "seed"),
            cholesky_seed_tangent,
            cholesky_seed_adjoint,
            "",
            "Murray 2016, section 3",
        ),
        Primitive(
            "np.linalg.eigh",
            ("a",),
            eigh_tangent,
            eigh_adjoint,
            _LOWER + "; vectors of eigenvalues that are equal to rounding have no derivative: it is nan there",
            "Giles 2008, section 3.1",
        ),
        Primitive(
            "np.linalg.pinv",
            ("a",),
            pinv_tangent,
            pinv_adjoint,
            "where the rank does not change",
            "Golub & Pereyra 1973, theorem 4.3",
        ),
        Primitive(
            "tapec_runtime.pseudo_inverse",
            ("a", "rcond"),
            pseudo_inverse_tangent,
            pseudo_inverse_adjoint,
            "",
            "Golub & Pereyra 1973, theorem 4.3",
        ),
        Primitive("tapec_runtime.thin_svd", ("a",), thin_svd_tangent, thin_svd_adjoint, _EQUAL, "Townsend 2016"),
        Primitive("tapec_runtime.thin_qr", ("a",), thin_qr_tangent, thin_qr_adjoint, "", "Walter & Lehmann 2010"),
        Primitive("tapec_runtime.dft", ("re", "im", "sign"), dft_tangent, dft_adjoint, "", ""),
        Primitive("tapec_runtime.real_dft", ("x",), real_dft_tangent, real_dft_adjoint, "", ""),
        Primitive("tapec_runtime.real_inverse", ("re", "im", "n"), real_inverse_tangent, real_inverse_adjoint, "", ""),
        Primitive("tapec_runtime.factorised", ("a",), factorised_tangent, factorised_adjoint, _FACTORS, ""),
        Primitive(
            "tapec_runtime.factorised_lower",
            ("a",),
            factorised_lower_tangent,
            factorised_lower_adjoint,
            _FACTORS,
            "",
        ),
        Primitive("tapec_runtime.eigen", ("a",), eigen_tangent, eigen_adjoint, "", "Giles 2008, section 3"),
        Primitive(
            "tapec_runtime.eigen_of_parts",
            ("re", "im"),
            eigen_of_parts_tangent,
            eigen_of_parts_adjoint,
            "",
            "Giles 2008, section 3",
        ),
        Primitive("tapec_runtime.solved", ("factors", "b"), solved_tangent, solved_adjoint, "", _GILES),
        Primitive(
            "tapec_runtime.solved_transposed",
            ("factors", "b"),
            solved_transposed_tangent,
            solved_transposed_adjoint,
            "",
            _GILES,
        ),
        Primitive(
            "tapec_runtime.sparse_solved",
            ("data", "indices", "indptr", "b", "transposed"),
            sparse_solved_tangent,
            sparse_solved_adjoint,
            "",
            _GILES,
            integers=frozenset((1, 2)),
        ),
    )
}


def _real_form(re, im, dtype):
    """The real matrix that does to stacked parts what a complex one does to vectors; its inverse has the same form."""
    rows, columns = re.shape
    whole = np.empty((2 * rows, 2 * columns), dtype)
    whole[:rows, :columns] = re
    whole[rows:, columns:] = re
    whole[:rows, columns:] = -im
    whole[rows:, :columns] = im
    return whole


def complex_solve(a_re, a_im, b_re, b_im):
    """The parts of the solution of a complex system."""
    dtype = common_dtype(a_re.dtype, b_re.dtype)
    x = np.linalg.solve(_real_form(a_re, a_im, dtype), np.concatenate((b_re, b_im)).astype(dtype))
    return x[: a_re.shape[0]], x[a_re.shape[0] :]


def complex_inv(re, im):
    """The parts of the inverse of a complex matrix."""
    x = np.linalg.inv(_real_form(re, im, re.dtype))
    n = re.shape[0]
    return x[:n, :n], x[n:, :n]
