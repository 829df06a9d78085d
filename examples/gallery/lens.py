"""Optics: a lens of two surfaces that focuses a beam.

Rays are traced through two surfaces by the law of refraction. Least squares with `tapec.jacobian` brings them to the
axis at the film, by a curvature and a conic constant for each surface. Spheres cannot focus all rays, conics can.
"""

import matplotlib.pyplot as plt
import numpy as np
from numba import njit
from scipy.optimize import least_squares

import tapec


@njit
def trace(shape, heights, film):
    """Where rays that come in along the axis go: at the first surface, the second one, and the film."""
    path = np.empty((heights.shape[0], 3, 2))
    for ray in range(heights.shape[0]):
        z, y, dz, dy = -1.0, heights[ray], 1.0, 0.0
        for surface in range(2):
            c, k = shape[2 * surface], shape[2 * surface + 1]
            start = 0.4 * surface
            for _ in range(12):
                root = np.sqrt(1.0 - (1.0 + k) * c * c * y * y)
                # Newton's step along the ray, to the surface z = start + c y^2 / (1 + root)
                step = (z - start - c * y * y / (1.0 + root)) / (dz - c * y / root * dy)
                z, y = z - step * dz, y - step * dy
            tilt = c * y / np.sqrt(1.0 - (1.0 + k) * c * c * y * y)
            nz, ny = 1.0 / np.sqrt(1.0 + tilt * tilt), -tilt / np.sqrt(1.0 + tilt * tilt)
            index, cosine = 1.0 / 1.5 if surface == 0 else 1.5, nz * dz + ny * dy
            extra = np.sqrt(1.0 - index * index * (1.0 - cosine * cosine)) - index * cosine
            dz, dy = index * dz + extra * nz, index * dy + extra * ny
            path[ray, surface, 0], path[ray, surface, 1] = z, y
        path[ray, 2, 0], path[ray, 2, 1] = film, y + (film - z) * dy / dz
    return path


def misses(shape, heights, film):
    return trace(shape, heights, film)[:, 2, 1]


heights, start = np.linspace(-0.8, 0.8, 15), np.array([0.25, 0.0, -0.25, 0.0])
slopes, fits, blurs = tapec.jacobian(misses), {}, {}
for name, free in (("spheres", np.array([1.0, 0.0, 1.0, 0.0])), ("conics", np.ones(4))):
    fit = least_squares(
        lambda s, free=free: misses(s * free, heights, 4.0), start, x_scale=[0.1, 1.0, 0.1, 1.0],
        jac=lambda s, free=free: slopes(s * free, heights, 4.0) * free, bounds=([0, -9, -0.9, -9], [0.9, 3, 0, 3]),
    )
    fits[name], blurs[name] = fit.x * free, np.sqrt(np.mean(fit.fun**2))
    print(f"{name:8} blur {blurs[name]:.1e}, shape {fits[name].round(3)}")
assert blurs["conics"] < 0.01 * blurs["spheres"]

figure, axes = plt.subplots(1, 2, figsize=(7, 3), layout="constrained", sharey=True)
for place, (name, found) in zip(axes, fits.items(), strict=True):
    for ray in trace(found, heights, 4.0):
        place.plot([-1.0, *ray[:, 0]], [ray[0, 1], *ray[:, 1]], "C0", lw=0.7)
    place.set(title=name, xlim=(-1, 4.05))
figure.savefig("lens.svg")
