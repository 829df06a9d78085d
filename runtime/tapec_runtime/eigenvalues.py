"""Eigenvalues and eigenvectors of general matrices, as real and imaginary parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload
from numba.np import linalg

_SQUARE = "Last 2 dimensions of the array must be square."
_FINITE = "Array must not contain infs or NaNs"
_CONVERGENCE = "Eigenvalues did not converge."


@njit(cache=True)
def eigen(a: Any) -> Any:
    """Eigenvalues and eigenvectors of a real matrix.

    a        (n, n), float64 or float32
    returns  the parts (n,) of the values, and the parts (n, n) of the vectors, which are columns, of the same type
    raises   LinAlgError for a matrix that is not square, or not finite

    >>> w_re, w_im, _, _ = eigen(np.array([[0.0, 1.0], [-4.0, 0.0]]))
    >>> w_im
    array([ 2., -2.])
    """
    n = a.shape[0]
    if a.shape[1] != n:
        raise np.linalg.LinAlgError(_SQUARE)
    if not np.all(np.isfinite(a)):
        raise np.linalg.LinAlgError(_FINITE)
    return _of_real(a)


@njit(cache=True)
def eigen_of_parts(re: Any, im: Any) -> Any:
    """The same of a complex matrix.

    re, im   (n, n), its parts
    """
    n = re.shape[0]
    if re.shape[1] != n:
        raise np.linalg.LinAlgError(_SQUARE)
    if not (np.all(np.isfinite(re)) and np.all(np.isfinite(im))):
        raise np.linalg.LinAlgError(_FINITE)
    w, v = np.linalg.eig(_whole(re, im))
    whole = np.ascontiguousarray(v)
    return w.real.copy(), w.imag.copy(), whole.real.copy(), whole.imag.copy()


def _of_real(a: Any) -> Any:
    w, v = np.linalg.eig(a)
    whole = np.ascontiguousarray(v)
    return w.real.copy(), w.imag.astype(a.dtype), whole.real.copy(), whole.imag.astype(a.dtype)


@overload(_of_real)
def _of_real_by_lapack(a: Any) -> Any:
    linalg.ensure_lapack()
    geev = linalg._LAPACK().numba_ez_rgeev(a.dtype)
    kind = ord(linalg.get_blas_kind(a.dtype, "eig"))
    without, with_ = ord("N"), ord("V")

    def call(a: Any) -> Any:
        n = a.shape[0]
        # columns of LAPACK's are rows here
        columns = a.T.copy()
        w_re, w_im = np.empty(n, a.dtype), np.zeros(n, a.dtype)
        left, rows = np.empty((n, 1), a.dtype), np.empty((n, n), a.dtype)
        v_re, v_im = np.zeros((n, n), a.dtype), np.zeros((n, n), a.dtype)
        if n > 0:
            data, first = (kind, without, with_, n, columns.ctypes, n), (w_re.ctypes, w_im.ctypes)
            if geev(*data, *first, left.ctypes, 1, rows.ctypes, n) > 0:
                raise ValueError(_CONVERGENCE)
        k = 0
        while k < n:
            # the vectors of two conjugate values are stored as the parts of the first one
            for i in range(n):
                v_re[i, k] = rows[k, i]
                if w_im[k] != 0:
                    v_im[i, k] = rows[k + 1, i]
                    v_re[i, k + 1] = rows[k, i]
                    v_im[i, k + 1] = -rows[k + 1, i]
            k += 2 if w_im[k] != 0 else 1
        # what is pointed to is kept until here
        linalg._dummy_liveness_func([columns.size, left.size, rows.size, w_re.size, w_im.size])
        return w_re, w_im, v_re, v_im

    return call


def _whole(re: Any, im: Any) -> Any:
    made = np.empty(re.shape, np.result_type(re.dtype, np.complex64))
    made.real, made.imag = re, im
    return made


@overload(_whole)
def _whole_of_parts(re: Any, im: Any) -> Any:
    kind = np.complex64 if str(re.dtype) == "float32" else np.complex128

    def make(re: Any, im: Any) -> Any:
        made = np.empty(re.shape, kind)
        for i in range(re.shape[0]):
            for j in range(re.shape[1]):
                made[i, j] = complex(re[i, j], im[i, j])
        return made

    return make
