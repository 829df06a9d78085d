"""A cut-off inside a double loop."""

import numpy as np


def pairwise_energy(p, cutoff):
    energy = 0.0
    for i in range(p.shape[0]):
        for j in range(i):
            dx = p[i, 0] - p[j, 0]
            dy = p[i, 1] - p[j, 1]
            r2 = dx * dx + dy * dy
            if r2 < cutoff * cutoff:
                s6 = 1.0 / r2**3
                energy += 4.0 * s6 * (s6 - 1.0)
    return energy


def arguments(rng):
    return (np.arange(8.0).reshape(4, 2) + rng.uniform(-0.2, 0.2, (4, 2)), 4.5)
