"""Tangents of linear systems in several directions at once: one solve with all of them as right sides.

A tangent `NAME_lanes(y, *args, *arg_dots, lanes)` returns `y_dot`; the last axis of what ends in `_dot` is that of the
directions, as many as `lanes`.  Formulas: Giles, see `linalg`; of a determinant, Jacobi's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tapec_runtime


def factorised_lanes(y, a, a_dot, lanes):
    out = np.zeros((y.shape[0], y.shape[1], lanes), a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for lane in range(lanes):
                out[i, j, lane] = a_dot[i, j, lane]
    return out


def factorised_lower_lanes(y, a, a_dot, lanes):
    out = np.zeros((y.shape[0], y.shape[1], lanes), a.dtype)
    for i in range(a.shape[0]):
        for j in range(i + 1):
            for lane in range(lanes):
                out[i, j, lane] = a_dot[i, j, lane]
    return out


def solved_lanes(y, factors, b, factors_dot, b_dot, lanes):
    return _apart(tapec_runtime.solved(factors, _right_sides(y, b, factors_dot, b_dot, lanes)), b, lanes)


def solved_transposed_lanes(y, factors, b, factors_dot, b_dot, lanes):
    turned = None if factors_dot is None else np.transpose(factors_dot[:-1], (1, 0, 2))
    return _apart(tapec_runtime.solved_transposed(factors, _right_sides(y, b, turned, b_dot, lanes)), b, lanes)


def solve_lanes(y, a, b, a_dot, b_dot, lanes):
    return _apart(np.linalg.solve(a, _right_sides(y, b, a_dot, b_dot, lanes)), b, lanes)


def _right_sides(y, b, a_dot, b_dot, lanes):
    """`b_dot - a_dot @ y`, the directions of each column side by side."""
    n = b.shape[0]
    if b.ndim == 1:
        out = np.zeros((n, lanes), b.dtype)
        for i in range(n):
            if b_dot is not None:
                for lane in range(lanes):
                    out[i, lane] = b_dot[i, lane]
            if a_dot is not None:
                for k in range(n):
                    factor = y[k]
                    for lane in range(lanes):
                        out[i, lane] -= factor * a_dot[i, k, lane]
        return out
    several = np.zeros((n, b.shape[1], lanes), b.dtype)
    for i in range(n):
        if b_dot is not None:
            for j in range(b.shape[1]):
                for lane in range(lanes):
                    several[i, j, lane] = b_dot[i, j, lane]
        if a_dot is not None:
            for k in range(n):
                for j in range(b.shape[1]):
                    factor = y[k, j]
                    for lane in range(lanes):
                        several[i, j, lane] -= factor * a_dot[i, k, lane]
    return several.reshape(n, b.shape[1] * lanes)


def _apart(sides, b, lanes):
    """Solutions with an axis for the directions."""
    n = b.shape[0]
    if b.ndim == 1:
        out = np.empty((n, lanes), b.dtype)
        for i in range(n):
            for lane in range(lanes):
                out[i, lane] = sides[i, lane]
        return out
    several = np.empty((n, b.shape[1], lanes), b.dtype)
    for i in range(n):
        for j in range(b.shape[1]):
            for lane in range(lanes):
                several[i, j, lane] = sides[i, j * lanes + lane]
    return several


def inv_lanes(y, a, a_dot, lanes):
    n = a.shape[0]
    changes = np.empty((n, n, lanes), a.dtype)
    for i in range(n):
        for j in range(n):
            for lane in range(lanes):
                changes[i, j, lane] = a_dot[i, j, lane]
    moved = np.dot(y, changes.reshape(n, n * lanes))
    out = np.zeros((n, n, lanes), a.dtype)
    for i in range(n):
        for k in range(n):
            for j in range(n):
                factor = y[k, j]
                for lane in range(lanes):
                    out[i, j, lane] -= factor * moved[i, k * lanes + lane]
    return out


def slogdet_lanes(y, a, a_dot, lanes):
    inverse = np.linalg.inv(a)
    out = np.zeros(lanes, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            slope = inverse[j, i]
            for lane in range(lanes):
                out[lane] += slope * a_dot[i, j, lane]
    return np.zeros(lanes, a.dtype), out


# by the names of the operations, whose other rules `linalg` has
IN_LANES: dict[str, Callable[..., Any]] = {
    "np.linalg.solve": solve_lanes,
    "np.linalg.inv": inv_lanes,
    "np.linalg.slogdet": slogdet_lanes,
    "tapec_runtime.factorised": factorised_lanes,
    "tapec_runtime.factorised_lower": factorised_lower_lanes,
    "tapec_runtime.solved": solved_lanes,
    "tapec_runtime.solved_transposed": solved_transposed_lanes,
}
