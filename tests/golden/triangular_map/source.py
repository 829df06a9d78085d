"""Samples through a triangular map, which run side by side."""

import numpy as np


def triangular_map(w, x):
    n, d = x.shape
    image = np.empty(d)
    total = 0.0
    for i in range(n):
        for r in range(d):
            image[r] = 0.0
            for c in range(r + 1):
                image[r] += w[r, c] * x[i, c]
        for r in range(d):
            total += np.log1p(image[r] * image[r])
    return total


def arguments(rng):
    return rng.normal(size=(3, 3)), rng.normal(size=(5, 3))
