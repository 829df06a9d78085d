"""A variable set in both branches."""

import numpy as np


def branches(x, y):
    if x > y:
        z = x * y
    elif x > 0.0:
        z = np.sin(x) - y
    else:
        z = x - y * y
    return z * z


def arguments(rng):
    return (rng.uniform(0.1, 0.5), 0.7)
