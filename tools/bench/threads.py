"""What threads gain: gradients without and with `parallel=True`, by the wall clock."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numba
import numpy as np
from numba import njit

import tapec
from tools.bench.measure import alternate
from tools.bench.programs import Problem
from tools.bench.scaling import SCALED

# programs whose outermost loop has trips that can run in any order, in the largest of their sizes
SHARED = (
    *("rosenbrock", "mixture_loops", "softmax_cross_entropy", "black_scholes_monte_carlo"),
    *("asian_option", "gmm_loops"),
)


@dataclass(frozen=True)
class Threaded:
    """Seconds of one program: its primal, its gradient, and the gradient on each number of threads."""

    name: str
    primal: float
    sequential: float
    on: dict[int, float]

    @property
    def gain(self) -> float:
        """How many times as fast the most threads are as the code without them."""
        return self.sequential / self.on[max(self.on)]

    def record(self) -> dict[str, Any]:
        return asdict(self) | {"gain": self.gain}


def threaded(problem: Problem, seconds: float) -> Threaded:
    """Time one program on one thread and on all of them, spending about `seconds`."""
    make, sizes = SCALED.get(problem.name, (None, ()))
    args = problem.arguments() if make is None else make(np.random.default_rng(1), sizes[-1])
    most = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    counts = sorted({1, most})
    shared = tapec.value_and_grad(problem.f, wrt=problem.wrt, parallel=True)
    plain = {"primal": njit(problem.f), "sequential": tapec.value_and_grad(problem.f, wrt=problem.wrt)}
    calls: list[Callable[[], Any]] = [functools.partial(function, *args) for function in plain.values()]
    calls += [functools.partial(_on, count, shared, args) for count in counts]
    for call in calls:
        call()
    try:
        primal, sequential, *times = alternate(calls, seconds)
    finally:
        numba.set_num_threads(most)
    return Threaded(problem.name, primal, sequential, dict(zip(counts, times, strict=True)))


def _on(count: int, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    numba.set_num_threads(count)
    return function(*args)
