"""A condition per element."""

import numpy as np


def masked_mean(x, floor):
    total = 0.0
    count = 0
    for value in x:
        if value < floor:
            continue
        total += value * value
        count += 1
    if count == 0:
        raise ValueError("nothing above the floor")
    return total / count


def arguments(_rng):
    return (np.array([0.4, 0.9, -0.3, 1.2]), 0.1)
