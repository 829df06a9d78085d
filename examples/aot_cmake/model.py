"""The function whose gradient the programs use."""

import numpy as np


def misfit(p, t, seen):
    """Half the sum of squared differences between a damped oscillation and measurements.

    p     amplitude, decay, and angular frequency
    t     times, (n,)
    seen  what was measured then, (n,)
    """
    if t.shape[0] != seen.shape[0]:
        raise ValueError("every time needs a measurement")
    total = 0.0
    for i in range(t.shape[0]):
        error = p[0] * np.exp(-p[1] * t[i]) * np.cos(p[2] * t[i]) - seen[i]
        total += 0.5 * error * error
    return total
