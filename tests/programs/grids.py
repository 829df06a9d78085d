"""Finite differences on regular grids, mostly in place."""

from __future__ import annotations

import numpy as np

from tests.programs import Program


def heat_1d(u0, kappa, steps):
    """Explicit diffusion with one buffer, the left neighbour's old value kept in a scalar."""
    u = u0.copy()
    n = u.shape[0]
    for _ in range(steps):
        left = u[0]
        for i in range(1, n - 1):
            here = u[i]
            u[i] = here + kappa * (left - 2.0 * here + u[i + 1])
            left = here
    total = 0.0
    for i in range(n):
        total += u[i] * u[i]
    return total


def heat_2d(u, kappa, steps):
    """Gauss-Seidel-like diffusion that overwrites the caller's grid."""
    rows, cols = u.shape
    for _ in range(steps):
        for i in range(1, rows - 1):
            for j in range(1, cols - 1):
                u[i, j] += kappa[i, j] * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
    return (u**2).mean()


def wave_equation(u0, speed, steps):
    """Leapfrog for the wave equation: two buffers that swap, the older one overwritten."""
    now = u0.copy()
    old = u0.copy()
    n = now.size
    for _ in range(steps):
        for i in range(1, n - 1):
            old[i] = 2.0 * now[i] - old[i] + speed[i] ** 2 * (now[i + 1] - 2.0 * now[i] + now[i - 1])
        now, old = old, now
    return now


def upwind_advection(u0, velocity, ratio, steps):
    """First-order upwind transport around a ring; the upwind side follows the sign of the velocity."""
    u = u0.copy()
    n = len(u)
    flux = np.zeros(n + 1)
    for _ in range(steps):
        for i in range(n + 1):
            v = velocity[i]
            if v > 0.0:
                flux[i] = v * u[i - 1]
            elif v < 0.0:
                flux[i] = v * u[i % n]
            else:
                flux[i] = 0.0
        u[:] = u - ratio * (flux[1:] - flux[:-1])
    return u


PROGRAMS = (
    Program(heat_1d, lambda rng, n: (rng.normal(size=n), 0.2, n), (1, 2, 7), (0, 1)),
    Program(heat_2d, lambda rng, n: (rng.normal(size=(n, n + 1)), rng.uniform(0, 0.2, (n, n + 1)), 3), (1, 5), (0, 1)),
    Program(wave_equation, lambda rng, n: (rng.normal(size=n), rng.uniform(0, 0.8, n), n - 1), (1, 4, 7), (0, 1)),
    Program(
        upwind_advection,
        lambda rng, n: (rng.normal(size=n), rng.normal(size=n + 1), 0.2, 4),
        (1, 5),
        (0, 1, 2),
    ),
)
