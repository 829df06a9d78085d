"""Matrices taken apart once for all systems that are solved with them, from the left and in transpose.

The factors of a matrix of n rows are an array of n + 1 rows.  The first n hold the factors L and U of LAPACK's `getrf`,
column by column: what is eliminated, and what an unknown is found from, stand in a row.  The last row holds the places
of the pivots; it begins with -1 where nothing was eliminated, since the matrix is triangular.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload
from numba.np import linalg

# below that, LAPACK takes longer to begin than loops take altogether
_SMALL = 24
# columns that are done with at once where there are as many right sides
_BLOCK = 32

_FLAGS: dict[str, Any] = {"cache": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}
_SQUARE = "Last 2 dimensions of the array must be square."
_SIZES = "Incompatible array sizes, system is not dimensionally valid."
_FINITE = "Array must not contain infs or NaNs."
_SINGULAR = "Matrix is singular to machine precision."


@njit(**_FLAGS)
def factorised(a: Any) -> Any:
    """The factors of a square matrix.

    a        (n, n), float64 or float32
    returns  (n + 1, n), of the same type; see the module
    raises   LinAlgError for a matrix that is singular, not square, or not finite

    >>> a = np.array([[0.0, 2.0], [4.0, 4.0]])
    >>> solved(factorised(a), np.array([2.0, 8.0]))
    array([1., 1.])
    """
    n = a.shape[0]
    if a.shape[1] != n:
        raise np.linalg.LinAlgError(_SQUARE)
    out = np.empty((n + 1, n), a.dtype)
    for i in range(n):
        for j in range(n):
            out[j, i] = a[i, j]
    if not _is_finite(out[:n]):
        raise np.linalg.LinAlgError(_FINITE)
    singular = _eliminate(out, n) if n <= _SMALL else _getrf(out, n)
    if singular:
        raise np.linalg.LinAlgError(_SINGULAR)
    return out


@njit(**_FLAGS)
def factorised_lower(a: Any) -> Any:
    """The factors of a matrix of which the lower triangle is read, as `np.linalg.cholesky` returns it.

    a        (n, n), float64 or float32
    returns  (n + 1, n), of the same type; see the module
    raises   LinAlgError for a matrix that is singular, not square, or not finite

    >>> a = np.array([[2.0, 0.0], [1.0, 4.0]])
    >>> solved(factorised_lower(a), np.array([2.0, 9.0]))
    array([1., 2.])
    """
    n = a.shape[0]
    if a.shape[1] != n:
        raise np.linalg.LinAlgError(_SQUARE)
    out = np.empty((n + 1, n), a.dtype)
    for i in range(n):
        if a[i, i] == 0:
            raise np.linalg.LinAlgError(_SINGULAR)
        for j in range(i + 1):
            out[j, i] = a[i, j]
        for j in range(i + 1, n):
            out[j, i] = 0
        out[n, i] = -1
    if not _is_finite(out[:n]):
        raise np.linalg.LinAlgError(_FINITE)
    for k in range(n):
        scale = 1 / out[k, k]
        for i in range(k + 1, n):
            out[k, i] *= scale
    return out


@njit(cache=True)
def _is_finite(rows: Any) -> bool:
    """Whether all elements of rows are finite: a number times zero is zero then, and nan otherwise."""
    for i in range(rows.shape[0]):
        total = rows.dtype.type(0)
        for j in range(rows.shape[1]):
            total += abs(rows[i, j] * 0)
        if total != 0:
            return False
    return True


@njit(**_FLAGS)
def _eliminate(out: Any, n: int) -> bool:
    """What `getrf` does, in loops; whether it meets a pivot of zero."""
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(out[k, i]) > abs(out[k, best]):
                best = i
        out[n, k] = best
        if out[k, best] == 0:
            return True
        if best != k:
            for j in range(n):
                out[j, k], out[j, best] = out[j, best], out[j, k]
        scale = 1 / out[k, k]
        for i in range(k + 1, n):
            out[k, i] *= scale
        for j in range(k + 1, n):
            factor = out[j, k]
            for i in range(k + 1, n):
                out[j, i] -= factor * out[k, i]
    return False


def _getrf(out: Any, n: int) -> bool:
    """LAPACK's `getrf`; whether it meets a pivot of zero."""
    return _eliminate(out, n)


