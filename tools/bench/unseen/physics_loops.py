"""Physics by loops, as people write it for `@njit`."""

from __future__ import annotations

import math

import numpy as np


def kepler_orbits(mean, eccentricity, seen):
    """Squared distance between bodies on their orbits and where they were seen, by Newton's method."""
    total = 0.0
    for i in range(mean.shape[0]):
        e = eccentricity[i]
        anomaly = mean[i] + e * math.sin(mean[i])
        for _ in range(6):
            anomaly -= (anomaly - e * math.sin(anomaly) - mean[i]) / (1.0 - e * math.cos(anomaly))
        x = math.cos(anomaly) - e
        y = math.sqrt(1.0 - e * e) * math.sin(anomaly)
        total += (x - seen[i, 0]) ** 2 + (y - seen[i, 1]) ** 2
    return total


def robertson(start, rate, step, steps):
    """Robertson's stiff reaction by Euler's implicit rule, with Newton's iteration and an elimination in each step."""
    y = start.copy()
    matrix = np.zeros((3, 3))
    defect = np.zeros(3)
    for _ in range(steps):
        old = y.copy()
        for _ in range(3):
            r1 = rate[0] * y[0]
            r2 = rate[1] * y[1] * y[2]
            r3 = rate[2] * y[1] * y[1]
            defect[0] = y[0] - old[0] - step * (-r1 + r2)
            defect[1] = y[1] - old[1] - step * (r1 - r2 - r3)
            defect[2] = y[2] - old[2] - step * r3
            matrix[0, 0] = 1.0 + step * rate[0]
            matrix[0, 1] = -step * rate[1] * y[2]
            matrix[0, 2] = -step * rate[1] * y[1]
            matrix[1, 0] = -step * rate[0]
            matrix[1, 1] = 1.0 + step * (rate[1] * y[2] + 2.0 * rate[2] * y[1])
            matrix[1, 2] = step * rate[1] * y[1]
            matrix[2, 0] = 0.0
            matrix[2, 1] = -2.0 * step * rate[2] * y[1]
            matrix[2, 2] = 1.0
            for k in range(3):
                for i in range(k + 1, 3):
                    factor = matrix[i, k] / matrix[k, k]
                    for j in range(k, 3):
                        matrix[i, j] -= factor * matrix[k, j]
                    defect[i] -= factor * defect[k]
            for i in range(2, -1, -1):
                for j in range(i + 1, 3):
                    defect[i] -= matrix[i, j] * defect[j]
                defect[i] /= matrix[i, i]
            for i in range(3):
                y[i] -= defect[i]
    return y[0] + 2.0 * y[2]


def fluid_cells(position, side, cells, reach):
    """A soft repulsion of particles in a box, whose neighbours are found by linked lists of cells."""
    n = position.shape[0]
    width = side / cells
    first = np.full((cells, cells), -1)
    following = np.full(n, -1)
    for i in range(n):
        cx = int(position[i, 0] / width)
        cy = int(position[i, 1] / width)
        following[i] = first[cx, cy]
        first[cx, cy] = i
    energy = 0.0
    for i in range(n):
        cx = int(position[i, 0] / width)
        cy = int(position[i, 1] / width)
        for ax in range(max(cx - 1, 0), min(cx + 2, cells)):
            for ay in range(max(cy - 1, 0), min(cy + 2, cells)):
                j = first[ax, ay]
                while j >= 0:
                    if j > i:
                        dx = position[i, 0] - position[j, 0]
                        dy = position[i, 1] - position[j, 1]
                        r = math.sqrt(dx * dx + dy * dy)
                        if r < reach:
                            energy += (1.0 - r / reach) ** 2.5
                    j = following[j]
    return energy


