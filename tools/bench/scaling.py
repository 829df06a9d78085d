"""Problems in several sizes, from what fits the first-level cache to what fits none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tools.bench.programs import Args

SCALED: dict[str, tuple[Callable[[np.random.Generator, int], Args], tuple[int, ...]]] = {
    "rosenbrock": (lambda rng, n: (rng.normal(size=n),), (100, 1_000, 10_000, 100_000, 1_000_000)),
    "heat_1d": (lambda rng, n: (rng.normal(size=n), 0.2, 20), (100, 1_000, 10_000, 100_000)),
    "mixture_loops": (
        lambda rng, n: (rng.normal(size=(n, 5)), rng.normal(size=10), rng.normal(size=(10, 5)), np.zeros(10)),
        (10, 100, 1_000, 10_000, 100_000),
    ),
    "softmax_cross_entropy": (
        lambda rng, n: (rng.normal(size=(n, 10)), rng.integers(0, 10, n)),
        (10, 100, 1_000, 10_000, 100_000),
    ),
    "black_scholes_monte_carlo": (
        lambda rng, n: (100.0, 103.0, 0.02, 0.25, 0.7, rng.normal(size=n)),
        (100, 1_000, 10_000, 100_000, 1_000_000),
    ),
}
