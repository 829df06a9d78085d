"""What a tape costs beside the work that it watches: `python -m tools.bench.tapes [--json FILE] [--repeats N]`.

Ordinary tapes are compared with their block alone, compiled functions with a jitted function of the
same arguments, and both with TensorFlow's eager tape where TensorFlow is installed.  Times are by the
wall clock, medians; and by the processor's, the least of all rounds, which other programs disturb less.
"""

from __future__ import annotations

import json
import linecache
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import click
import numpy as np
from numba import njit

import tapec
from tapec.tape.run import compiled_derivative

CALLS = 400


@dataclass(frozen=True)
class Overhead:
    """Microseconds per call by the wall clock and of processor time; `base` is the same work without a tape.

    limit  what the overhead is to stay below on a quiet machine; None where nothing was promised
    """

    name: str
    base: float
    taped: float
    base_cpu: float
    taped_cpu: float
    limit: float | None

    @property
    def overhead(self) -> float:
        return self.taped - self.base

    @property
    def overhead_cpu(self) -> float:
        return self.taped_cpu - self.base_cpu

    def record(self) -> dict[str, Any]:
        return asdict(self) | {"overhead": self.overhead, "overhead_cpu": self.overhead_cpu}


def body(a: Any, b: Any) -> Any:
    """Two numbers, five operations."""
    return (a * b + a) * b - a * 0.5


def ordinary() -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The block alone, and with a tape around it that is asked for a gradient."""
    a, b = tapec.constant(1.5), tapec.constant(0.5)

    def alone() -> Any:
        return body(a, b)

    def taped() -> Any:
        with tapec.GradientTape() as tape:
            tape.watch([a, b])
            y = (a * b + a) * b - a * 0.5
        return tape.gradient(y, [a, b])

    return alone, taped


def floats() -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The same on Python floats that are new each time."""
    start = 1.5

    def alone() -> Any:
        a, b = start + 0.25, start - 1.0
        return body(a, b)

    def taped() -> Any:
        a, b = start + 0.25, start - 1.0
        with tapec.GradientTape() as tape:
            tape.watch([a, b])
            y = (a * b + a) * b - a * 0.5
        return tape.gradient(y, [a, b])

    return alone, taped


def variables() -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The same on variables, which tapes watch when they are read."""
    a, b = tapec.Variable(1.5), tapec.Variable(0.5)

    def alone() -> Any:
        return body(a, b)

    def taped() -> Any:
        with tapec.GradientTape() as tape:
            y = (a * b + a) * b - a * 0.5
        return tape.gradient(y, [a, b])

    return alone, taped


MODULE = """
for _ in range(1):
    with tapec.GradientTape() as tape:
        tape.watch([a, b])
        y = (a * b + a) * b - a * 0.5
    found = tape.gradient(y, [a, b])
"""


def module_level() -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A loop whose variables are those of a module."""
    text = MODULE
    names: dict[str, Any] = {"tapec": tapec, "a": tapec.constant(1.5), "b": tapec.constant(0.5)}
    linecache.cache["<module>"] = (len(text), None, text.splitlines(True), "<module>")
    code = compile(text, "<module>", "exec")
    bare = compile("for _ in range(1):\n    y = (a * b + a) * b - a * 0.5\n", "<bare>", "exec")

    def alone() -> Any:
        exec(bare, names)

    def taped() -> Any:
        exec(code, names)
        return names["found"]

    return alone, taped


def fit() -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The loss of a linear fit with variables of eight numbers and of one."""
    x, w, b = np.linspace(0.0, 1.0, 8), tapec.Variable(np.zeros(8)), tapec.Variable(0.0)

    def alone() -> Any:
        return (w @ x + b - 1.0) ** 2

    def taped() -> Any:
        with tapec.GradientTape() as tape:
            loss = (w @ x + b - 1.0) ** 2
        return tape.gradient(loss, [w, b])

    return alone, taped


def compiled_numbers() -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A jitted function that returns two numbers, and a compiled function with a tape that does."""

    @njit
    def plain(a: Any, b: Any) -> Any:
        return b * b + b - 0.5, 2.0 * a * b + a

    @tapec.function
    def taped(a: Any, b: Any) -> Any:
        with tapec.GradientTape() as tape:
            tape.watch([a, b])
            y = (a * b + a) * b - a * 0.5
        return tape.gradient(y, (a, b))

    return lambda: plain(1.5, 0.5), lambda: taped(1.5, 0.5)


