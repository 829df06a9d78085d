"""Tangents and adjoints of eigenvalues and eigenvectors of general matrices, as `linalg` has those of others.

Vectors have the length 1, and of each the largest element is real, as LAPACK makes them: so have their derivatives.
A complex matrix is its real part and its imaginary part; that of a real matrix is None, or not there.

Source: M. B. Giles, "An extended collection of matrix derivative results", report NA-08/01, Oxford, 2008, section 3.
"""

from __future__ import annotations

import numpy as np


def _times(a_re, a_im, b_re, b_im):
    """The parts of a product."""
    return np.dot(a_re, b_re) - np.dot(a_im, b_im), np.dot(a_re, b_im) + np.dot(a_im, b_re)


def _inverse(re, im):
    """The parts of the inverse of the vectors: nan where two are one to rounding, so that it has no digits."""
    n = re.shape[0]
    whole = np.empty((2 * n, 2 * n), re.dtype)
    whole[:n, :n] = re
    whole[n:, n:] = re
    whole[:n, n:] = -im
    whole[n:, :n] = im
    found = np.linalg.inv(whole)
    limit = 1.0 / (100 * n * np.finfo(re.dtype).eps)
    unit = re.dtype.type(1)
    if n > 0 and not np.max(np.abs(found)) < limit:
        unit = re.dtype.type(np.nan)
    found = found * unit
    return found[:n, :n], found[n:, :n]


def _over_gaps(w_re, w_im, re, im):
    """`m[i, j] / (w[j] - w[i])`, and 0 on the diagonal and wherever `m` is 0; nan for values that are one."""
    n = re.shape[0]
    out_re = np.zeros(re.shape, re.dtype)
    out_im = np.zeros(re.shape, re.dtype)
    largest = w_re.dtype.type(0)
    for k in range(n):
        largest = max(largest, abs(w_re[k]), abs(w_im[k]))
    least = 100 * n * np.finfo(w_re.dtype).eps * largest
    for i in range(n):
        for j in range(n):
            if i != j and (re[i, j] != 0 or im[i, j] != 0):
                x = w_re[j] - w_re[i]
                y = w_im[j] - w_im[i]
                if max(abs(x), abs(y)) > least:
                    size = x * x + y * y
                    out_re[i, j] = (re[i, j] * x + im[i, j] * y) / size
                    out_im[i, j] = (im[i, j] * x - re[i, j] * y) / size
                else:
                    out_re[i, j] = np.nan
                    out_im[i, j] = np.nan
    return out_re, out_im


def _real_element(re, im, k):
    """The place of the largest element of a vector, which is real."""
    best = 0
    for i in range(re.shape[0]):
        if im[i, k] == 0 and (im[best, k] != 0 or abs(re[i, k]) > abs(re[best, k])):
            best = i
    return best


def _tangent(y, re_dot, im_dot):
    w_re, w_im, v_re, v_im = y
    inv_re, inv_im = _inverse(v_re, v_im)
    moved_re, moved_im = _times(re_dot, im_dot, v_re, v_im)
    inner_re, inner_im = _times(inv_re, inv_im, moved_re, moved_im)
    w_re_dot = np.empty(w_re.shape, w_re.dtype)
    w_im_dot = np.empty(w_re.shape, w_re.dtype)
    for k in range(w_re.shape[0]):
        w_re_dot[k] = inner_re[k, k]
        w_im_dot[k] = inner_im[k, k]
    turn_re, turn_im = _over_gaps(w_re, w_im, inner_re, inner_im)
    u_re, u_im = _times(v_re, v_im, turn_re, turn_im)
    for k in range(w_re.shape[0]):
        at = _real_element(v_re, v_im, k)
        longer = w_re.dtype.type(0)
        for i in range(w_re.shape[0]):
            longer += v_re[i, k] * u_re[i, k] + v_im[i, k] * u_im[i, k]
        turned = u_im[at, k] / v_re[at, k]
        for i in range(w_re.shape[0]):
            u_re[i, k] -= longer * v_re[i, k] - turned * v_im[i, k]
            u_im[i, k] -= longer * v_im[i, k] + turned * v_re[i, k]
    return w_re_dot, w_im_dot, u_re, u_im


def _adjoint(y, y_bar):
    """The parts of the adjoint of the matrix."""
    w_re, w_im, v_re, v_im = y
    w_re_bar, w_im_bar, v_re_bar, v_im_bar = y_bar
    n = w_re.shape[0]
    inner_re = np.zeros((n, n), w_re.dtype)
    inner_im = np.zeros((n, n), w_re.dtype)
    if v_re_bar is not None or v_im_bar is not None:
        u_re = np.zeros((n, n), w_re.dtype)
        u_im = np.zeros((n, n), w_re.dtype)
        if v_re_bar is not None:
            u_re += v_re_bar
        if v_im_bar is not None:
            u_im += v_im_bar
        for k in range(n):
            at = _real_element(v_re, v_im, k)
            longer = w_re.dtype.type(0)
            turned = w_re.dtype.type(0)
            for i in range(n):
                longer += u_re[i, k] * v_re[i, k] + u_im[i, k] * v_im[i, k]
                turned += u_im[i, k] * v_re[i, k] - u_re[i, k] * v_im[i, k]
            for i in range(n):
                u_re[i, k] -= longer * v_re[i, k]
                u_im[i, k] -= longer * v_im[i, k]
            u_im[at, k] -= turned / v_re[at, k]
        moved_re, moved_im = _times(v_re.T, -v_im.T, u_re, u_im)
        # the conjugate of a gap is the gap of the conjugates
        found_re, found_im = _over_gaps(w_re, -w_im, moved_re, moved_im)
        inner_re += found_re
        inner_im += found_im
    for k in range(n):
        if w_re_bar is not None:
            inner_re[k, k] += w_re_bar[k]
        if w_im_bar is not None:
            inner_im[k, k] += w_im_bar[k]
    inv_re, inv_im = _inverse(v_re, v_im)
    left_re, left_im = _times(inv_re.T, -inv_im.T, inner_re, inner_im)
    return _times(left_re, left_im, v_re.T, -v_im.T)


def eigen_tangent(y, a, a_dot):
    return _tangent(y, a_dot, np.zeros(a.shape, a.dtype))


def eigen_adjoint(y, a, y_bar, a_bar):
    re, _ = _adjoint(y, y_bar)
    a_bar += re


def eigen_of_parts_tangent(y, re, im, re_dot, im_dot):
    if re_dot is None:
        return _tangent(y, np.zeros(re.shape, re.dtype), im_dot)
    if im_dot is None:
        return _tangent(y, re_dot, np.zeros(re.shape, re.dtype))
    return _tangent(y, re_dot, im_dot)


def eigen_of_parts_adjoint(y, re, im, y_bar, re_bar, im_bar):
    re_found, im_found = _adjoint(y, y_bar)
    if re_bar is not None:
        re_bar += re_found
    if im_bar is not None:
        im_bar += im_found
