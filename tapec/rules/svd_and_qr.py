"""Tangents and adjoints of decompositions, as `linalg` has those of other whole-array operations.

Sources:
  Townsend  J. Townsend, "Differentiating the singular value decomposition", technical report, 2016
  Walter    S. F. Walter, L. Lehmann, "Algorithmic differentiation of linear algebra functions with application in
            optimum experimental design", arXiv:1001.1654, 2010
"""

from __future__ import annotations

import numpy as np

from tapec.rules.arrays_norms import unit_of


def _least_gap(w):
    """How far values are apart, at least, that are told from each other: the gap has two digits or more.

    Which vectors belong to closer ones is not told, and a quotient by their gap would be one of two roundings.
    """
    count = w.shape[0]
    return 100 * count * np.finfo(w.dtype).eps * max(abs(w[0]), abs(w[count - 1]))


def over_gaps(w, m):
    """`m[i, j] / (w[j] - w[i])`, and 0 on the diagonal and wherever `m` is 0.

    It is nan where two values are one to rounding.
    """
    count = m.shape[0]
    out = np.zeros(m.shape, m.dtype)
    if count > 0:
        least = _least_gap(w)
        for i in range(count):
            for j in range(count):
                if i != j and m[i, j] != 0:
                    gap = w[j] - w[i]
                    out[i, j] = m[i, j] / gap if abs(gap) > least else np.nan
    return out


def _over_gaps_of_squares(s, m):
    """`m[i, j] / (s[j]**2 - s[i]**2)`, as `over_gaps`: squares of small values may be one where these are not."""
    count = m.shape[0]
    sums = np.ones(m.shape, m.dtype)
    for i in range(count):
        for j in range(count):
            if s[i] + s[j] > 0:
                sums[i, j] = s[i] + s[j]
    return over_gaps(s, m / sums)


def _over_values(m, s):
    """The columns of `m` over singular values; nan, where `m` is not 0, over one that is 0 to rounding."""
    out = np.zeros(m.shape, m.dtype)
    if s.shape[0] > 0:
        least = _least_gap(s)
        for k in range(s.shape[0]):
            for i in range(m.shape[0]):
                if m[i, k] != 0:
                    out[i, k] = m[i, k] / s[k] if s[k] > least else np.nan
    return out


def _relative(s):
    """Singular values in units of the largest one, and that unit: squares of them are in the range of their type."""
    unit = s.dtype.type(1)
    if s.shape[0] > 0 and s[0] > 0:
        unit = s[0]
    return s / unit, unit


def thin_svd_change(y, rest, left_pairs, right_pairs):
    """What changes in `u, s, vt` where `u_k s vt + u s_k vt + u s vt_k` is `rest`.

    left_pairs, right_pairs  minus what `u' u_k` and `vt vt_k'` and their transposes add up to; None for zero, as of
                             tangents
    """
    u, s, vt = y
    inner = np.dot(np.dot(u.T, rest), vt.T)
    if left_pairs is not None:
        inner = inner + 0.5 * (left_pairs * s + s[:, None] * right_pairs)
    s_dot = np.empty(s.shape, s.dtype)
    for k in range(s.shape[0]):
        s_dot[k] = inner[k, k]
    r, unit = _relative(s)
    inner = inner / unit
    left = _over_gaps_of_squares(r, inner * r + r[:, None] * inner.T)
    right = _over_gaps_of_squares(r, r[:, None] * inner + inner.T * r)
    if left_pairs is not None:
        left, right = left - 0.5 * left_pairs, right - 0.5 * right_pairs
    u_dot = np.dot(u, left)
    if rest.shape[0] > s.shape[0]:
        moved = np.dot(rest, vt.T)
        u_dot = u_dot + _over_values(moved - np.dot(u, np.dot(u.T, moved)), s)
    vt_dot = np.dot(right.T, vt)
    if rest.shape[1] > s.shape[0]:
        moved = np.dot(u.T, rest)
        vt_dot = vt_dot + _over_values((moved - np.dot(np.dot(moved, vt.T), vt)).T, s).T
    return u_dot, s_dot, vt_dot


def thin_svd_tangent(y, a, a_dot):
    return thin_svd_change(y, a_dot, None, None)


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
        inner += _over_gaps_of_squares(r, turned - turned.T) * r / unit
        if a.shape[0] > count:
            a_bar += np.dot(_over_values(u_bar - np.dot(u, turned), s), vt)
    if vt_bar is not None:
        turned = np.dot(vt, vt_bar.T)
        inner += r[:, None] * _over_gaps_of_squares(r, turned - turned.T) / unit
        if a.shape[1] > count:
            a_bar += np.dot(u, _over_values((vt_bar - np.dot(turned.T, vt)).T, s).T)
    a_bar += np.dot(np.dot(u, inner), vt)


def _below(m):
    """The part below the diagonal."""
    out = np.zeros(m.shape, m.dtype)
    for i in range(m.shape[0]):
        for j in range(i):
            out[i, j] = m[i, j]
    return out


def thin_qr_change(y, rest, pairs):
    """What changes in `q, r` where `q_k r + q r_k` is `rest`, and `q' q_k` and its transpose add up to minus `pairs`.

    Without `pairs` to zero, as tangents do.
    """
    q, r = y
    # reciprocals of small numbers are out of range
    unit = unit_of(r)
    small = r / unit
    scaled = np.linalg.solve(small.T, rest.T).T
    inner = np.dot(q.T, scaled)
    if pairs is None:
        below = _below(inner)
        turn = below - below.T
        return (np.dot(q, turn - inner) + scaled) / unit, np.dot(inner - turn, small)
    half = 0.5 * unit * pairs
    below = _below(inner + half)
    turn = below - below.T - half
    return (np.dot(q, turn - inner) + scaled) / unit, np.dot(inner - turn, small)


def thin_qr_tangent(y, a, a_dot):
    return thin_qr_change(y, a_dot, None)


def thin_qr_adjoint(y, a, y_bar, a_bar):
    q, r = y
    q_bar, r_bar = y_bar
    unit = unit_of(r)
    small = r / unit
    inner = np.zeros(r.shape, r.dtype)
    if r_bar is not None:
        inner += np.dot(small, r_bar.T)
    if q_bar is not None:
        inner -= np.dot(q_bar.T, q) / unit
    below = _below(inner)
    both = below + below.T
    for k in range(r.shape[0]):
        both[k, k] = inner[k, k]
    seed = np.dot(q, both)
    if q_bar is not None:
        seed = seed + q_bar / unit
    a_bar += np.linalg.solve(small, seed.T).T
