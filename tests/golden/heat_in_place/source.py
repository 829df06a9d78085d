"""An array updated in place, step by step."""

import numpy as np


def heat_in_place(u, steps):
    v = u.copy()
    for _ in range(steps):
        w = v.copy()
        for i in range(1, v.size - 1):
            v[i] = w[i] + 0.1 * (w[i - 1] - 2.0 * w[i] + w[i + 1])
    return np.sum(v * v)


def arguments(rng):
    return (rng.normal(size=6), 3)
