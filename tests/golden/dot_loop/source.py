"""A sum of products."""

def dot_loop(x, y):
    s = 0.0
    for i in range(x.size):
        s += x[i] * y[i]
    return s


def arguments(rng):
    return (rng.normal(size=4), rng.normal(size=4))
