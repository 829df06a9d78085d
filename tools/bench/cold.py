"""First calls, cold and from the disk cache, peak memory, and the price of a call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from typing import Any

from numba import njit

import tapec
from tools.bench.child import KINDS
from tools.bench.measure import alternate

_CALLS = 1000


@dataclass(frozen=True)
class Start:
    """One program in processes of its own.

    cold    seconds of the first call, compilation included
    cached  seconds of the first call of the next process, with code from the disk
    peak    bytes that a later call takes at most; None where the system does not tell
    """

    name: str
    kind: str
    cold: float
    cached: float
    peak: int | None

    def record(self) -> dict[str, Any]:
        return asdict(self)


def starts(name: str) -> list[Start]:
    """The first calls of a program and of its gradient."""
    found = []
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            cold, cached = (_child(name, kind, folder) for _ in range(2))
        found.append(Start(name, kind, cold["first"], cached["first"], cached["peak"]))
    return found


def _child(name: str, kind: str, folder: str) -> dict[str, Any]:
    caches = {"TAPEC_CACHE": "1", "TAPEC_CACHE_DIR": f"{folder}/tapec", "NUMBA_CACHE_DIR": f"{folder}/numba"}
    command = [sys.executable, "-m", "tools.bench.child", name, kind]
    done = subprocess.run(command, env=os.environ | caches, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


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
