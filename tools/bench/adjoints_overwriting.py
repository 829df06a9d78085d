"""Adjoints of the programs in `tests/programs/overwriting.py`, written by hand."""

from __future__ import annotations

import numpy as np


def shallow_water(height0, flow_x0, flow_y0, dt, steps):
    """Every point gathers in one pass what its four neighbours give it; all states are kept.

    A step does not touch the edges of the flows, which are those of the state before the last one, as their adjoints
    are: these wait in `across` and `beside` while the inner points gather, beside edges of zeros.
    """
    n, m = height0.shape
    h, u, v = np.zeros((steps + 1, n, m)), np.zeros((steps + 1, n, m)), np.zeros((steps + 1, n, m))
    for i in range(n):
        for j in range(m):
            h[0, i, j], u[0, i, j], v[0, i, j] = height0[i, j], flow_x0[i, j], flow_y0[i, j]
    for s in range(steps):
        a, b, c = h[s], u[s], v[s]
        a_new, b_new, c_new = h[s + 1], u[s + 1], v[s + 1]
        for i in range(n if s > 0 else 0):
            for j in range(m):
                b_new[i, j], c_new[i, j] = u[s - 1, i, j], v[s - 1, i, j]
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                along = b[i, j] * (b[i + 1, j] - b[i - 1, j]) + c[i, j] * (b[i, j + 1] - b[i, j - 1])
                athwart = b[i, j] * (c[i + 1, j] - c[i - 1, j]) + c[i, j] * (c[i, j + 1] - c[i, j - 1])
                outflow = b[i + 1, j] * a[i + 1, j] - b[i - 1, j] * a[i - 1, j]
                outflow += c[i, j + 1] * a[i, j + 1] - c[i, j - 1] * a[i, j - 1]
                b_new[i, j] = b[i, j] - 0.5 * dt * (9.81 * (a[i + 1, j] - a[i - 1, j]) + along)
                c_new[i, j] = c[i, j] - 0.5 * dt * (9.81 * (a[i, j + 1] - a[i, j - 1]) + athwart)
                a_new[i, j] = a[i, j] - 0.5 * dt * outflow
        for i in range(n):
            a_new[i, 0], a_new[i, m - 1] = a_new[i, 1], a_new[i, m - 2]
        for j in range(m):
            a_new[0, j], a_new[n - 1, j] = a_new[1, j], a_new[n - 2, j]
    energy = 0.0
    p, q, r = np.empty((n, m)), np.empty((n, m)), np.empty((n, m))
    p_old, q_old, r_old = np.zeros((n, m)), np.zeros((n, m)), np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            a_end, b_end, c_end = h[steps, i, j], u[steps, i, j], v[steps, i, j]
            square = b_end**2 + c_end**2
            energy += a_end * square + 9.81 * a_end**2
            p[i, j] = square + 19.62 * a_end
            q[i, j], r[i, j] = 2.0 * a_end * b_end, 2.0 * a_end * c_end
    across, beside = np.empty((4, m)), np.empty((4, n))
    k = 0.5 * dt
    for s in range(steps - 1, -1, -1):
        a, b, c = h[s], u[s], v[s]
        for j in range(m):
            p[n - 2, j] += p[n - 1, j]
            p[1, j] += p[0, j]
            across[0, j], across[1, j] = q[0, j], q[n - 1, j]
            across[2, j], across[3, j] = r[0, j], r[n - 1, j]
            p[0, j], q[0, j], r[0, j] = 0.0, 0.0, 0.0
            p[n - 1, j], q[n - 1, j], r[n - 1, j] = 0.0, 0.0, 0.0
        for i in range(n):
            p[i, m - 2] += p[i, m - 1]
            p[i, 1] += p[i, 0]
            beside[0, i], beside[1, i] = q[i, 0], q[i, m - 1]
            beside[2, i], beside[3, i] = r[i, 0], r[i, m - 1]
            p[i, 0], q[i, 0], r[i, 0] = 0.0, 0.0, 0.0
            p[i, m - 1], q[i, m - 1], r[i, m - 1] = 0.0, 0.0, 0.0
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                down, right = p[i - 1, j] - p[i + 1, j], p[i, j - 1] - p[i, j + 1]
                p_old[i, j] = p[i, j] - k * (
                    9.81 * (q[i - 1, j] - q[i + 1, j] + r[i, j - 1] - r[i, j + 1]) + b[i, j] * down + c[i, j] * right
                )
                q_old[i, j] = q[i, j] - k * (
                    a[i, j] * down
                    + b[i - 1, j] * q[i - 1, j]
                    - b[i + 1, j] * q[i + 1, j]
                    + c[i, j - 1] * q[i, j - 1]
                    - c[i, j + 1] * q[i, j + 1]
                    + q[i, j] * (b[i + 1, j] - b[i - 1, j])
                    + r[i, j] * (c[i + 1, j] - c[i - 1, j])
                )
                r_old[i, j] = r[i, j] - k * (
                    a[i, j] * right
                    + b[i - 1, j] * r[i - 1, j]
                    - b[i + 1, j] * r[i + 1, j]
                    + c[i, j - 1] * r[i, j - 1]
                    - c[i, j + 1] * r[i, j + 1]
                    + q[i, j] * (b[i, j + 1] - b[i, j - 1])
                    + r[i, j] * (c[i, j + 1] - c[i, j - 1])
                )
        for edge, inner, sign in ((0, 1, k), (n - 1, n - 2, -k)):
            for j in range(1, m - 1):
                p_old[edge, j] += sign * (9.81 * q[inner, j] + b[edge, j] * p[inner, j])
                q_old[edge, j] += sign * (a[edge, j] * p[inner, j] + b[inner, j] * q[inner, j])
                r_old[edge, j] += sign * b[inner, j] * r[inner, j]
        for edge, inner, sign in ((0, 1, k), (m - 1, m - 2, -k)):
            for i in range(1, n - 1):
                p_old[i, edge] += sign * (9.81 * r[i, inner] + c[i, edge] * p[i, inner])
                q_old[i, edge] += sign * c[i, inner] * q[i, inner]
                r_old[i, edge] += sign * (a[i, edge] * p[i, inner] + c[i, inner] * r[i, inner])
        for i in range(n):
            q[i, 0], q[i, m - 1] = beside[0, i], beside[1, i]
            r[i, 0], r[i, m - 1] = beside[2, i], beside[3, i]
        for j in range(m):
            q[0, j], q[n - 1, j] = across[0, j], across[1, j]
            r[0, j], r[n - 1, j] = across[2, j], across[3, j]
        p, q, r, p_old, q_old, r_old = p_old, q_old, r_old, p, q, r
    return energy, (p, q, r)
