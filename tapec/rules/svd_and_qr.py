"""Tangents and adjoints of decompositions, as `linalg` has those of other whole-array operations.

Sources:
  Townsend  J. Townsend, "Differentiating the singular value decomposition", technical report, 2016
  Walter    S. F. Walter, L. Lehmann, "Algorithmic differentiation of linear algebra functions with application in
            optimum experimental design", arXiv:1001.1654, 2010
"""

from __future__ import annotations

import numpy as np


def over_gaps(w, m):
    """`m[i, j] / (w[j] - w[i])`, and 0 on the diagonal and wherever `m` is 0.

    It is nan where two eigenvalues are one to rounding: which vectors belong to them is not told, and the quotient
    would be one of two roundings.
    """
    count = m.shape[0]
    out = np.zeros(m.shape, m.dtype)
    if count > 0:
        least = 4 * count * np.finfo(w.dtype).eps * max(abs(w[0]), abs(w[count - 1]))
        for i in range(count):
            for j in range(count):
                if i != j and m[i, j] != 0:
                    gap = w[j] - w[i]
                    out[i, j] = m[i, j] / gap if abs(gap) > least else np.nan
    return out


def _relative(s):
    """Singular values in units of the largest one, and that unit: squares of them are in the range of their type."""
    unit = s.dtype.type(1)
    if s.shape[0] > 0 and s[0] > 0:
        unit = s[0]
    return s / unit, unit


def thin_svd_tangent(y, a, a_dot):
    u, s, vt = y
    inner = np.dot(np.dot(u.T, a_dot), vt.T)
    s_dot = np.empty(s.shape, s.dtype)
    for k in range(s.shape[0]):
        s_dot[k] = inner[k, k]
    r, unit = _relative(s)
    inner = inner / unit
    left = over_gaps(r * r, inner * r + r[:, None] * inner.T)
    right = over_gaps(r * r, r[:, None] * inner + inner.T * r)
    u_dot = np.dot(u, left)
    if a.shape[0] > s.shape[0]:
        moved = np.dot(a_dot, vt.T)
        u_dot = u_dot + (moved - np.dot(u, np.dot(u.T, moved))) / s
    vt_dot = np.dot(right.T, vt)
    if a.shape[1] > s.shape[0]:
        moved = np.dot(u.T, a_dot)
        vt_dot = vt_dot + (moved - np.dot(np.dot(moved, vt.T), vt)) / s[:, None]
    return u_dot, s_dot, vt_dot


def thin_svd_adjoint(y, a, y_bar, a_bar):
    u, s, vt = y
    u_bar, s_bar, vt_bar = y_bar
    count = s.shape[0]
    r, unit = _relative(s)
    inner = np.zeros((count, count), s.dtype)
    if s_bar is not None:
        for k in range(count):
            inner[k, k] = s_bar[k]
    if u_bar is not None:
        turned = np.dot(u.T, u_bar)
        inner += over_gaps(r * r, turned - turned.T) * r / unit
        if a.shape[0] > count:
            a_bar += np.dot((u_bar - np.dot(u, turned)) / s, vt)
    if vt_bar is not None:
        turned = np.dot(vt, vt_bar.T)
        inner += r[:, None] * over_gaps(r * r, turned - turned.T) / unit
        if a.shape[1] > count:
            a_bar += np.dot(u / s, vt_bar - np.dot(turned.T, vt))
    a_bar += np.dot(np.dot(u, inner), vt)


def _below(m):
    """The part below the diagonal."""
    out = np.zeros(m.shape, m.dtype)
    for i in range(m.shape[0]):
        for j in range(i):
            out[i, j] = m[i, j]
    return out


def thin_qr_tangent(y, a, a_dot):
    q, r = y
    scaled = np.linalg.solve(r.T, a_dot.T).T
    inner = np.dot(q.T, scaled)
    below = _below(inner)
    turn = below - below.T
    return np.dot(q, turn - inner) + scaled, np.dot(inner - turn, r)


def thin_qr_adjoint(y, a, y_bar, a_bar):
    q, r = y
    q_bar, r_bar = y_bar
    inner = np.zeros(r.shape, r.dtype)
    if r_bar is not None:
        inner += np.dot(r, r_bar.T)
    if q_bar is not None:
        inner -= np.dot(q_bar.T, q)
    below = _below(inner)
    both = below + below.T
    for k in range(r.shape[0]):
        both[k, k] = inner[k, k]
    seed = np.dot(q, both)
    if q_bar is not None:
        seed = seed + q_bar
    a_bar += np.linalg.solve(r, seed.T).T
