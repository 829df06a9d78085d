"""Neighbours in a loop."""

def rosenbrock(x):
    s = 0.0
    for i in range(x.size - 1):
        s += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return s


def arguments(rng):
    return (rng.normal(size=6),)
