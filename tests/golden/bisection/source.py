"""A loop left by `break`."""

def bisection(a, lo, hi):
    weight = 1.0
    for _ in range(60):
        mid = 0.5 * (lo + hi)
        f = mid * mid * mid - a
        if abs(f) < 1e-3:
            break
        weight *= 1.0 + 0.1 * f
        if f > 0.0:
            hi = mid
        else:
            lo = mid
    return weight * lo


def arguments(rng):
    return (rng.uniform(2.0, 3.0), 1.0, 2.0)
