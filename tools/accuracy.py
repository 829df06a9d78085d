"""Measure the runtime's elementary functions: `python -m tools.accuracy [--points N | --speed]`.

Each function is run in a loop that LLVM vectorises and compared with mpmath, in units in the last
place (ulp) of the exact result: over all exponents, and closely where its formula changes.  With
`--speed` the same loop is timed against one that calls the C library.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
import mpmath as mp
import numpy as np
from numba import njit

import tapec_runtime

LIMIT = 2.0
_BITS = 200
# sines of the largest numbers need pi to this many bits
_BITS_OF_PI = 1300
_RUNS = 500

Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Subject:
    """One function: its name, its exact values, and intervals to look at closely.

    exact      mpmath's function
    intervals  where its formula changes, or where arguments usually are
    largest    beyond this size the result is 0, 1, or infinite
    lowest     below this there is no real result
    bits       the precision that `exact` needs
    """

    name: str
    exact: Callable[..., Any]
    intervals: tuple[tuple[float, float], ...]
    largest: float = np.inf
    lowest: float = -np.inf
    bits: int = _BITS


SUBJECTS = (
    Subject("exp", mp.exp, ((-1.0, 1.0), (-746.0, -705.0), (700.0, 711.0), (-40.0, 40.0)), 800.0),
    Subject("expm1", mp.expm1, ((-1.1, 1.1), (0.34, 0.4), (-40.0, 10.0), (700.0, 711.0)), 800.0),
    Subject("log", mp.log, ((0.5, 2.0), (0.0, 10.0), (0.0, 1e-307)), lowest=0.0),
    Subject("log1p", mp.log1p, ((-1.0, 1.0), (0.41, 0.43), (0.0, 10.0), (1e15, 1e17)), lowest=-1.0),
    Subject("sinh", mp.sinh, ((-1.5, 1.5), (-30.0, 30.0), (700.0, 711.0)), 800.0),
    Subject("cosh", mp.cosh, ((-1.5, 1.5), (-30.0, 30.0), (700.0, 711.0)), 800.0),
    Subject("tanh", mp.tanh, ((-0.7, 0.7), (0.15, 0.3), (-3.0, 3.0), (15.0, 25.0)), 1000.0),
    Subject("sin", mp.sin, ((-4.0, 4.0), (1.4, 1.7), (-1e3, 1e3), (1e9, 1.2e9)), bits=_BITS_OF_PI),
    Subject("cos", mp.cos, ((-4.0, 4.0), (-0.1, 0.1), (-1e3, 1e3), (1e9, 1.2e9)), bits=_BITS_OF_PI),
    Subject("tan", mp.tan, ((-4.0, 4.0), (-1e3, 1e3), (1e9, 1.2e9)), bits=_BITS_OF_PI),
    Subject("arctan", mp.atan, ((-0.5, 0.5), (0.6, 0.7), (-3.0, 3.0), (-50.0, 50.0))),
    Subject("erf", mp.erf, ((-1.1, 1.1), (-6.5, 6.5)), 100.0),
    Subject("lgamma", mp.loggamma, ((0.0, 0.5), (0.5, 2.5), (2.5, 9.0), (9.0, 1e3)), lowest=0.0),
    Subject("digamma", mp.digamma, ((0.0, 1.0), (1.4, 1.5), (1.0, 2.5), (2.5, 9.0), (9.0, 1e3)), lowest=0.0),
)

# functions for one number that NumPy lacks
LIBRARY = {
    "erf": lambda x: math.erf(x),
    "lgamma": lambda x: math.lgamma(x),
    "digamma": lambda x: tapec_runtime.polygamma(0, x),
}


def library(name: str) -> Callable[..., Any]:
    """The function for one number that jitted code calls where nothing is vectorised."""
    return LIBRARY.get(name) or getattr(np, name)


def loop(function: Callable[..., Any]) -> Any:
    """A jitted loop that applies a function of one number."""

    @njit(error_model="numpy")
    def apply(x: Numbers, out: Numbers) -> None:
        for i in range(x.shape[0]):
            out[i] = function(x[i])

    return apply


def loop_of_two(function: Callable[..., Any]) -> Any:
    """A jitted loop that applies a function of two numbers."""

    @njit(error_model="numpy")
    def apply(x: Numbers, z: Numbers, out: Numbers) -> None:
        for i in range(x.shape[0]):
            out[i] = function(x[i], z[i])

    return apply


def ulps(found: float, exact: Any, dtype: Any = np.float64) -> float:
    """The error of a result in units in the last place of the exact one; overflow is right where it is due."""
    info = np.finfo(dtype)
    halfway = mp.mpf(float(info.max)) * (1 + mp.mpf(2) ** (-info.nmant - 2))
    if abs(exact) >= halfway:
        return 0.0 if np.isinf(found) and (found > 0) == (exact > 0) else np.inf
    if not np.isfinite(found):
        return np.inf
    exponent = int(mp.floor(mp.log(abs(exact), 2))) if exact != 0 else info.minexp
    return float(abs(mp.mpf(float(found)) - exact) / mp.mpf(2) ** (max(exponent, info.minexp) - info.nmant))


def samples(subject: Subject, points: int, dtype: Any, rng: np.random.Generator) -> Numbers:
    """Arguments of all exponents, and from the subject's intervals."""
    integer = np.int64 if dtype == np.float64 else np.int32
    limits = np.iinfo(integer)
    spread = rng.integers(limits.min, limits.max, points, dtype=integer).view(dtype)
    near = [rng.uniform(low, high, points).astype(dtype) for low, high in subject.intervals]
    x = np.concatenate([spread, *near, np.array([1.0, -1.0, 0.5], dtype)])
    return x[np.isfinite(x) & (np.abs(x) <= subject.largest) & (x > subject.lowest)]