@overload(_getrf)
def _getrf_of_lapack(out: Any, n: int) -> Any:
    linalg.ensure_lapack()
    getrf = linalg._LAPACK().numba_xxgetrf(out.dtype)
    kind = ord(linalg.get_blas_kind(out.dtype, "solve"))
    integer = linalg.F_INT_nptype

    def call(out: Any, n: int) -> bool:
        pivots = np.empty(n, integer)
        singular = getrf(kind, n, n, out.ctypes, n, pivots.ctypes) > 0
        for k in range(n):
            out[n, k] = pivots[k] - 1
        return singular

    return call


@njit(**_FLAGS)
def solved(factors: Any, b: Any) -> Any:
    """What the matrix takes to `b`.

    factors  (n + 1, n), the matrix's
    b        (n,) or (n, m), of the same type
    returns  of the shape of `b`; several right sides in Fortran's order
    raises   LinAlgError for right sides of another length, or that are not finite

    >>> solved(factorised(np.array([[2.0, 1.0], [0.0, 4.0]])), np.array([3.0, 4.0]))
    array([1., 1.])
    """
    rows = _rows_of(factors, b)
    _through(factors, rows)
    return rows[0] if b.ndim == 1 else rows.T


@njit(**_FLAGS)
def solved_transposed(factors: Any, b: Any) -> Any:
    """What the matrix in transpose takes to `b`.

    factors  (n + 1, n), the matrix's
    b        (n,) or (n, m), of the same type
    returns  of the shape of `b`; several right sides in Fortran's order
    raises   LinAlgError for right sides of another length, or that are not finite

    >>> solved_transposed(factorised(np.array([[2.0, 1.0], [0.0, 4.0]])), np.array([2.0, 5.0]))
    array([1., 1.])
    """
    rows = _rows_of(factors, b)
    _back(factors, rows)
    return rows[0] if b.ndim == 1 else rows.T


@njit(cache=True)
def _rows_of(factors: Any, b: Any) -> Any:
    """Right sides as rows of an array."""
    n = factors.shape[1]
    if b.shape[0] != n:
        raise np.linalg.LinAlgError(_SIZES)
    if b.ndim == 1:
        rows = np.empty((1, n), b.dtype)
        for i in range(n):
            rows[0, i] = b[i]
    else:
        rows = np.empty((b.shape[1], n), b.dtype)
        for i in range(n):
            for r in range(b.shape[1]):
                rows[r, i] = b[i, r]
    if not _is_finite(rows):
        raise np.linalg.LinAlgError(_FINITE)
    return rows


@njit(cache=True)
def _width(rows: Any) -> int:
    """How many unknowns are eliminated from all right sides before the others are looked at."""
    sides, n = rows.shape
    return _BLOCK if sides >= _BLOCK and n >= 2 * _BLOCK else max(n, 1)


