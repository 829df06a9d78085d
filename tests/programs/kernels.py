"""Kernels of the families that collections of numerical benchmarks have, each with one number as its result."""

from __future__ import annotations

import numpy as np

from tests.programs import Program


def heat_3d(u0, kappa, steps):
    """Explicit diffusion in a box with fixed walls; the squared norm at the end."""
    n = u0.shape[0]
    u = u0.copy()
    new = u0.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    around = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k]
                    around += u[i, j, k - 1] + u[i, j, k + 1]
                    new[i, j, k] = u[i, j, k] + kappa * (around - 6.0 * u[i, j, k])
        u, new = new, u
    return np.sum(u * u)


def alternating_directions(u0, r, steps):
    """Diffusion on a square by Peaceman and Rachford's scheme: lines along one axis, then along the other."""
    n = u0.shape[0]
    u = u0.copy()
    v = np.zeros((n, n))
    p = np.zeros(n)
    q = np.zeros(n)
    for _ in range(steps):
        for j in range(1, n - 1):
            p[0] = 0.0
            q[0] = 0.0
            for i in range(1, n - 1):
                pivot = 1.0 + 2.0 * r - r * p[i - 1]
                p[i] = r / pivot
                given = u[i, j] + r * (u[i, j - 1] - 2.0 * u[i, j] + u[i, j + 1])
                q[i] = (given + r * q[i - 1]) / pivot
            for i in range(n - 2, 0, -1):
                v[i, j] = p[i] * v[i + 1, j] + q[i]
        for i in range(1, n - 1):
            p[0] = 0.0
            q[0] = 0.0
            for j in range(1, n - 1):
                pivot = 1.0 + 2.0 * r - r * p[j - 1]
                p[j] = r / pivot
                given = v[i, j] + r * (v[i - 1, j] - 2.0 * v[i, j] + v[i + 1, j])
                q[j] = (given + r * q[j - 1]) / pivot
            for j in range(n - 2, 0, -1):
                u[i, j] = p[j] * u[i, j + 1] + q[j]
    total = 0.0
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            total += u[i, j] * u[i, j]
    return total


