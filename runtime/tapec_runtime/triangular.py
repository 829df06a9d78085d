"""Adjoints of factors as `np.linalg.cholesky` returns them, by the inverse of the factor.

I. Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527, 2016, section 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# triangles that are inverted in loops; larger ones are put together from them by products
_BLOCK = 32

_FLAGS: dict[str, Any] = {"cache": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}


@njit(**_FLAGS)
def cholesky_seed(lower: Any, seed: Any) -> Any:
    """The adjoint of the whole matrix `lower @ lower.T`, where that of its factor is `seed`.

    lower    (n, n), float64 or float32, of which the lower triangle is read
    seed     (n, n), of the same type, of which the lower triangle is read
    returns  (n, n), `l^-T p l^-1` with `p` the lower triangle of `l^T seed` and half of its diagonal

    Of a seed on the diagonal alone, as logarithms of determinants have it, `p` is diagonal, too.

    >>> cholesky_seed(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    array([[0.25 , 0.   ],
           [0.   , 0.125]])
    """
    n = lower.shape[0]
    half = lower.dtype.type(0.5)
    inverse = _inverted(lower)
    right = np.empty((n, n), lower.dtype)
    if _is_diagonal(seed):
        for i in range(n):
            factor = half * lower[i, i] * seed[i, i]
            for j in range(n):
                right[i, j] = factor * inverse[i, j]
        return np.dot(inverse.T, right)
    clean = np.zeros((n, n), lower.dtype)
    for i in range(n):
        for j in range(i + 1):
            clean[i, j] = lower[i, j]
            right[i, j] = seed[i, j]
        for j in range(i + 1, n):
            right[i, j] = 0
    middle = np.dot(clean.T, right)
    for i in range(n):
        middle[i, i] *= half
        for j in range(i + 1, n):
            middle[i, j] = 0
    return np.dot(inverse.T, np.dot(middle, inverse))


@njit(cache=True)
def _is_diagonal(seed: Any) -> bool:
    """Whether nothing but zeros is below the diagonal."""
    for i in range(seed.shape[0]):
        for j in range(i):
            if seed[i, j] != 0:
                return False
    return True


@njit(**_FLAGS)
def _inverted(lower: Any) -> Any:
    """The inverse of a lower triangle."""
    n = lower.shape[0]
    out = np.zeros((n, n), lower.dtype)
    for first in range(0, n, _BLOCK):
        for i in range(first, min(first + _BLOCK, n)):
            inverse = 1 / lower[i, i]
            for k in range(first, i):
                factor = lower[i, k] * inverse
                for j in range(first, k + 1):
                    out[i, j] -= factor * out[k, j]
            out[i, i] = inverse
    width = _BLOCK
    while width < n:
        for first in range(0, n - width, 2 * width):
            middle, last = first + width, min(first + 2 * width, n)
            left = np.ascontiguousarray(out[first:middle, first:middle])
            below = np.dot(np.ascontiguousarray(lower[middle:last, first:middle]), left)
            out[middle:last, first:middle] = -np.dot(np.ascontiguousarray(out[middle:last, middle:last]), below)
        width *= 2
    return out
