"""Physics and finance as NumPy expressions."""

from __future__ import annotations

import numpy as np


def heston_call(spot, strike, rate, years, speed, level, volatility, correlation, variance, nodes):
    """A call's price in Heston's model, by its characteristic function along the real axis."""
    step = 100.0 / nodes
    u = (np.arange(nodes) + 0.5) * step
    price = 0.5 * (spot - strike * np.exp(-rate * years))
    for shift in (1.0, 0.0):
        w = u - 1j * shift
        drift = speed - correlation * volatility * 1j * w
        d = np.sqrt(drift**2 + volatility**2 * (1j * w + w**2))
        g = (drift - d) / (drift + d)
        decay = np.exp(-d * years)
        c = speed * level / volatility**2 * ((drift - d) * years - 2.0 * np.log((1.0 - g * decay) / (1.0 - g)))
        b = (drift - d) / volatility**2 * (1.0 - decay) / (1.0 - g * decay)
        characteristic = np.exp(c + b * variance + 1j * w * (np.log(spot) + rate * years))
        inner = np.real(np.exp(-1j * u * np.log(strike)) * characteristic / (1j * u))
        part = np.exp(-rate * years) * inner.sum() * step / np.pi
        price = price + (part if shift == 1.0 else -strike * part)
    return price


def ising_mean_field(field, coupling, sweeps):
    """The free energy of magnets on a grid, by iterating their mean field."""
    m = np.tanh(field)
    for _ in range(sweeps):
        around = np.zeros_like(m)
        around[1:] += m[:-1]
        around[:-1] += m[1:]
        around[:, 1:] += m[:, :-1]
        around[:, :-1] += m[:, 1:]
        m = 0.5 * m + 0.5 * np.tanh(coupling * around + field)
    bonds = (m[1:] * m[:-1]).sum() + (m[:, 1:] * m[:, :-1]).sum()
    up, down = 0.5 * (1.0 + m), 0.5 * (1.0 - m)
    return -coupling * bonds - (field * m).sum() + (up * np.log(up) + down * np.log(down)).sum()


def total_variation(noisy, weight, rate, steps):
    """How far a picture is from what is left of it after steps down its total variation."""
    u = noisy.copy()
    for _ in range(steps):
        dx = np.zeros_like(u)
        dy = np.zeros_like(u)
        dx[:-1] = u[1:] - u[:-1]
        dy[:, :-1] = u[:, 1:] - u[:, :-1]
        norm = np.sqrt(dx**2 + dy**2 + 1e-2)
        px, py = dx / norm, dy / norm
        spread = px + py
        spread[1:] -= px[:-1]
        spread[:, 1:] -= py[:, :-1]
        u = u - rate * (u - noisy - weight * spread)
    return ((u - noisy) ** 2).mean()


def projection_steps(u, v, viscosity, dt, steps):
    """The energy of a flow in a box: advection and friction by slices, then a pressure by Jacobi's iteration."""
    u, v = u.copy(), v.copy()
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        u[1:-1, 1:-1] = un[1:-1, 1:-1] + dt * (
            viscosity * (un[2:, 1:-1] + un[:-2, 1:-1] + un[1:-1, 2:] + un[1:-1, :-2] - 4.0 * un[1:-1, 1:-1])
            - 0.5 * un[1:-1, 1:-1] * (un[2:, 1:-1] - un[:-2, 1:-1])
            - 0.5 * vn[1:-1, 1:-1] * (un[1:-1, 2:] - un[1:-1, :-2])
        )
        v[1:-1, 1:-1] = vn[1:-1, 1:-1] + dt * (
            viscosity * (vn[2:, 1:-1] + vn[:-2, 1:-1] + vn[1:-1, 2:] + vn[1:-1, :-2] - 4.0 * vn[1:-1, 1:-1])
            - 0.5 * un[1:-1, 1:-1] * (vn[2:, 1:-1] - vn[:-2, 1:-1])
            - 0.5 * vn[1:-1, 1:-1] * (vn[1:-1, 2:] - vn[1:-1, :-2])
        )
        divergence = 0.5 * (u[2:, 1:-1] - u[:-2, 1:-1] + v[1:-1, 2:] - v[1:-1, :-2])
        p = np.zeros_like(u)
        for _ in range(10):
            new = np.zeros_like(p)
            new[1:-1, 1:-1] = 0.25 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - divergence)
            p = new
        u[1:-1, 1:-1] -= 0.5 * (p[2:, 1:-1] - p[:-2, 1:-1])
        v[1:-1, 1:-1] -= 0.5 * (p[1:-1, 2:] - p[1:-1, :-2])
    return (u**2 + v**2).sum()


def limited_burgers(start, ratio, steps):
    """Burgers' equation with slopes limited by the smaller of two, and Rusanov's flux; the ends stay."""
    u = start.copy()
    for _ in range(steps):
        left, right = u[1:-1] - u[:-2], u[2:] - u[1:-1]
        slope = np.where(left * right > 0.0, np.sign(left) * np.minimum(np.abs(left), np.abs(right)), 0.0)
        a = u[1:-2] + 0.5 * slope[:-1]
        b = u[2:-1] - 0.5 * slope[1:]
        flux = 0.25 * (a**2 + b**2) - 0.5 * np.maximum(np.abs(a), np.abs(b)) * (b - a)
        u[2:-2] -= ratio * (flux[1:] - flux[:-1])
    return (u**2).mean()


def elastic_rod(points, rest, stretching, bending):
    """The energy of a rod of segments that are stretched and bent."""
    edges = points[1:] - points[:-1]
    lengths = np.sqrt((edges**2).sum(axis=1))
    tangents = edges / lengths[:, None]
    along = stretching * ((lengths / rest - 1.0) ** 2 * rest).sum()
    cosines = (tangents[1:] * tangents[:-1]).sum(axis=1)
    turns = np.cross(tangents[:-1], tangents[1:])
    curvature = 2.0 * turns / (1.0 + cosines)[:, None]
    return along + bending * ((curvature**2).sum(axis=1) / (rest[1:] + rest[:-1])).sum()


def gravity_cluster(position, mass, softening):
    """The potential energy of masses, from all their distances, and how far their centre is from the origin."""
    delta = position[:, None, :] - position[None, :, :]
    distance = np.sqrt((delta**2).sum(axis=-1) + softening**2)
    energy = -0.5 * (mass[:, None] * mass[None, :] / distance).sum() + 0.5 * (mass**2).sum() / softening
    centre = (mass[:, None] * position).sum(axis=0) / mass.sum()
    return energy + (centre**2).sum()


def neural_ode(w1, b1, w2, b2, start, wanted, dt, steps):
    """Squared error at the end of paths whose velocity is a network, by Runge and Kutta's rule."""
    y = start
    for _ in range(steps):
        k1 = np.tanh(y @ w1 + b1) @ w2 + b2
        k2 = np.tanh((y + 0.5 * dt * k1) @ w1 + b1) @ w2 + b2
        k3 = np.tanh((y + 0.5 * dt * k2) @ w1 + b1) @ w2 + b2
        k4 = np.tanh((y + dt * k3) @ w1 + b1) @ w2 + b2
        y = y + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return ((y - wanted) ** 2).mean()