def hodgkin_huxley(conductance, reversal, current, dt):
    """The mean square of a neuron's voltage that is driven by a current, by explicit steps."""
    v, m, h, n = -65.0, 0.05, 0.6, 0.32
    total = 0.0
    for t in range(current.shape[0]):
        am = 0.1 * (v + 40.0) / (1.0 - np.exp(-(v + 40.0) / 10.0))
        bm = 4.0 * np.exp(-(v + 65.0) / 18.0)
        ah = 0.07 * np.exp(-(v + 65.0) / 20.0)
        bh = 1.0 / (1.0 + np.exp(-(v + 35.0) / 10.0))
        an = 0.01 * (v + 55.0) / (1.0 - np.exp(-(v + 55.0) / 10.0))
        bn = 0.125 * np.exp(-(v + 65.0) / 80.0)
        sodium = conductance[0] * m**3 * h * (v - reversal[0])
        potassium = conductance[1] * n**4 * (v - reversal[1])
        leak = conductance[2] * (v - reversal[2])
        v += dt * (current[t] - sodium - potassium - leak)
        m += dt * (am * (1.0 - m) - bm * m)
        h += dt * (ah * (1.0 - h) - bh * h)
        n += dt * (an * (1.0 - n) - bn * n)
        total += v * v
    return total / current.shape[0]


