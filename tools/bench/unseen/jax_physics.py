"""Physics and finance as a user of JAX writes them: whole arrays, scans over time, masks for branches."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


def kepler_orbits(mean, eccentricity, seen):
    e = eccentricity
    anomaly = mean + e * jnp.sin(mean)
    for _ in range(6):
        anomaly = anomaly - (anomaly - e * jnp.sin(anomaly) - mean) / (1.0 - e * jnp.cos(anomaly))
    x = jnp.cos(anomaly) - e
    y = jnp.sqrt(1.0 - e * e) * jnp.sin(anomaly)
    return ((x - seen[:, 0]) ** 2 + (y - seen[:, 1]) ** 2).sum()


def robertson(start, rate, step, steps):
    def change(y):
        r1, r2, r3 = rate[0] * y[0], rate[1] * y[1] * y[2], rate[2] * y[1] * y[1]
        return jnp.stack([r2 - r1, r1 - r2 - r3, r3])

    def forward(old, _):
        y = old
        for _ in range(3):
            matrix = jnp.eye(3) - step * jax.jacfwd(change)(y)
            y = y - jnp.linalg.solve(matrix, y - old - step * change(y))
        return y, None

    y, _ = lax.scan(forward, start, None, length=steps)
    return y[0] + 2.0 * y[2]


def hodgkin_huxley(conductance, reversal, current, dt):
    def step(state, driven):
        v, m, h, n = state
        am = 0.1 * (v + 40.0) / (1.0 - jnp.exp(-(v + 40.0) / 10.0))
        bm = 4.0 * jnp.exp(-(v + 65.0) / 18.0)
        ah = 0.07 * jnp.exp(-(v + 65.0) / 20.0)
        bh = 1.0 / (1.0 + jnp.exp(-(v + 35.0) / 10.0))
        an = 0.01 * (v + 55.0) / (1.0 - jnp.exp(-(v + 55.0) / 10.0))
        bn = 0.125 * jnp.exp(-(v + 65.0) / 80.0)
        sodium = conductance[0] * m**3 * h * (v - reversal[0])
        potassium = conductance[1] * n**4 * (v - reversal[1])
        leak = conductance[2] * (v - reversal[2])
        v = v + dt * (driven - sodium - potassium - leak)
        m = m + dt * (am * (1.0 - m) - bm * m)
        h = h + dt * (ah * (1.0 - h) - bh * h)
        n = n + dt * (an * (1.0 - n) - bn * n)
        return (v, m, h, n), v

    start = tuple(jnp.asarray(value) for value in (-65.0, 0.05, 0.6, 0.32))
    return (lax.scan(step, start, current)[1] ** 2).mean()


def maxwell_plane(permittivity, source, steps):
    nx, ny = permittivity.shape
    factor = 0.5 / permittivity[1:-1, 1:-1]

    def step(state, pulse):
        ez, hx, hy = state
        hx = hx.at[:-1, :-1].add(-0.5 * (ez[:-1, 1:] - ez[:-1, :-1]))
        hy = hy.at[:-1, :-1].add(0.5 * (ez[1:, :-1] - ez[:-1, :-1]))
        curl = hy[1:-1, 1:-1] - hy[:-2, 1:-1] - hx[1:-1, 1:-1] + hx[1:-1, :-2]
        ez = ez.at[1:-1, 1:-1].add(factor * curl)
        return (ez.at[nx // 2, ny // 2].add(pulse), hx, hy), None

    zeros = jnp.zeros((nx, ny))
    (ez, hx, hy), _ = lax.scan(step, (zeros, zeros, zeros), source[:steps])
    return (permittivity * ez**2 + hx**2 + hy**2).sum()


def cloth(height, stiffness, damping, dt, steps):
    rows, columns = height.shape
    i, j = jnp.meshgrid(jnp.arange(float(rows)), jnp.arange(float(columns)), indexing="ij")
    free = jnp.ones((rows, columns, 1)).at[0, 0].set(0.0).at[0, columns - 1].set(0.0)

    def step(state, _):
        place, speed = state
        force = jnp.zeros((rows, columns, 3)).at[:, :, 2].add(-0.1)
        for di, dj in ((0, 1), (1, 0), (1, 1)):
            rest = (di * di + dj * dj) ** 0.5
            delta = place[di:, dj:] - place[: rows - di, : columns - dj]
            length = jnp.sqrt((delta * delta).sum(axis=2, keepdims=True))
            pull = stiffness * (length - rest) / length * delta
            force = force.at[: rows - di, : columns - dj].add(pull).at[di:, dj:].add(-pull)
        speed = free * ((1.0 - damping * dt) * speed + dt * force)
        return (place + dt * speed, speed), None

    place = jnp.stack([i, j, height], axis=2)
    (place, _), _ = lax.scan(step, (place, jnp.zeros_like(place)), None, length=steps)
    return (place[:, :, 2] ** 2).sum()


def radiative_transfer(absorption, scattering, emission, cosine, weight, sweeps):
    total = absorption + scattering
    passed = jnp.exp(-total[:, None] / cosine)

    def through(light, layer):
        kept, origin = layer
        light = light * kept + origin * (1.0 - kept)
        return light, light

    def sweep(mean, _):
        origin = (absorption * emission + scattering * mean) / total
        _, down = lax.scan(through, jnp.ones(cosine.shape[0]), (passed, origin))
        left, up = lax.scan(through, jnp.zeros(cosine.shape[0]), (passed, origin), reverse=True)
        return 0.5 * (down + up) @ weight, (weight * cosine * left).sum()

    return lax.scan(sweep, jnp.zeros(absorption.shape[0]), None, length=sweeps)[1][-1]


def reinitialise(phi, steps):
    middle = phi[1:-1, 1:-1]
    sign = middle / jnp.sqrt(middle**2 + 1.0)

    def step(u, _):
        a, b = u[1:-1, 1:-1] - u[:-2, 1:-1], u[2:, 1:-1] - u[1:-1, 1:-1]
        c, d = u[1:-1, 1:-1] - u[1:-1, :-2], u[1:-1, 2:] - u[1:-1, 1:-1]

        def steepest(one, other):
            return jnp.maximum(jnp.maximum(one, 0.0) ** 2, jnp.minimum(other, 0.0) ** 2)

        square = jnp.where(middle > 0.0, steepest(a, b) + steepest(c, d), steepest(b, a) + steepest(d, c))
        return u.at[1:-1, 1:-1].add(-0.3 * sign * (jnp.sqrt(square + 1e-12) - 1.0)), None

    u, _ = lax.scan(step, phi, None, length=steps)
    dx, dy = u[1:, :-1] - u[:-1, :-1], u[:-1, 1:] - u[:-1, :-1]
    return ((dx**2 + dy**2 - 1.0) ** 2).sum()


def ray_spheres(centre, radius, colour, pixels):
    at = (jnp.arange(pixels) + 0.5) / pixels - 0.5
    dx, dy = jnp.meshgrid(at, at, indexing="ij")
    ray = jnp.stack([dx, dy, jnp.ones_like(dx)], axis=-1).reshape(-1, 3)
    ray = ray / jnp.sqrt((ray**2).sum(axis=1, keepdims=True))
    b = ray @ centre.T
    inside = b * b - (centre**2).sum(axis=1) + radius**2
    t = b - jnp.sqrt(jnp.where(inside > 0.0, inside, 1.0))
    t = jnp.where((inside > 0.0) & (t > 0.0), t, 1e30)
    hit = jnp.argmin(t, axis=1)
    nearest = jnp.take_along_axis(t, hit[:, None], axis=1)
    met = nearest[:, 0] < 1e30
    normal = (jnp.where(met[:, None], nearest, 1.0) * ray - centre[hit]) / radius[hit][:, None]
    light = jnp.maximum(0.0, normal @ jnp.array([0.4, 0.5, -0.77]))
    return jnp.where(met, colour[hit] * (0.1 + light) ** 2, 0.0).sum()


def heston_call(spot, strike, rate, years, speed, level, volatility, correlation, variance, nodes):
    step = 100.0 / nodes
    u = (jnp.arange(nodes) + 0.5) * step
    w = u - 1j * jnp.array([[1.0], [0.0]])
    drift = speed - correlation * volatility * 1j * w
    d = jnp.sqrt(drift**2 + volatility**2 * (1j * w + w**2))
    g = (drift - d) / (drift + d)
    decay = jnp.exp(-d * years)
    c = speed * level / volatility**2 * ((drift - d) * years - 2.0 * jnp.log((1.0 - g * decay) / (1.0 - g)))
    b = (drift - d) / volatility**2 * (1.0 - decay) / (1.0 - g * decay)
    characteristic = jnp.exp(c + b * variance + 1j * w * (jnp.log(spot) + rate * years))
    inner = jnp.real(jnp.exp(-1j * u * jnp.log(strike)) * characteristic / (1j * u))
    parts = jnp.exp(-rate * years) * inner.sum(axis=1) * step / jnp.pi
    return 0.5 * (spot - strike * jnp.exp(-rate * years)) + parts[0] - strike * parts[1]


def ising_mean_field(field, coupling, sweeps):
    def sweep(m, _):
        wide = jnp.pad(m, 1)
        around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
        return 0.5 * m + 0.5 * jnp.tanh(coupling * around + field), None

    m, _ = lax.scan(sweep, jnp.tanh(field), None, length=sweeps)
    bonds = (m[1:] * m[:-1]).sum() + (m[:, 1:] * m[:, :-1]).sum()
    up, down = 0.5 * (1.0 + m), 0.5 * (1.0 - m)
    return -coupling * bonds - (field * m).sum() + (up * jnp.log(up) + down * jnp.log(down)).sum()


def total_variation(noisy, weight, rate, steps):
    def step(u, _):
        dx = jnp.pad(u[1:] - u[:-1], ((0, 1), (0, 0)))
        dy = jnp.pad(u[:, 1:] - u[:, :-1], ((0, 0), (0, 1)))
        norm = jnp.sqrt(dx**2 + dy**2 + 1e-2)
        px, py = dx / norm, dy / norm
        spread = px + py - jnp.pad(px[:-1], ((1, 0), (0, 0))) - jnp.pad(py[:, :-1], ((0, 0), (1, 0)))
        return u - rate * (u - noisy - weight * spread), None

    u, _ = lax.scan(step, noisy, None, length=steps)
    return ((u - noisy) ** 2).mean()


def projection_steps(u, v, viscosity, dt, steps):
    def moved(q, u, v):
        middle = q[1:-1, 1:-1]
        friction = q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2] - 4.0 * middle
        along = u[1:-1, 1:-1] * (q[2:, 1:-1] - q[:-2, 1:-1]) + v[1:-1, 1:-1] * (q[1:-1, 2:] - q[1:-1, :-2])
        return q.at[1:-1, 1:-1].add(dt * (viscosity * friction - 0.5 * along))

    def step(state, _):
        u, v = state
        u, v = moved(u, u, v), moved(v, u, v)
        divergence = 0.5 * (u[2:, 1:-1] - u[:-2, 1:-1] + v[1:-1, 2:] - v[1:-1, :-2])

        def relaxed(p, _):
            return jnp.pad(0.25 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - divergence), 1), None

        p, _ = lax.scan(relaxed, jnp.zeros_like(u), None, length=10)
        u = u.at[1:-1, 1:-1].add(-0.5 * (p[2:, 1:-1] - p[:-2, 1:-1]))
        v = v.at[1:-1, 1:-1].add(-0.5 * (p[1:-1, 2:] - p[1:-1, :-2]))
        return (u, v), None

    (u, v), _ = lax.scan(step, (u, v), None, length=steps)
    return (u**2 + v**2).sum()


def limited_burgers(start, ratio, steps):
    def step(u, _):
        left, right = u[1:-1] - u[:-2], u[2:] - u[1:-1]
        slope = jnp.where(left * right > 0.0, jnp.sign(left) * jnp.minimum(jnp.abs(left), jnp.abs(right)), 0.0)
        a = u[1:-2] + 0.5 * slope[:-1]
        b = u[2:-1] - 0.5 * slope[1:]
        flux = 0.25 * (a**2 + b**2) - 0.5 * jnp.maximum(jnp.abs(a), jnp.abs(b)) * (b - a)
        return jnp.concatenate([u[:2], u[2:-2] - ratio * (flux[1:] - flux[:-1]), u[-2:]]), None

    return (lax.scan(step, start, None, length=steps)[0] ** 2).mean()


def elastic_rod(points, rest, stretching, bending):
    edges = points[1:] - points[:-1]
    lengths = jnp.sqrt((edges**2).sum(axis=1))
    tangents = edges / lengths[:, None]
    along = stretching * ((lengths / rest - 1.0) ** 2 * rest).sum()
    cosines = (tangents[1:] * tangents[:-1]).sum(axis=1)
    curvature = 2.0 * jnp.cross(tangents[:-1], tangents[1:]) / (1.0 + cosines)[:, None]
    return along + bending * ((curvature**2).sum(axis=1) / (rest[1:] + rest[:-1])).sum()


def gravity_cluster(position, mass, softening):
    delta = position[:, None, :] - position[None, :, :]
    distance = jnp.sqrt((delta**2).sum(axis=-1) + softening**2)
    energy = -0.5 * (mass[:, None] * mass[None, :] / distance).sum() + 0.5 * (mass**2).sum() / softening
    centre = (mass[:, None] * position).sum(axis=0) / mass.sum()
    return energy + (centre**2).sum()


def neural_ode(w1, b1, w2, b2, start, wanted, dt, steps):
    def velocity(y):
        return jnp.tanh(y @ w1 + b1) @ w2 + b2

    def step(y, _):
        k1 = velocity(y)
        k2 = velocity(y + 0.5 * dt * k1)
        k3 = velocity(y + 0.5 * dt * k2)
        k4 = velocity(y + dt * k3)
        return y + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

    return ((lax.scan(step, start, None, length=steps)[0] - wanted) ** 2).mean()


PROGRAMS = (
    *(kepler_orbits, robertson, hodgkin_huxley, maxwell_plane, cloth, radiative_transfer, reinitialise, ray_spheres),
    *(heston_call, ising_mean_field, total_variation, projection_steps, limited_burgers, elastic_rod),
    *(gravity_cluster, neural_ode),
)
