"""A `while` inside a `for`."""

def nested_while(x):
    s = 0.0
    for i in range(x.size):
        v = x[i]
        while abs(v) > 0.1:
            v = 0.5 * v * v
            s += v
    return s


def arguments(rng):
    return (rng.uniform(0.3, 1.5, 4),)
