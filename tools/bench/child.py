"""One first call in a process of its own: `python -m tools.bench.child NAME KIND` prints seconds and bytes as JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit

import tapec
from tools.bench.measure import ADJOINT
from tools.bench.programs import PROBLEMS, Problem

KINDS = ("primal", "gradient", "adjoint")


def main(name: str, kind: str) -> None:
    problem = next(problem for problem in PROBLEMS if problem.name == name)
    args = problem.arguments()
    function = compiled(problem, kind)
    begin, begun = time.perf_counter(), time.process_time()
    function(*args)
    first, processor = time.perf_counter() - begin, time.process_time() - begun
    print(json.dumps({"first": first, "processor": processor, "peak": peak(function, args)}))


def compiled(problem: Problem, kind: str) -> Callable[..., Any]:
    """One of the kinds of function that a problem has, to be compiled by its first call or loaded from the disk."""
    if kind == "primal":
        return njit(cache=True)(problem.f)
    if kind == "gradient":
        return problem.derivative or tapec.value_and_grad(problem.f, wrt=problem.wrt)
    assert problem.adjoint is not None
    return njit(cache=True, **ADJOINT)(problem.adjoint)


def peak(function: Callable[..., Any], args: tuple[Any, ...]) -> int | None:
    """How many bytes the process grows by while a compiled function runs; None where the system does not tell."""
    reset = Path("/proc/self/clear_refs")
    try:
        reset.write_text("5")
    except OSError:
        return None
    before = _status("VmRSS")
    function(*args)
    return max(_status("VmHWM") - before, 0)


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return 1024 * int(line.split()[1])
    raise LookupError(field)


if __name__ == "__main__":
    main(*sys.argv[1:])
