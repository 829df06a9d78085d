"""A `while` loop on active values."""

def newton_root(x):
    y = x
    err = 1.0
    while err > 1e-10:
        z = 0.5 * (y + x / y)
        err = abs(z - y)
        y = z
    return y


def arguments(rng):
    return (rng.uniform(1.0, 3.0),)
