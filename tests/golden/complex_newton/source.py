"""A complex number in a loop, and its square root."""

import numpy as np


def complex_newton(c, n):
    z = 1.0 + 0.5j
    for _ in range(n):
        z = 0.5 * (z + c / z)
    error = z - np.sqrt(c)
    return abs(error) + z.real


def arguments(rng):
    return complex(*rng.normal(size=2)), 3
