"""Systems that step through time: ordinary differential equations and particles."""

from __future__ import annotations

import numpy as np
from numba import njit

from tests.programs import Program


@njit
def _predator_prey(y, p, out):
    out[0] = p[0] * y[0] - p[1] * y[0] * y[1]
    out[1] = p[2] * y[0] * y[1] - p[3] * y[1]


def rk4_lotka_volterra(y0, p, dt, steps):
    """Populations after `steps` steps of the classical Runge-Kutta scheme."""
    y = y0.copy()
    k1 = np.empty(2)
    k2 = np.empty(2)
    k3 = np.empty(2)
    k4 = np.empty(2)
    for _ in range(steps):
        _predator_prey(y, p, k1)
        _predator_prey(y + 0.5 * dt * k1, p, k2)
        _predator_prey(y + 0.5 * dt * k2, p, k3)
        _predator_prey(y + dt * k3, p, k4)
        y += dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return y


@njit
def _accelerate(pos, mass, acc):
    n = pos.shape[0]
    for i in range(n):
        for k in range(3):
            acc[i, k] = 0.0
    for i in range(n):
        for j in range(i):
            dx = pos[j, 0] - pos[i, 0]
            dy = pos[j, 1] - pos[i, 1]
            dz = pos[j, 2] - pos[i, 2]
            r2 = dx * dx + dy * dy + dz * dz + 0.1
            w = 1.0 / (r2 * np.sqrt(r2))
            for k, d in enumerate((dx, dy, dz)):
                acc[i, k] += mass[j] * w * d
                acc[j, k] -= mass[i] * w * d


def nbody_leapfrog(pos0, vel0, mass, dt, steps):
    """Kinetic energy of gravitating bodies after `steps` kick-drift-kick steps."""
    pos = pos0.copy()
    vel = vel0.copy()
    acc = np.zeros_like(pos)
    _accelerate(pos, mass, acc)
    for _ in range(steps):
        for i in range(pos.shape[0]):
            for k in range(3):
                vel[i, k] += 0.5 * dt * acc[i, k]
                pos[i, k] += dt * vel[i, k]
        _accelerate(pos, mass, acc)
        vel += 0.5 * dt * acc
    energy = 0.0
    for i in range(pos.shape[0]):
        energy += 0.5 * mass[i] * (vel[i] ** 2).sum()
    return energy


def sir_epidemic(rates, recovery, infected, days):
    """Greatest and final share infected, with one transmission rate per week."""
    s, i, r = 1.0 - infected, infected, 0.0
    peak = i
    for day in range(days):
        beta = rates[day // 7]
        new = beta * s * i
        gone = recovery * i
        s, i, r = s - new, i + new - gone, r + gone
        if i > peak:
            peak = i
    return peak + 0.1 * r


PROGRAMS = (
    Program(
        rk4_lotka_volterra,
        lambda rng, n: (rng.uniform(0.5, 1.5, 2), rng.uniform(0.5, 1.0, 4), 0.05, n),
        (0, 1, 6),
        (0, 1, 2),
    ),
    Program(
        nbody_leapfrog,
        lambda rng, n: (rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), rng.uniform(0.5, 1.0, n), 0.02, n),
        (1, 2, 4),
        (0, 1, 2),
    ),
    Program(
        sir_epidemic,
        lambda rng, n: (rng.uniform(0.2, 0.5, n // 7 + 1), 0.11, 0.05, n),
        (0, 1, 30),
        (0, 1, 2),
    ),
)
