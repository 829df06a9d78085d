"""Points and curves: cameras, splines, pair potentials."""

from __future__ import annotations

import numpy as np
from numba import njit

from tests.programs import Program


@njit
def _rotate(axis, p, out):
    """Rodrigues' rotation of `p` by the vector `axis`."""
    angle2 = axis[0] ** 2 + axis[1] ** 2 + axis[2] ** 2
    if angle2 < 1e-14:
        out[:] = p + np.cross(axis, p)
        return
    angle = np.sqrt(angle2)
    k = axis / angle
    cosine, sine = np.cos(angle), np.sin(angle)
    out[:] = p * cosine + np.cross(k, p) * sine + k * (np.dot(k, p) * (1.0 - cosine))


def reprojection_error(cameras, points, seen, camera_of, point_of):
    """Squared distance between seen and projected points; a camera is rotation, shift, focal length, distortion."""
    total = 0.0
    local = np.empty(3)
    for m in range(seen.shape[0]):
        cam = cameras[camera_of[m]]
        _rotate(cam[:3], points[point_of[m]], local)
        local += cam[3:6]
        u = -local[0] / local[2]
        v = -local[1] / local[2]
        r2 = u * u + v * v
        scale = cam[6] * (1.0 + cam[7] * r2)
        total += (scale * u - seen[m, 0]) ** 2 + (scale * v - seen[m, 1]) ** 2
    return total


def spline_evaluate(knots, values, slopes, at):
    """A cubic Hermite spline at many places; beyond the ends it goes on as a straight line."""
    out = np.empty_like(at)
    last = knots.size - 1
    for i, x in enumerate(at):
        k = np.searchsorted(knots, x) - 1
        if k < 0:
            out[i] = values[0] + slopes[0] * (x - knots[0])
            continue
        if k >= last:
            out[i] = values[last] + slopes[last] * (x - knots[last])
            continue
        h = knots[k + 1] - knots[k]
        t = (x - knots[k]) / h
        t2, t3 = t * t, t**3
        out[i] = (
            (2 * t3 - 3 * t2 + 1) * values[k]
            + (t3 - 2 * t2 + t) * h * slopes[k]
            + (3 * t2 - 2 * t3) * values[k + 1]
            + (t3 - t2) * h * slopes[k + 1]
        )
    return out


def pair_energy(pos, box, eps, sigma, rc):
    """Lennard-Jones energy in a periodic box with a cut-off, and the virial."""
    energy = 0.0
    virial = 0.0
    shift = 4.0 * eps * ((sigma / rc) ** 12 - (sigma / rc) ** 6)
    for i in range(len(pos)):
        for j in range(i + 1, len(pos)):
            r2 = 0.0
            for k in range(3):
                d = pos[i, k] - pos[j, k]
                d -= box * np.round(d / box)
                r2 += d * d
            r = np.sqrt(r2)
            if r < rc:
                s6 = (sigma / r) ** 6
                energy += 4.0 * eps * (s6 * s6 - s6) - shift
                virial += 24.0 * eps * (2.0 * s6 * s6 - s6)
    return energy, virial


def _bundle(rng, n):
    cameras = 0.2 * rng.normal(size=(2, 8))
    cameras[:, 5] -= 5.0
    cameras[:, 6] += 1.0
    points = rng.normal(size=(n, 3))
    m = 2 * n
    return cameras, points, rng.normal(size=(m, 2)), rng.integers(0, 2, m), rng.integers(0, max(n, 1), m)


def _spline(rng, n):
    knots = np.sort(rng.uniform(0.0, 1.0, n)) + np.arange(n)
    return knots, rng.normal(size=n), rng.normal(size=n), rng.uniform(-0.5, n + 0.5, 6)


def _particles(rng, n):
    lattice = np.stack(np.meshgrid(*[np.arange(2.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)[:n]
    return 1.1 * lattice + 0.1 * rng.normal(size=(n, 3)), 4.0, 1.0, 0.9, 1.7


PROGRAMS = (
    Program(reprojection_error, _bundle, (0, 3), (0, 1)),
    Program(spline_evaluate, _spline, (1, 5), (0, 1, 2, 3)),
    Program(pair_energy, _particles, (1, 2, 6), (0, 1, 2, 3, 4)),
)
