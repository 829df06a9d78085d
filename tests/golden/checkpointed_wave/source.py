"""A wave whose gradient keeps few snapshots of three buffers that change places."""

import numpy as np

import tapec


def checkpointed_wave(start, speed, steps):
    old, now, new = start.copy(), start.copy(), np.zeros(start.shape[0])
    for _ in tapec.checkpointed(range(steps), slots=3):
        for i in range(1, now.shape[0] - 1):
            new[i] = 2.0 * now[i] - old[i] + speed * (now[i - 1] - now[i] * now[i] + now[i + 1])
        old, now, new = now, new, old
    energy = 0.0
    for i in range(now.shape[0]):
        energy += now[i] ** 2
    return energy


def arguments(rng):
    return (rng.normal(size=5), 0.4, 7)
