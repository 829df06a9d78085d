"""Decompositions of matrices without what does not belong to their columns or rows: C-contiguous factors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def thin_svd(a: Any) -> Any:
    """`np.linalg.svd(a, full_matrices=False)`: of a matrix (m, n), factors (m, k), (k,), (k, n) with k = min(m, n)."""
    u, s, vt = np.linalg.svd(a, False)
    return np.ascontiguousarray(u), s, np.ascontiguousarray(vt)


@njit(cache=True)
def thin_qr(a: Any) -> Any:
    """`np.linalg.qr(a)`: of a matrix (m, n), factors (m, k), (k, n) with k = min(m, n)."""
    q, r = np.linalg.qr(a)
    return np.ascontiguousarray(q), np.ascontiguousarray(r)


@njit(cache=True)
def pseudo_inverse(a: Any, rcond: float) -> Any:
    """`np.linalg.pinv(a, rcond)`: singular values below `rcond` times the largest one count as 0."""
    return np.ascontiguousarray(np.linalg.pinv(a, rcond))
