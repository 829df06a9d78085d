"""NumPy expressions and a matrix product."""

import numpy as np


def logistic_loss(w, x, y):
    return np.mean(np.log(1.0 + np.exp(-y * (x @ w))))


def arguments(rng):
    return (rng.normal(size=3), rng.normal(size=(5, 3)), np.sign(rng.normal(size=5)))
