"""Elementwise expressions on complex arrays."""

import numpy as np


def hologram(phase, field):
    wave = np.exp(1j * phase) * field + 1.0
    return np.sum(np.abs(wave) ** 2) + wave[0].imag


def arguments(rng):
    return rng.normal(size=4), rng.normal(size=4) + 1j * rng.normal(size=4)
