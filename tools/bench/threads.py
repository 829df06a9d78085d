"""What threads gain: gradients without and with `parallel=True`, by the wall clock.

Times are the least of many, since a thread that waits for a processor delays all others.  Processors of one machine
may share a core; what a plain `prange` loop gains there, measured along with each program, is the scale of its gain.
"""

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

# programs whose outermost loop has iterations that can run in any order, in the largest of their sizes
SHARED = (
    *("rosenbrock", "mixture_loops", "softmax_cross_entropy", "black_scholes_monte_carlo"),
    *("asian_option", "gmm_loops"),
)


# iterations of the plain loop: some milliseconds
PLAIN = 200_000


@dataclass(frozen=True)
class Threaded:
    """Seconds of one program: its primal, its gradient, and the gradient on each number of threads.

    `plain` is a `prange` loop of Numba's that shares nothing, on one thread and on all.
    """

    name: str
    primal: float
    sequential: float
    on: dict[int, float]
    plain: tuple[float, float]

    @property
    def gain(self) -> float:
        """How many times as fast the most threads are as the code without them."""
        return self.sequential / self.on[max(self.on)]

    @property
    def possible(self) -> float:
        """How many times as fast the plain loop is on the most threads as on one."""
        return self.plain[0] / self.plain[1]

    def record(self) -> dict[str, Any]:
        return asdict(self) | {"gain": self.gain, "possible": self.possible}


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
    numbers = np.random.default_rng(1).normal(size=PLAIN)
    calls += [functools.partial(_on, count, _plain, (numbers, np.empty(PLAIN))) for count in (1, most)]
    for call in calls:
        call()
    try:
        primal, sequential, *times, one, all_ = alternate(calls, seconds, min)
    finally:
        numba.set_num_threads(most)
    return Threaded(problem.name, primal, sequential, dict(zip(counts, times, strict=True)), (one, all_))


@njit(parallel=True, cache=True)
def _plain(x: Any, y: Any) -> None:
    for i in numba.prange(x.shape[0]):
        y[i] = np.exp(np.sin(x[i]))


def _on(count: int, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    numba.set_num_threads(count)
    return function(*args)