def worst(subject: Subject, points: int, dtype: Any = np.float64, seed: int = 1) -> tuple[float, float]:
    """The largest error met, in ulp, and its argument."""
    x = samples(subject, points, dtype, np.random.default_rng(seed))
    out = np.empty_like(x)
    loop(getattr(tapec_runtime, subject.name))(x, out)
    with mp.workprec(subject.bits):
        errors = [ulps(y, subject.exact(mp.mpf(float(a))), dtype) for a, y in zip(x, out, strict=True)]
    k = int(np.argmax(errors))
    return errors[k], float(x[k])


def powers(points: int, dtype: Any, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Bases and exponents: usual ones, results near the ends of the range, bases near 1, subnormal bases."""
    bases = [
        rng.uniform(0.0, 5.0, points),
        np.exp(rng.uniform(-80.0, 80.0, points)),
        1.0 + 1e-3 * rng.normal(size=points),
        rng.uniform(0.0, 1.0, points) * np.finfo(dtype).tiny,
    ]
    exponents = [
        rng.uniform(-10.0, 10.0, points),
        rng.uniform(-10.0, 10.0, points),
        10.0 ** rng.uniform(0.0, 5.7, points),
        rng.uniform(-1.0, 1.0, points),
    ]
    return np.concatenate(bases).astype(dtype), np.concatenate(exponents).astype(dtype)


def worst_power(points: int, dtype: Any = np.float64, seed: int = 1) -> tuple[float, tuple[float, float]]:
    """The largest error of `power`, in ulp, and its arguments."""
    x, z = powers(points, dtype, np.random.default_rng(seed))
    out = np.empty_like(x)
    loop_of_two(tapec_runtime.power)(x, z, out)
    with mp.workprec(_BITS):
        exact = [mp.mpf(float(a)) ** mp.mpf(float(b)) for a, b in zip(x, z, strict=True)]
        errors = [ulps(y, e, dtype) for y, e in zip(out, exact, strict=True)]
    k = int(np.argmax(errors))
    return errors[k], (float(x[k]), float(z[k]))


def nanoseconds(apply: Callable[..., Any], arrays: tuple[Numbers, ...]) -> float:
    """Time per element of a loop, the least of many runs."""
    apply(*arrays)
    times = []
    for _ in range(_RUNS):
        begin = time.perf_counter()
        apply(*arrays)
        times.append(time.perf_counter() - begin)
    return 1e9 * min(times) / arrays[0].size


def speeds(name: str) -> list[float]:
    """Nanoseconds per element: ours in double and single precision, and the C library's."""
    function, plain = getattr(tapec_runtime, name), njit(library(name)) if name in LIBRARY else library(name)
    two = name == "power"
    make, count = (loop_of_two, 3) if two else (loop, 2)
    usual = np.random.default_rng(1).uniform(0.1, 3.0, 4096)
    doubles, singles = (tuple(usual.astype(dtype) for _ in range(count)) for dtype in (np.float64, np.float32))
    ours = make(function)
    return [nanoseconds(ours, doubles), nanoseconds(ours, singles), nanoseconds(make(plain), doubles)]


def print_errors(points: int) -> None:
    """The largest error of each function, in units in the last place."""
    for dtype in (np.float64, np.float32):
        for subject in SUBJECTS:
            error, at = worst(subject, points, dtype)
            click.echo(f"{subject.name:<8} {dtype.__name__}  {error:.3f} ulp at {at!r}")
        error, both = worst_power(points, dtype)
        click.echo(f"{'power':<8} {dtype.__name__}  {error:.3f} ulp at {both!r}")


@click.command()
@click.option("--points", default=20_000, show_default=True, help="Arguments from each interval.")
@click.option("--speed", is_flag=True, help="Print times instead of errors.")
def main(points: int, speed: bool) -> None:
    """Print the largest error of each function, or its time per element."""
    if not speed:
        print_errors(points)
        return
    for name in [*(subject.name for subject in SUBJECTS), "power"]:
        double, single, library = speeds(name)
        click.echo(f"{name:<8} float64 {double:6.2f} ns  float32 {single:6.2f} ns  C library {library:6.2f} ns")


if __name__ == "__main__":
    main()
