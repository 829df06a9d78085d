"""A binomial tree, backwards in place."""

import numpy as np


def option_tree(spot, strike, steps):
    up = 1.1
    values = np.empty(steps + 1)
    for i in range(steps + 1):
        values[i] = max(strike - spot * up ** (2 * i - steps), 0.0)
    for k in range(steps, 0, -1):
        for i in range(k):
            hold = 0.49 * (values[i] + values[i + 1])
            values[i] = max(hold, strike - spot * up ** (2 * i - k + 1))
    return values[0]


def arguments(_rng):
    return (95.0, 100.0, 4)
