"""A running maximum."""

def drawdown(x):
    peak = x[0]
    worst = 0.0
    for i in range(x.size):
        peak = max(peak, x[i])
        worst = max(worst, peak - x[i])
    return worst


def arguments(rng):
    return (rng.normal(size=6),)
