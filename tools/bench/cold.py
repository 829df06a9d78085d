"""First calls, cold and from the disk cache, peak memory, and the price of a call.

`python -m tools.bench.cold [NAME ...]` measures first calls alone, of the programs whose names contain one of these.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from typing import Any

import click
from numba import njit

import tapec
from tools.bench.child import KINDS
from tools.bench.measure import alternate, line
from tools.bench.programs import PROBLEMS, Problem

_CALLS = 1000
# how often a first call from the disk is measured
_CACHED = 3


@dataclass(frozen=True)
class Start:
    """One function of a program in processes of its own: the primal, its gradient, or the adjoint by hand.

    cold      seconds of processor time of the first call, compilation included
    cached    the same of a later process, with code from the disk: the least of some
    cold_wall, cached_wall
              both by the clock on the wall
    peak      bytes that a later call takes at most; None where the system does not tell
    """

    name: str
    kind: str
    cold: float
    cached: float
    cold_wall: float
    cached_wall: float
    peak: int | None

    def record(self) -> dict[str, Any]:
        return asdict(self)


def starts(problem: Problem) -> list[Start]:
    """The first calls of a program, of its gradient, and of its adjoint by hand if there is one."""
    found = []
    for kind in KINDS:
        if kind == "adjoint" and problem.adjoint is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            cold, *later = (_child(problem.name, kind, folder) for _ in range(1 + _CACHED))
        cached = min(later, key=lambda one: float(one["processor"]))
        times = cold["processor"], cached["processor"], cold["first"], cached["first"]
        found.append(Start(problem.name, kind, *times, cached["peak"]))
    return found


def _child(name: str, kind: str, folder: str) -> dict[str, Any]:
    caches = {"TAPEC_CACHE": "1", "TAPEC_CACHE_DIR": f"{folder}/tapec", "NUMBA_CACHE_DIR": f"{folder}/numba"}
    command = [sys.executable, "-m", "tools.bench.child", name, kind]
    done = subprocess.run(command, env=os.environ | _byte_code() | caches, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@functools.lru_cache(1)
def _byte_code() -> dict[str, str]:
    """Variables by which new processes find the byte code of all modules, as those of an installed package do."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    variables = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": folder}
    command = [sys.executable, "-m", "tools.bench.child", PROBLEMS[0].name, "gradient"]
    subprocess.run(command, env=os.environ | variables | {"TAPEC_CACHE": "0"}, capture_output=True, check=True)
    return variables


@dataclass(frozen=True)
class Lateness:
    """How the first calls of a gradient stand to the limits; None where there is no adjoint by hand.

    cold    seconds by which the first gradient is above 1.3 times the adjoint by hand plus 0.3 s
    cached  seconds by which it is, from the disk, above 0.1 s more than Numba's own cached first call: of the adjoint
            by hand, or else of the primal
    """

    name: str
    cold: float | None
    cached: float


def lateness(found: list[Start]) -> Lateness:
    """Compare the first calls of one program."""
    kinds = {start.kind: start for start in found}
    gradient, adjoint = kinds["gradient"], kinds.get("adjoint")
    cold = None if adjoint is None else gradient.cold - (1.3 * adjoint.cold + 0.3)
    cached = gradient.cached - ((adjoint or kinds["primal"]).cached + 0.1)
    return Lateness(gradient.name, cold, cached)


def measured(problems: list[Problem]) -> list[Start]:
    """First calls of several programs, printed on the way, with those that miss the limits at the end."""
    click.echo(line("first call of", "", "cold", "cached", "memory"))
    every, late = [], []
    for problem in problems:
        found = starts(problem)
        for start in found:
            memory = "" if start.peak is None else f"{start.peak / 2**20:.1f} MiB"
            click.echo(line(start.name, start.kind, f"{start.cold:.2f} s", f"{start.cached:.2f} s", memory))
        every += found
        late.append(lateness(found))
    for limit, beyond in (
        ("1.3 times the adjoint by hand plus 0.3 s, cold", {one.name: one.cold or 0.0 for one in late}),
        ("Numba's cached first call plus 0.1 s, from the disk", {one.name: one.cached for one in late}),
    ):
        told = ", ".join(f"{name} (by {seconds:.2f} s)" for name, seconds in beyond.items() if seconds > 0.0)
        click.echo(f"above {limit}: {told or 'none'}")
    return every


def overhead(seconds: float) -> dict[str, float]:
    """Seconds of one call from Python on a number: of a jitted function, and of its compiled derivatives."""

    def square(x: float) -> float:
        return x * x

    functions = {"primal": njit(square), "grad": tapec.grad(square), "value_and_grad": tapec.value_and_grad(square)}

    def calls(function: Any) -> Any:
        def run() -> None:
            for _ in range(_CALLS):
                function(1.5)

        return run

    times = alternate([calls(function) for function in functions.values()], seconds)
    return {name: taken / _CALLS for name, taken in zip(functions, times, strict=True)}


if __name__ == "__main__":
    measured([problem for problem in PROBLEMS if any(part in problem.name for part in sys.argv[1:] or [""])])
