"""Neural networks: dense, recurrent and convolutional layers, and their losses."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tests.programs import Program


def perceptron(w1, b1, w2, b2, x, y):
    """Mean squared error of a two-layer perceptron."""
    hidden = np.tanh(x @ w1 + b1)
    out = hidden @ w2 + b2
    return ((out - y) ** 2).sum() / x.shape[0]


@njit
def _sigmoid(z):
    return 1.0 / (1.0 + math.exp(-z))


def lstm(wx, wh, b, xs):
    """Mean final state of an LSTM cell run over a sequence."""
    units = wh.shape[0]
    h = np.zeros(units)
    c = np.zeros(units)
    for t in range(xs.shape[0]):
        gates = xs[t] @ wx + h @ wh + b
        for k in range(units):
            i = _sigmoid(gates[k])
            f = _sigmoid(gates[units + k])
            o = _sigmoid(gates[2 * units + k])
            g = math.tanh(gates[3 * units + k])
            c[k] = f * c[k] + i * g
            h[k] = o * math.tanh(c[k])
    return h.mean()


def convolution_2d(image, kernel):
    """Valid two-dimensional correlation followed by a rectifier."""
    rows, cols = image.shape
    kr, kc = kernel.shape
    out = np.zeros((rows - kr + 1, cols - kc + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            s = 0.0
            for p in range(kr):
                for q in range(kc):
                    s += image[i + p, j + q] * kernel[p, q]
            out[i, j] = s if s > 0.0 else 0.01 * s
    return out


def softmax_cross_entropy(logits, labels):
    """Mean cross-entropy of integer labels."""
    loss = 0.0
    for row, label in zip(logits, labels):
        top = np.max(row)
        total = 0.0
        for z in row:
            total += math.exp(z - top)
        loss += math.log(total) + top - row[label]
    return loss / len(labels)


def _perceptron(rng, n):
    shapes = (3, n), (n,), (n, 2), (2,), (4, 3), (4, 2)
    return tuple(rng.normal(size=s) for s in shapes)


def _lstm(rng, n):
    return rng.normal(size=(2, 4 * n)), rng.normal(size=(n, 4 * n)), rng.normal(size=4 * n), rng.normal(size=(n - 1, 2))


PROGRAMS = (
    Program(perceptron, _perceptron, (1, 5), (0, 1, 2, 3)),
    Program(lstm, _lstm, (1, 4), (0, 1, 2, 3)),
    Program(convolution_2d, lambda rng, n: (rng.normal(size=(n, n + 1)), rng.normal(size=(2, 3))), (2, 5), (0, 1)),
    Program(softmax_cross_entropy, lambda rng, n: (rng.normal(size=(n, 3)), rng.integers(0, 3, n)), (1, 5)),
)
