"""How far a gradient is from differences of its function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tapec
from tools.bench.programs import Args, Problem

STEP = 1e-5


def worst_deviation(problem: Problem, make: Callable[[np.random.Generator], Args]) -> float:
    """The largest deviation, over the arguments of a derivative, of its slope in a random direction.

    In multiples of the slope, or of one if that is less. The differences are central, of fourth order.
    """
    rng = np.random.default_rng(3)
    args = make(rng)
    value, gradients = tapec.value_and_grad(problem.f, wrt=problem.wrt)(*args)
    deviations = [abs(value - problem.f(*args)) / (1.0 + abs(value))]
    for k, gradient in zip(problem.wrt, gradients, strict=True):
        direction = rng.normal(size=np.shape(args[k]))[()]
        mine = np.sum(gradient * direction)
        wanted = _slope(problem.f, args, k, direction)
        deviations.append(abs(mine - wanted) / (1.0 + abs(wanted)))
    # a nan is worse than any number
    return float(np.max(deviations))


def _slope(f: Callable[..., Any], args: Args, k: int, direction: Any) -> Any:
    def at(step: float) -> Any:
        return f(*args[:k], args[k] + step * direction, *args[k + 1 :])

    near, far = at(STEP) - at(-STEP), at(2.0 * STEP) - at(-2.0 * STEP)
    return (8.0 * near - far) / (12.0 * STEP)
