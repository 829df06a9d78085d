"""Functions that SciPy writes in Python, as plain loops and NumPy's functions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import tapec_runtime
from tapec.rules import (
    arrays_fourier,
    cosine_transforms,
    scipy_image_places,
    scipy_integrate,
    scipy_linalg,
    scipy_lu,
    scipy_ndimage,
    scipy_quadrature,
    scipy_signal,
    scipy_special_calls,
)
from tapec.rules.arrays_common import stop_gradient


def _top(a, axis):
    """The largest elements, to take from all before an exponential; 0 where they are infinite."""
    top = stop_gradient(np.max(a, axis=axis, keepdims=True))
    return np.where(np.isfinite(top), top, 0.0)


def logsumexp(a, axis=None, b=None, keepdims=False):
    """The logarithm of the sum of exponentials, with weights `b`."""
    top = _top(a, axis)
    if b is None:
        terms = np.exp(a - top)
    else:
        terms = b * np.exp(a - top)
    found = np.log(np.sum(terms, axis=axis, keepdims=True)) + top
    if keepdims:
        return found
    return np.sum(found, axis=axis)


def softmax(x, axis=None):
    """Exponentials, divided by their sum."""
    terms = np.exp(x - _top(x, axis))
    return terms / np.sum(terms, axis=axis, keepdims=True)


def log_softmax(x, axis=None):
    """The logarithm of `softmax`."""
    moved = x - _top(x, axis)
    return moved - np.log(np.sum(np.exp(moved), axis=axis, keepdims=True))


def multigammaln(a, d):
    """The logarithm of the gamma function of a matrix of `d` rows, of numbers `a` (Muirhead 1982, theorem 2.1.12)."""
    found = 0.25 * d * (d - 1) * np.log(np.pi) + 0.0 * a
    for j in range(d):
        found = found + tapec_runtime.scipy_special.gammaln(a - 0.5 * j)
    return found


def _is_square(a):
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError("expected a square matrix")


def _size(a):
    """The largest sum of a column's absolute values, which nothing is differentiated by."""
    return stop_gradient(np.max(np.sum(np.abs(a), axis=0)))


def expm(A):
    """The exponential of matrices, by scaling and squaring (Higham, SIAM J. Matrix Anal. 26 (2005) 1179)."""
    if A.ndim == 2:
        return _exponential(A)
    out = np.empty(A.shape, A.dtype)
    for i in np.ndindex(A.shape[:-2]):
        out[i] = _exponential(A[i])
    return out


def _exponential(A):
    _is_square(A)
    squarings = 0
    size = _size(A)
    # beyond which the approximation is not exact to rounding
    while size > 5.371920351148152:
        size = size / 2.0
        squarings += 1
    x = A * 0.5**squarings
    one = np.eye(A.shape[0])
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    high = x6 @ (x6 + 16380.0 * x4 + 40840800.0 * x2)
    low = 33522128640.0 * x6 + 10559470521600.0 * x4 + 1187353796428800.0 * x2 + 32382376266240000.0 * one
    odd = x @ (high + low)
    high = x6 @ (182.0 * x6 + 960960.0 * x4 + 1323241920.0 * x2)
    low = 670442572800.0 * x6 + 129060195264000.0 * x4 + 7771770303897600.0 * x2 + 64764752532480000.0 * one
    even = high + low
    found = np.linalg.solve(even - odd, even + odd)
    for _ in range(squarings):
        found = found @ found
    return found


def cosm(A):
    """The cosine of a real matrix."""
    return np.real(_exponential(1j * A))


def sinm(A):
    """The sine of a real matrix."""
    return np.imag(_exponential(1j * A))


def tanm(A):
    """The tangent of a real matrix."""
    both = _exponential(1j * A)
    return np.linalg.solve(np.real(both), np.imag(both))


def coshm(A):
    """The hyperbolic cosine of a real matrix."""
    return 0.5 * (_exponential(A) + _exponential(-A))


def sinhm(A):
    """The hyperbolic sine of a real matrix."""
    return 0.5 * (_exponential(A) - _exponential(-A))


def tanhm(A):
    """The hyperbolic tangent of a real matrix."""
    return np.linalg.solve(coshm(A), sinhm(A))


def sqrtm(A):
    """The square root of a real matrix without eigenvalues on the negative axis, by Denman and Beavers' iteration.

    Higham, Functions of Matrices, section 6.3.
    """
    _is_square(A)
    root = A * 1.0
    inverse = np.eye(A.shape[0])
    for _ in range(60):
        before = root
        root = 0.5 * (before + np.linalg.inv(inverse))
        inverse = 0.5 * (inverse + np.linalg.inv(before))
        if _size(root - before) <= 1e-15 * _size(root):
            break
    return root


# Gauss and Legendre's points between 0 and 1, and their weights
_POINTS = np.polynomial.legendre.leggauss(9)
_PLACES, _WEIGHTS = 0.5 * (_POINTS[0] + 1.0), 0.5 * _POINTS[1]


def logm(A):
    """The logarithm of a real matrix without eigenvalues on the negative axis.

    By square roots and Pade's approximation: Higham, Functions of Matrices, sections 11.4 and 11.5.
    """
    _is_square(A)
    one = np.eye(A.shape[0])
    root = A * 1.0
    scale = 1.0
    while _size(root - one) > 0.25:
        root = sqrtm(root)
        scale = 2.0 * scale
    x = root - one
    found = np.zeros(A.shape)
    for k in range(len(_PLACES)):
        found = found + _WEIGHTS[k] * np.linalg.solve(one + _PLACES[k] * x, x)
    return scale * found


FUNCTIONS: dict[str, dict[str, Callable[..., Any]]] = {
    "scipy.special": {
        "log_softmax": log_softmax,
        "logsumexp": logsumexp,
        "multigammaln": multigammaln,
        "softmax": softmax,
        **scipy_special_calls.FUNCTIONS,
    },
    "scipy.fft": arrays_fourier.TRANSFORMS | cosine_transforms.FUNCTIONS,
    "scipy.linalg": {
        **{one.__name__: one for one in (coshm, cosm, expm, logm, sinhm, sinm, sqrtm, tanhm, tanm)},
        **scipy_linalg.FUNCTIONS,
        **scipy_lu.FUNCTIONS,
    },
    "scipy.integrate": scipy_integrate.FUNCTIONS | scipy_quadrature.FUNCTIONS,
    "scipy.signal": scipy_signal.FUNCTIONS,
    "scipy.ndimage": scipy_ndimage.FUNCTIONS | scipy_image_places.FUNCTIONS,
}


# keywords that change how a result is found, not which one
WITHOUT_EFFECT = frozenset(
    (
        *("check_finite", "lapack_driver", "lwork", "workers"),
        *("overwrite_a", "overwrite_ab", "overwrite_b", "overwrite_c", "overwrite_x"),
    )
)


def scipy_function(obj: Any) -> Callable[..., Any] | None:
    """The plain function of a function of SciPy's; None if it has none here."""
    name = getattr(obj, "__name__", "")
    for module, functions in FUNCTIONS.items():
        if name in functions and getattr(sys.modules.get(module), name, None) is obj:
            return functions[name]
    return None
