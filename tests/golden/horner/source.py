"""A recurrence that the reverse sweep needs no values of."""

def horner(c, x):
    r = 0.0
    for i in range(c.size - 1, -1, -1):
        r = r * x + c[i]
    return r


def arguments(rng):
    return (rng.normal(size=5), 0.7)
