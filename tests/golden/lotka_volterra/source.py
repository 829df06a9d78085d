"""Euler steps of two variables."""

def lotka_volterra(x, y, a, steps):
    for _ in range(steps):
        dx = a * x - 0.4 * x * y
        dy = 0.1 * x * y - 0.3 * y
        x, y = x + 0.05 * dx, y + 0.05 * dy
    return x * y


def arguments(_rng):
    return (1.2, 0.8, 0.9, 5)
