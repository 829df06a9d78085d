"""A return from inside nested loops."""

def early_return(x):
    s = 0.0
    for i in range(x.size):
        for j in range(i):
            s += x[i] * x[j]
            if s > 1.0:
                return s * s
    return s


def arguments(rng):
    return (rng.uniform(0.2, 0.6, 6),)
