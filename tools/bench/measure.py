"""Time one problem: run times by alternating medians, compile times by first calls."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numba import njit

import tapec
from tools.bench.peers import Peer
from tools.bench.programs import Args, Problem

TOLERANCE = 1e-8
# how long a tool's turn is, in seconds
TURN = 5e-4
# how adjoints by hand are compiled: generated gradients have these flags too, which let sums vectorise
ADJOINT: dict[str, Any] = {"fastmath": {"reassoc", "contract"}, "error_model": "numpy"}


class WrongGradient(Exception):
    """A gradient that differs from the hand-written one."""


@dataclass(frozen=True)
class Row:
    """Seconds for one problem; None where there is no hand-written adjoint.

    `fast` is the primal with all of Numba's `fastmath`, which may give up on nan and infinities.
    The peers are those that have the problem: name -> seconds for value and gradient.
    """

    name: str
    primal: float
    fast: float
    gradient: float
    adjoint: float | None
    primal_first: float
    gradient_first: float
    adjoint_first: float | None
    peers: dict[str, float] = field(default_factory=dict)
    peers_first: dict[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """Value and gradient together, in primals."""
        return self.gradient / self.primal

    @property
    def adjoint_ratio(self) -> float | None:
        return None if self.adjoint is None else self.adjoint / self.primal

    def record(self) -> dict[str, Any]:
        """The row as JSON takes it."""
        return asdict(self) | {"ratio": self.ratio, "adjoint_ratio": self.adjoint_ratio}


def warm_up() -> None:
    """Pay once what the first compilation of a process costs, whatever it compiles."""

    def cube(x: Any) -> Any:
        total = 0.0
        for i in range(x.shape[0]):
            total += np.exp(x[i]) * x[i] ** 3
        return total

    njit(cube)(np.ones(2))
    tapec.value_and_grad(cube)(np.ones(2))


def measure(
    problem: Problem, seconds: float, peers: tuple[Peer, ...] = (), args: Args | None = None, turn: float = TURN
) -> Row:
    """Compile, compare and time one problem, spending about `seconds` on run times.

    `args` stand in for the problem's own arguments, for other sizes; `turn` is that of `alternate`.
    """
    args = problem.arguments() if args is None else args
    calls = functions(problem, args)
    calls |= {
        peer.name: peer.gradient(problem.name, problem.wrt, args) for peer in peers if problem.name in peer.programs
    }
    firsts, results = {}, {}
    for name, call in calls.items():
        begin = time.perf_counter()
        results[name] = call()
        firsts[name] = time.perf_counter() - begin
    compare(problem.name, results)
    medians = dict(zip(calls, alternate(list(calls.values()), seconds, turn=turn), strict=True))
    others = [name for name in calls if name not in OWN]
    return Row(
        problem.name,
        medians["primal"],
        medians["fast"],
        medians["gradient"],
        medians.get("adjoint"),
        firsts["primal"],
        firsts["gradient"],
        firsts.get("adjoint"),
        {name: medians[name] for name in others},
        {name: firsts[name] for name in others},
    )


OWN = ("primal", "fast", "gradient", "adjoint")


def functions(problem: Problem, args: Args) -> dict[str, Callable[[], Any]]:
    """Calls of the primal, plain and with `fastmath`, of its gradient, and of the adjoint by hand if there is one."""
    compiled = {
        "primal": njit(problem.f),
        "fast": njit(fastmath=True)(problem.f),
        "gradient": problem.derivative or tapec.value_and_grad(problem.f, wrt=problem.wrt),
    }
    if problem.adjoint is not None:
        compiled["adjoint"] = njit(**ADJOINT)(problem.adjoint)
    return {name: functools.partial(function, *args) for name, function in compiled.items()}


def compare(name: str, results: dict[str, Any]) -> None:
    """Raise unless all values and gradients agree."""
    value, (found, gradients) = results["primal"], results["gradient"]
    pairs = [(found, value)]
    for other in results.keys() - {"primal", "fast", "gradient"}:
        pairs += [(found, results[other][0]), *zip(gradients, results[other][1], strict=True)]
    for mine, wanted in pairs:
        scale = TOLERANCE * (1.0 + np.max(np.abs(wanted)))
        if not np.max(np.abs(np.subtract(mine, wanted))) <= scale:
            raise WrongGradient(f"{name}: {mine!r} against {wanted!r}")


def alternate(
    calls: list[Callable[[], Any]],
    seconds: float,
    pick: Callable[[list[float]], float] = statistics.median,
    turn: float = TURN,
) -> list[float]:
    """Seconds of each call: the median, or what `pick` makes of many times.

    The calls take turns, so that all of them see the machine in the same state; each turn repeats
    a short call until it takes `turn` seconds.  The first call of a turn finds the caches as the others left them.
    """
    repeats = []
    for call in calls:
        single = min(_timed(call, 1) for _ in range(3))
        repeats.append(max(1, round(turn / max(single, 1e-9))))
    times: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 5:
        for taken, call, repeat in zip(times, calls, repeats, strict=True):
            taken.append(_timed(call, repeat))
    return [pick(taken) for taken in times]


def _timed(call: Callable[[], Any], repeat: int) -> float:
    begin = time.perf_counter()
    for _ in range(repeat):
        call()
    return (time.perf_counter() - begin) / repeat


def line(name: str, *columns: str) -> str:
    """One line of a table."""
    return f"{name:<28}" + "".join(f"{column:>14}" for column in columns)