def compiled_step() -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A step of a linear fit: written by hand and jitted, and with a tape and variables."""
    x, w, b = np.linspace(0.0, 1.0, 8), np.zeros(8), np.zeros(1)
    variable, offset = tapec.Variable(np.zeros(8)), tapec.Variable(0.0)

    @njit
    def plain(x: Any, y: Any, w: Any, b: Any) -> Any:
        error = np.dot(w, x) + b[0] - y
        slope = 2.0 * error
        return error * error, w - 0.01 * slope * x, b - 0.01 * slope

    @tapec.function
    def taped(x: Any, y: Any) -> Any:
        with tapec.GradientTape() as tape:
            loss = (variable @ x + offset - y) ** 2
        by_w, by_b = tape.gradient(loss, (variable, offset))
        variable.assign_sub(0.01 * by_w)
        offset.assign_sub(0.01 * by_b)
        return loss

    return lambda: plain(x, 1.0, w, b), lambda: taped(x, 1.0)


def tensorflow_eager() -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The block of `ordinary` on TensorFlow's tensors, and with its tape."""
    import tensorflow as tf

    a, b = tf.constant(1.5, tf.float64), tf.constant(0.5, tf.float64)

    def taped() -> Any:
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            y = body(a, b)
        return tape.gradient(y, [a, b])

    return lambda: body(a, b), taped


CASES: tuple[tuple[str, Callable[[], Any], float | None], ...] = (
    ("tape, five operations", ordinary, 25.0),
    ("tape, Python floats", floats, 25.0),
    ("tape, variables", variables, 25.0),
    ("tape, in a module's loop", module_level, 25.0),
    ("tape, a linear fit", fit, 25.0),
    ("compiled function, numbers", compiled_numbers, 3.0),
    ("compiled function, a step with variables", compiled_step, 3.0),
    *((("tf.GradientTape, five operations", tensorflow_eager, None),) if find_spec("tensorflow") else ()),
)


def measure(name: str, make: Callable[[], Any], limit: float | None, repeats: int) -> Overhead:
    """The two in turn, after both have been compiled."""
    base, taped = make()
    # what is used again is compiled at once
    with mock.patch.object(compiled_derivative, "SECONDS_PER_STATEMENT", 0.0):
        for _ in range(4):
            base()
            taped()
    wall: tuple[list[float], list[float]] = [], []
    cpu: tuple[list[float], list[float]] = [], []
    for _ in range(repeats):
        for place, run in enumerate((base, taped)):
            start, spent = time.perf_counter(), time.process_time()
            for _ in range(CALLS):
                run()
            cpu[place].append((time.process_time() - spent) / CALLS * 1e6)
            wall[place].append((time.perf_counter() - start) / CALLS * 1e6)
    base_wall, taped_wall = map(statistics.median, wall)
    return Overhead(name, base_wall, taped_wall, min(cpu[0]), min(cpu[1]), limit)


def first_gradient() -> float:
    """Milliseconds from entering a tape that was never met to its first gradient."""
    x = tapec.constant(1.5)
    # what the first tape of a process imports is not the tape's price
    ordinary()[1]()
    start = time.perf_counter()
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = np.sin(x) * x + 1.0
    tape.gradient(y, x)
    return (time.perf_counter() - start) * 1e3


FRESH = """
import time
import numpy as np
import tapec
from tapec.tape.run import compiled_derivative

x = tapec.constant(1.5)
start = time.process_time()
with tapec.GradientTape() as tape:
    tape.watch(x)
    y = np.sin(x) * x + 1.0
tape.gradient(y, x)
print((time.process_time() - start) * 1e3)
"""


def first_of_a_process() -> float:
    """Milliseconds of processor time of the first tape of a process, which imports the compiler and Numba."""
    found = [
        float(subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    ]
    return min(found)


@click.command()
@click.option("--json", "output", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures here too.")
@click.option("--repeats", default=15, show_default=True, help="How many times to measure each.")
def main(output: Path | None, repeats: int) -> None:
    """Time tapes beside the same work without them."""
    rows = [measure(name, make, limit, repeats) for name, make, limit in CASES]
    click.echo(f"{'microseconds per call':42s}{'wall clock':>30s}{'processor time':>30s}{'limit':>8s}")
    click.echo(f"{'':42s}" + f"{'without':>10s}{'with':>10s}{'overhead':>10s}" * 2)
    for row in rows:
        limit = "" if row.limit is None else f"{row.limit:.0f}"
        wall = f"{row.base:10.2f}{row.taped:10.2f}{row.overhead:10.2f}"
        cpu = f"{row.base_cpu:10.2f}{row.taped_cpu:10.2f}{row.overhead_cpu:10.2f}"
        click.echo(f"{row.name:42s}{wall}{cpu}{limit:>8s}")
    latency, fresh = first_gradient(), first_of_a_process()
    click.echo(f"first gradient of a block of three operations: {latency:.1f} ms")
    click.echo(f"the first one of a process, with its imports: {fresh:.0f} ms of processor time")
    if output is not None:
        record = {
            "rows": [row.record() for row in rows], "first_gradient_ms": latency, "first_of_a_process_ms": fresh,
        }  # fmt: skip
        output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    # first calls are to compile, not to load what an earlier run left
    os.environ["TAPEC_CACHE"] = "0"
    main()
