"""Views written through."""

def views(x):
    y = x.copy()
    inner = y[1:-1]
    for i in range(inner.size):
        inner[i] = inner[i] * y[i]
    return y.sum()


def arguments(rng):
    return (rng.normal(size=6),)