def durbin(r):
    """The squared norm of the solution of Yule and Walker's equations, by Durbin's recursion."""
    n = r.shape[0]
    y = np.zeros(n)
    other = np.zeros(n)
    y[0] = -r[0]
    alpha = -r[0]
    beta = 1.0
    for k in range(1, n):
        beta *= 1.0 - alpha * alpha
        s = r[k]
        for i in range(k):
            s += r[k - i - 1] * y[i]
        alpha = -s / beta
        for i in range(k):
            other[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = other[i]
        y[k] = alpha
    total = 0.0
    for i in range(n):
        total += y[i] * y[i]
    return total


def covariance(data):
    """The squared Frobenius norm of the covariance matrix of the columns."""
    n, m = data.shape
    mean = np.zeros(m)
    for i in range(n):
        for j in range(m):
            mean[j] += data[i, j] / n
    cov = np.zeros((m, m))
    for i in range(n):
        for j in range(m):
            deviation = data[i, j] - mean[j]
            for k in range(j + 1):
                cov[j, k] += deviation * (data[i, k] - mean[k])
    total = 0.0
    for j in range(m):
        for k in range(j + 1):
            c = cov[j, k] / (n - 1)
            total += c * c if j == k else 2.0 * c * c
    return total


def correlation(data):
    """The sum of the squared correlations of all pairs of columns, by array expressions."""
    centred = data - data.sum(axis=0) / data.shape[0]
    scaled = centred / np.sqrt((centred * centred).sum(axis=0))
    found = scaled.T @ scaled
    return (np.sum(found * found) - data.shape[1]) / 2.0


def product_chain(a, b, c, x):
    """A chain of matrix products, and a quadratic form of the result."""
    product = a @ b @ c
    y = product @ x
    return y @ y + np.sum(product * a)


def sparse_smoothing(values, columns, starts, x0, steps):
    """A sparse matrix in compressed rows applied again and again, with damping; the squared norm at the end."""
    n = starts.shape[0] - 1
    x = x0.copy()
    y = np.empty(n)
    for _ in range(steps):
        for i in range(n):
            s = 0.0
            for p in range(starts[i], starts[i + 1]):
                s += values[p] * x[columns[p]]
            y[i] = s
        for i in range(n):
            x[i] = 0.5 * (x[i] + y[i])
    total = 0.0
    for i in range(n):
        total += x[i] * x[i]
    return total


def recursive_filter(x, b, a, wanted):
    """The squared error of a second-order recursive filter's output."""
    error = 0.0
    x1, x2, y1, y2 = 0.0, 0.0, 0.0, 0.0
    for i in range(x.shape[0]):
        y = b[0] * x[i] + b[1] * x1 + b[2] * x2 - a[0] * y1 - a[1] * y2
        x2, x1 = x1, x[i]
        y2, y1 = y1, y
        error += (y - wanted[i]) ** 2
    return error


def charge_deposit(positions, charges, cells):
    """The energy of charges shared out to the two nearest points of a periodic grid."""
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
    return 0.5 * energy * cells


def asian_option(spot, rate, vol, strike, years, normals):
    """The price of an option on a path's mean, by simulated paths."""
    paths, steps = normals.shape
    dt = years / steps
    drift = (rate - 0.5 * vol * vol) * dt
    scale = vol * np.sqrt(dt)
    total = 0.0
    for p in range(paths):
        s = spot
        mean = 0.0
        for t in range(steps):
            s *= np.exp(drift + scale * normals[p, t])
            mean += s
        total += max(mean / steps - strike, 0.0)
    return np.exp(-rate * years) * total / paths


def time_warping(x, y):
    """The cost of the cheapest alignment of two series, by dynamic programming."""
    n, m = x.shape[0], y.shape[0]
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            before = min(cost[i, j], cost[i, j + 1], cost[i + 1, j])
            cost[i + 1, j + 1] = before + (x[i] - y[j]) ** 2
    return cost[n, m]


def make_sparse(rng, n, per_row=5):
    """A sparse matrix with a few elements in each row, in random columns, and a vector."""
    starts = np.arange(0, per_row * n + 1, per_row)
    values = rng.uniform(-0.4, 0.4, per_row * n)
    return values, rng.integers(0, n, per_row * n), starts, rng.normal(size=n)


def make_chain(rng, n):
    """Three matrices with small products, and a vector."""
    return *rng.normal(size=(3, n, n)) / np.sqrt(max(n, 1)), rng.normal(size=n)


def make_charges(rng, n, cells=5):
    """Charges that stand well inside the cells of a grid: where they cross to the next one the energy has a kink."""
    return (rng.integers(0, cells, n) + rng.uniform(0.3, 0.7, n)) / cells, rng.normal(size=n), cells


def make_filter(rng, n):
    """A signal, a stable filter and an output to compare with."""
    return rng.normal(size=n), np.array([0.2, 0.3, 0.1]), np.array([-0.6, 0.2]), rng.normal(size=n)


PROGRAMS = (
    Program(heat_3d, lambda rng, n: (rng.normal(size=(n, n, n)), 0.1, 3), (2, 4), (0, 1)),
    Program(alternating_directions, lambda rng, n: (rng.normal(size=(n, n)), 0.3, 2), (3, 5), (0, 1)),
    Program(durbin, lambda rng, n: (rng.uniform(-0.1, 0.1, n),), (1, 5)),
    Program(covariance, lambda rng, n: (rng.normal(size=(n, 3)),), (2, 6)),
    Program(correlation, lambda rng, n: (rng.normal(size=(n, 3)),), (2, 6)),
    Program(product_chain, make_chain, (1, 4), (0, 1, 2, 3)),
    Program(sparse_smoothing, lambda rng, n: (*make_sparse(rng, n), 3), (1, 6), (0, 3)),
    Program(recursive_filter, make_filter, (0, 1, 7), (0, 1, 2)),
    Program(charge_deposit, make_charges, (0, 1, 8), (0, 1)),
    Program(
        asian_option,
        lambda rng, n: (100.0, 0.02, 0.3, 99.0, 1.0, rng.normal(size=(n, 4))),
        (1, 6),
        (0, 1, 2, 3, 4),
    ),
    Program(time_warping, lambda rng, n: (rng.normal(size=n), rng.normal(size=n + 1)), (1, 5), (0, 1)),
)