def maxwell_plane(permittivity, source, steps):
    """The energy of a field in the plane after a pulse, by Yee's scheme, in place."""
    nx, ny = permittivity.shape
    ez = np.zeros((nx, ny))
    hx = np.zeros((nx, ny))
    hy = np.zeros((nx, ny))
    for t in range(steps):
        for i in range(nx - 1):
            for j in range(ny - 1):
                hx[i, j] -= 0.5 * (ez[i, j + 1] - ez[i, j])
                hy[i, j] += 0.5 * (ez[i + 1, j] - ez[i, j])
        for i in range(1, nx - 1):
            for j in range(1, ny - 1):
                curl = hy[i, j] - hy[i - 1, j] - hx[i, j] + hx[i, j - 1]
                ez[i, j] += 0.5 / permittivity[i, j] * curl
        ez[nx // 2, ny // 2] += source[t]
    energy = 0.0
    for i in range(nx):
        for j in range(ny):
            energy += permittivity[i, j] * ez[i, j] ** 2 + hx[i, j] ** 2 + hy[i, j] ** 2
    return energy


def cloth(height, stiffness, damping, dt, steps):
    """How deep a cloth of springs hangs, which is held at two corners, by semi-implicit steps."""
    rows, columns = height.shape
    place = np.zeros((rows, columns, 3))
    speed = np.zeros((rows, columns, 3))
    for i in range(rows):
        for j in range(columns):
            place[i, j, 0] = i
            place[i, j, 1] = j
            place[i, j, 2] = height[i, j]
    for _ in range(steps):
        force = np.zeros((rows, columns, 3))
        for i in range(rows):
            for j in range(columns):
                force[i, j, 2] -= 0.1
                for di, dj in ((0, 1), (1, 0), (1, 1)):
                    if i + di < rows and j + dj < columns:
                        rest = math.sqrt(di * di + dj * dj)
                        delta = place[i + di, j + dj] - place[i, j]
                        length = np.sqrt(np.sum(delta * delta))
                        pull = stiffness * (length - rest) / length
                        for k in range(3):
                            force[i, j, k] += pull * delta[k]
                            force[i + di, j + dj, k] -= pull * delta[k]
        for i in range(rows):
            for j in range(columns):
                if i == 0 and (j == 0 or j == columns - 1):
                    continue
                for k in range(3):
                    speed[i, j, k] = (1.0 - damping * dt) * speed[i, j, k] + dt * force[i, j, k]
                    place[i, j, k] += dt * speed[i, j, k]
    depth = 0.0
    for i in range(rows):
        for j in range(columns):
            depth += place[i, j, 2] ** 2
    return depth


def radiative_transfer(absorption, scattering, emission, cosine, weight, sweeps):
    """Light that leaves a slab of layers, by sweeps down and up its directions until scattering has settled."""
    layers, directions = absorption.shape[0], cosine.shape[0]
    mean = np.zeros(layers)
    up = 0.0
    for _ in range(sweeps):
        new = np.zeros(layers)
        up = 0.0
        for d in range(directions):
            light = 1.0
            for z in range(layers):
                depth = (absorption[z] + scattering[z]) / cosine[d]
                origin = (absorption[z] * emission[z] + scattering[z] * mean[z]) / (absorption[z] + scattering[z])
                light = light * math.exp(-depth) + origin * (1.0 - math.exp(-depth))
                new[z] += 0.5 * weight[d] * light
            light = 0.0
            for z in range(layers - 1, -1, -1):
                depth = (absorption[z] + scattering[z]) / cosine[d]
                origin = (absorption[z] * emission[z] + scattering[z] * mean[z]) / (absorption[z] + scattering[z])
                light = light * math.exp(-depth) + origin * (1.0 - math.exp(-depth))
                new[z] += 0.5 * weight[d] * light
            up += weight[d] * cosine[d] * light
        mean = new
    return up


def reinitialise(phi, steps):
    """A function whose zero stays is made a distance by Godunov's scheme; how far its slopes are from one."""
    nx, ny = phi.shape
    u = phi.copy()
    for _ in range(steps):
        new = u.copy()
        for i in range(1, nx - 1):
            for j in range(1, ny - 1):
                a = u[i, j] - u[i - 1, j]
                b = u[i + 1, j] - u[i, j]
                c = u[i, j] - u[i, j - 1]
                d = u[i, j + 1] - u[i, j]
                sign = phi[i, j] / math.sqrt(phi[i, j] ** 2 + 1.0)
                if phi[i, j] > 0.0:
                    slope = math.sqrt(
                        max(max(a, 0.0) ** 2, min(b, 0.0) ** 2) + max(max(c, 0.0) ** 2, min(d, 0.0) ** 2) + 1e-12
                    )
                else:
                    slope = math.sqrt(
                        max(min(a, 0.0) ** 2, max(b, 0.0) ** 2) + max(min(c, 0.0) ** 2, max(d, 0.0) ** 2) + 1e-12
                    )
                new[i, j] = u[i, j] - 0.3 * sign * (slope - 1.0)
        u = new
    total = 0.0
    for i in range(nx - 1):
        for j in range(ny - 1):
            total += ((u[i + 1, j] - u[i, j]) ** 2 + (u[i, j + 1] - u[i, j]) ** 2 - 1.0) ** 2
    return total


def ray_spheres(centre, radius, colour, pixels):
    """The brightness of a picture of spheres: each pixel's ray is lit where it meets the nearest of them."""
    total = 0.0
    for p in range(pixels):
        for q in range(pixels):
            dx = (p + 0.5) / pixels - 0.5
            dy = (q + 0.5) / pixels - 0.5
            norm = math.sqrt(dx * dx + dy * dy + 1.0)
            dx, dy, dz = dx / norm, dy / norm, 1.0 / norm
            nearest = 1e30
            hit = -1
            for s in range(radius.shape[0]):
                b = dx * centre[s, 0] + dy * centre[s, 1] + dz * centre[s, 2]
                square = centre[s, 0] ** 2 + centre[s, 1] ** 2 + centre[s, 2] ** 2
                inside = b * b - square + radius[s] ** 2
                if inside > 0.0:
                    t = b - math.sqrt(inside)
                    if 0.0 < t < nearest:
                        nearest = t
                        hit = s
            if hit >= 0:
                nx = (nearest * dx - centre[hit, 0]) / radius[hit]
                ny = (nearest * dy - centre[hit, 1]) / radius[hit]
                nz = (nearest * dz - centre[hit, 2]) / radius[hit]
                light = max(0.0, 0.4 * nx + 0.5 * ny - 0.77 * nz)
                total += colour[hit] * (0.1 + light) ** 2
    return total