@njit(**_FLAGS)
def _through(factors: Any, rows: Any) -> None:
    """Take each row for a right side, and make it the solution."""
    sides, n = rows.shape
    width = _width(rows)
    eliminated = n > 0 and factors[n, 0] >= 0
    if eliminated:
        for r in range(sides):
            for k in range(n):
                other = int(factors[n, k])
                rows[r, k], rows[r, other] = rows[r, other], rows[r, k]
    for first in range(0, n, width):
        last = min(first + width, n)
        for r in range(sides):
            _eliminate_below(factors, rows[r], first, last)
        if last < n:
            _subtract(rows, last, n, first, last, factors[first:last, last:])
    if not eliminated:
        for r in range(sides):
            for k in range(n):
                rows[r, k] /= factors[k, k]
        return
    for first in range((n - 1) // width * width, -1, -width):
        last = min(first + width, n)
        for r in range(sides):
            _eliminate_above(factors, rows[r], first, last)
        if first > 0:
            _subtract(rows, 0, first, first, last, factors[first:last, :first])


@njit(**_FLAGS)
def _back(factors: Any, rows: Any) -> None:
    """The same for the matrix in transpose."""
    sides, n = rows.shape
    width = _width(rows)
    eliminated = n > 0 and factors[n, 0] >= 0
    if not eliminated:
        for r in range(sides):
            for k in range(n):
                rows[r, k] /= factors[k, k]
    else:
        for first in range(0, n, width):
            last = min(first + width, n)
            if first > 0:
                _subtract(rows, first, last, 0, first, factors[first:last, :first].T)
            for r in range(sides):
                _find_by_those_before(factors, rows[r], first, last)
    for first in range((n - 1) // width * width, -1, -width):
        last = min(first + width, n)
        if last < n:
            _subtract(rows, first, last, last, n, factors[first:last, last:].T)
        for r in range(sides):
            _find_by_those_behind(factors, rows[r], first, last)
    if eliminated:
        for r in range(sides):
            for k in range(n - 1, -1, -1):
                other = int(factors[n, k])
                rows[r, k], rows[r, other] = rows[r, other], rows[r, k]


# Of the unknowns from `first` to `last`, four at a time: each pass over the others does as much as four would.


@njit(**_FLAGS)
def _eliminate_below(factors: Any, x: Any, first: int, last: int) -> None:
    """Solve for L, downwards."""
    k = first
    while k < last:
        stop = min(k + 4, last)
        for j in range(k, stop):
            for i in range(j + 1, stop):
                x[i] -= factors[j, i] * x[j]
        if stop < last:
            _subtract_four(factors, x, k, stop, last)
        k = stop


@njit(**_FLAGS)
def _eliminate_above(factors: Any, x: Any, first: int, last: int) -> None:
    """Solve for U, upwards."""
    stop = last
    while stop > first:
        k = max(stop - 4, first)
        for j in range(stop - 1, k - 1, -1):
            x[j] /= factors[j, j]
            for i in range(k, j):
                x[i] -= factors[j, i] * x[j]
        if k > first:
            _subtract_four(factors, x, k, first, k)
        stop = k


@njit(**_FLAGS)
def _subtract_four(factors: Any, x: Any, k: int, first: int, last: int) -> None:
    """Subtract what four unknowns from the `k`th on contribute to other equations."""
    one, two, three, four = x[k], x[k + 1], x[k + 2], x[k + 3]
    for i in range(first, last):
        x[i] -= (
            factors[k, i] * one + factors[k + 1, i] * two + (factors[k + 2, i] * three + factors[k + 3, i] * four)
        )


@njit(**_FLAGS)
def _find_by_those_before(factors: Any, x: Any, first: int, last: int) -> None:
    """Solve for U in transpose, downwards."""
    i = first
    while i < last:
        stop = min(i + 4, last)
        if stop == i + 4:
            _subtract_sums(factors, x, i, first, i)
        for j in range(i, stop):
            total = x[j]
            for k in range(i if stop == i + 4 else first, j):
                total -= factors[j, k] * x[k]
            x[j] = total / factors[j, j]
        i = stop


@njit(**_FLAGS)
def _find_by_those_behind(factors: Any, x: Any, first: int, last: int) -> None:
    """Solve for L in transpose, upwards."""
    stop = last
    while stop > first:
        i = max(stop - 4, first)
        if stop == i + 4:
            _subtract_sums(factors, x, i, stop, last)
        for j in range(stop - 1, i - 1, -1):
            total = x[j]
            for k in range(j + 1, stop if stop == i + 4 else last):
                total -= factors[j, k] * x[k]
            x[j] = total
        stop = i


@njit(**_FLAGS)
def _subtract_sums(factors: Any, x: Any, i: int, first: int, last: int) -> None:
    """Subtract from four equations, from the `i`th on, what other unknowns contribute to them."""
    one = two = three = four = x.dtype.type(0)
    for k in range(first, last):
        one += factors[i, k] * x[k]
        two += factors[i + 1, k] * x[k]
        three += factors[i + 2, k] * x[k]
        four += factors[i + 3, k] * x[k]
    x[i] -= one
    x[i + 1] -= two
    x[i + 2] -= three
    x[i + 3] -= four


@njit(**_FLAGS)
def _subtract(rows: Any, first: int, last: int, start: int, stop: int, factor: Any) -> None:
    """`rows[:, first:last] -= rows[:, start:stop] @ factor`."""
    product = np.dot(np.ascontiguousarray(rows[:, start:stop]), np.ascontiguousarray(factor))
    for r in range(rows.shape[0]):
        for i in range(last - first):
            rows[r, first + i] -= product[r, i]
