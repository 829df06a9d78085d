"""What a tape costs beside the work that it watches: `python -m tools.bench.tapes [--json FILE] [--repeats N]`.

Ordinary tapes are compared with their block alone, compiled functions with a jitted function of the
same arguments, and both with TensorFlow's eager tape where TensorFlow is installed.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np
from numba import njit

# read when tapec is imported
os.environ["TAPEC_CACHE"] = "0"

import tapec  # noqa: E402

CALLS = 400


@dataclass(frozen=True)
class Overhead:
    """Microseconds per call; `base` is the same work without a tape.

    limit  what the overhead is to stay below on a quiet machine; None where nothing was promised
    """

    name: str
    base: float
    taped: float
    limit: float | None

    @property
    def overhead(self) -> float:
        return self.taped - self.base

    def record(self) -> dict[str, Any]:
        return asdict(self) | {"overhead": self.overhead}


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
    ("compiled function, numbers", compiled_numbers, 3.0),
    ("compiled function, a step with variables", compiled_step, 3.0),
    *((("tf.GradientTape, five operations", tensorflow_eager, None),) if find_spec("tensorflow") else ()),
)


def measure(name: str, make: Callable[[], Any], limit: float | None, repeats: int) -> Overhead:
    """Alternating medians of the two, after both have been compiled."""
    base, taped = make()
    for _ in range(3):
        base()
        taped()
    times: tuple[list[float], list[float]] = [], []
    for _ in range(repeats):
        for run, found in zip((base, taped), times, strict=True):
            start = time.perf_counter()
            for _ in range(CALLS):
                run()
            found.append((time.perf_counter() - start) / CALLS * 1e6)
    return Overhead(name, statistics.median(times[0]), statistics.median(times[1]), limit)


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


@click.command()
@click.option("--json", "output", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures here too.")
@click.option("--repeats", default=15, show_default=True, help="How many times to measure each.")
def main(output: Path | None, repeats: int) -> None:
    """Time tapes beside the same work without them."""
    rows = [measure(name, make, limit, repeats) for name, make, limit in CASES]
    click.echo(f"{'microseconds per call':44s}{'without':>10s}{'with':>10s}{'overhead':>10s}{'limit':>8s}")
    for row in rows:
        limit = "" if row.limit is None else f"{row.limit:.0f}"
        click.echo(f"{row.name:44s}{row.base:10.2f}{row.taped:10.2f}{row.overhead:10.2f}{limit:>8s}")
    latency = first_gradient()
    click.echo(f"first gradient of a block of three operations: {latency:.1f} ms")
    if output is not None:
        record = {"rows": [row.record() for row in rows], "first_gradient_ms": latency}
        output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
