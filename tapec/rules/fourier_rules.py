"""Tangents and adjoints of discrete Fourier transforms, as `linalg` has those of other whole-array operations.

Transforms are linear: the tangent is the transform of the tangent, the adjoint that of the transposed matrix.
"""

from __future__ import annotations

import numpy as np

import tapec_runtime


def _or_zeros(part, like):
    return np.zeros(like.shape, like.dtype) if part is None else part


def dft_tangent(y, re, im, sign, re_dot, im_dot, sign_dot):
    return tapec_runtime.dft(_or_zeros(re_dot, re), _or_zeros(im_dot, im), sign)


def dft_adjoint(y, re, im, sign, y_bar, re_bar, im_bar, sign_bar):
    re_seed, im_seed = tapec_runtime.dft(_or_zeros(y_bar[0], re), _or_zeros(y_bar[1], im), -sign)
    if re_bar is not None:
        re_bar += re_seed
    if im_bar is not None:
        im_bar += im_seed


def real_dft_tangent(y, x, x_dot):
    return tapec_runtime.real_dft(x_dot)


def _weighted(part, n, factor):
    """The terms of half a spectrum that stand for two, by a factor."""
    out = part.copy()
    out[..., 1 : (n + 1) // 2] *= factor
    return out


def real_dft_adjoint(y, x, y_bar, x_bar):
    n = x.shape[-1]
    re = _weighted(_or_zeros(y_bar[0], y[0]), n, 0.5)
    im = _weighted(_or_zeros(y_bar[1], y[1]), n, 0.5)
    x_bar += tapec_runtime.real_inverse(re, im, n)


def real_inverse_tangent(y, re, im, n, re_dot, im_dot, n_dot):
    return tapec_runtime.real_inverse(_or_zeros(re_dot, re), _or_zeros(im_dot, im), n)


def real_inverse_adjoint(y, re, im, n, y_bar, re_bar, im_bar, n_bar):
    re_seed, im_seed = tapec_runtime.real_dft(y_bar)
    if re_bar is not None:
        re_bar += _weighted(re_seed, n, 2.0)
    if im_bar is not None:
        im_bar += _weighted(im_seed, n, 2.0)
