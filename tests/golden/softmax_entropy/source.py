"""A maximum taken out of exponentials."""

import math


def softmax_entropy(z, label):
    top = z[0]
    for i in range(1, z.size):
        if z[i] > top:
            top = z[i]
    total = 0.0
    for i in range(z.size):
        total += math.exp(z[i] - top)
    return math.log(total) + top - z[label]


def arguments(rng):
    return (rng.normal(size=5), 2)
