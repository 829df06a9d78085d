"""Adjoints of the kernels in `tests/programs/kernels.py`, written by hand."""

from __future__ import annotations

import math

import numpy as np


def covariance(data):
    """The means drop out: deviations sum to zero, so that only the products' factors count."""
    n, m = data.shape
    mean = np.zeros(m)
    for i in range(n):
        for j in range(m):
            mean[j] += data[i, j]
    for j in range(m):
        mean[j] /= n
    centred = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            centred[i, j] = data[i, j] - mean[j]
    cov = centred.T @ centred / (n - 1)
    total = 0.0
    for j in range(m):
        for k in range(m):
            total += cov[j, k] * cov[j, k]
    return total, (centred @ cov * (4.0 / (n - 1)),)


def product_chain(a, b, c, x):
    """Products with transposed views."""
    ab = a @ b
    product = ab @ c
    y = product @ x
    product_bar = np.outer(2.0 * y, x) + a
    ab_bar = product_bar @ c.T
    value = y @ y + np.sum(product * a)
    return value, (ab_bar @ b.T + product, a.T @ ab_bar, ab.T @ product_bar, product.T @ (2.0 * y))


def sparse_smoothing(values, columns, starts, x0, steps):
    """All iterates are kept, one row per step; the transposed matrix scatters."""
    n = starts.shape[0] - 1
    path = np.empty((steps + 1, n))
    path[0] = x0
    for t in range(steps):
        x, new = path[t], path[t + 1]
        for i in range(n):
            s = 0.0
            for p in range(starts[i], starts[i + 1]):
                s += values[p] * x[columns[p]]
            new[i] = 0.5 * (x[i] + s)
    total = 0.0
    x_bar = np.empty(n)
    for i in range(n):
        total += path[steps, i] * path[steps, i]
        x_bar[i] = 2.0 * path[steps, i]
    values_bar = np.zeros(values.shape[0])
    other = np.empty(n)
    for t in range(steps - 1, -1, -1):
        x = path[t]
        for i in range(n):
            other[i] = 0.5 * x_bar[i]
        for i in range(n):
            s_bar = 0.5 * x_bar[i]
            for p in range(starts[i], starts[i + 1]):
                values_bar[p] += s_bar * x[columns[p]]
                other[columns[p]] += s_bar * values[p]
        x_bar, other = other, x_bar
    return total, (values_bar, x_bar)


def recursive_filter(x, b, a, wanted):
    """The outputs are kept; backwards, the adjoints run through the same filter."""
    n = x.shape[0]
    y = np.empty(n + 2)
    y[0] = y[1] = 0.0
    error = 0.0
    x1, x2 = 0.0, 0.0
    for i in range(n):
        y[i + 2] = b[0] * x[i] + b[1] * x1 + b[2] * x2 - a[0] * y[i + 1] - a[1] * y[i]
        x2, x1 = x1, x[i]
        error += (y[i + 2] - wanted[i]) ** 2
    x_bar = np.empty(n)
    b0, b1, b2, a0, a1 = 0.0, 0.0, 0.0, 0.0, 0.0
    next1, next2 = 0.0, 0.0
    for i in range(n - 1, -1, -1):
        y_bar = 2.0 * (y[i + 2] - wanted[i]) - a[0] * next1 - a[1] * next2
        x_bar[i] = b[0] * y_bar + b[1] * next1 + b[2] * next2
        b0 += y_bar * x[i]
        b1 += next1 * x[i]
        b2 += next2 * x[i]
        a0 -= y_bar * y[i + 1]
        a1 -= y_bar * y[i]
        next2, next1 = next1, y_bar
    return error, (x_bar, np.array([b0, b1, b2]), np.array([a0, a1]))


def charge_deposit(positions, charges, cells):
    """The grid is filled, then read where it was filled."""
    grid = np.zeros(cells)
    for p in range(positions.shape[0]):
        at = positions[p] * cells
        cell = int(np.floor(at))
        share = at - cell
        grid[cell % cells] += charges[p] * (1.0 - share)
        grid[(cell + 1) % cells] += charges[p] * share
    energy = 0.0
    for c in range(cells):
        energy += grid[c] * grid[c]
    positions_bar = np.empty(positions.shape[0])
    charges_bar = np.empty(positions.shape[0])
    for p in range(positions.shape[0]):
        at = positions[p] * cells
        cell = int(np.floor(at))
        share = at - cell
        first, second = grid[cell % cells], grid[(cell + 1) % cells]
        charges_bar[p] = cells * (first * (1.0 - share) + second * share)
        positions_bar[p] = charges[p] * (second - first) * cells * cells
    return 0.5 * energy * cells, (positions_bar, charges_bar)


def asian_option(spot, rate, vol, strike, years, normals):
    """A path's prices depend on spot by a factor, on the others by the exponents' sums."""
    paths, steps = normals.shape
    dt = years / steps
    root = math.sqrt(dt)
    drift = (rate - 0.5 * vol * vol) * dt
    scale = vol * root
    total, spot_bar, drift_bar, scale_bar, strike_bar = 0.0, 0.0, 0.0, 0.0, 0.0
    for p in range(paths):
        s = spot
        mean, by_drift, by_scale, walked = 0.0, 0.0, 0.0, 0.0
        for t in range(steps):
            s *= math.exp(drift + scale * normals[p, t])
            walked += normals[p, t]
            mean += s
            by_drift += (t + 1) * s
            by_scale += walked * s
        if mean / steps - strike > 0.0:
            total += mean / steps - strike
            spot_bar += mean / (steps * spot)
            drift_bar += by_drift / steps
            scale_bar += by_scale / steps
            strike_bar -= 1.0
    discount = math.exp(-rate * years) / paths
    value = discount * total
    rate_bar = discount * drift_bar * dt - years * value
    vol_bar = discount * (scale_bar * root - drift_bar * vol * dt)
    dt_bar = discount * (drift_bar * (rate - 0.5 * vol * vol) + 0.5 * scale_bar * vol / root)
    return value, (discount * spot_bar, rate_bar, vol_bar, discount * strike_bar, dt_bar / steps - rate * value)
