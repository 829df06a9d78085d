"""What Jacobians and Hessians cost: `python -m tools.bench jacobians`.

Times are in those of the jitted primal, calls from Python included; derivatives by hand and JAX, where it is installed,
take turns with ours.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
import numpy as np
from numba import njit

import tapec
from tests.programs import objectives
from tools.bench import jacobian_programs as programs
from tools.bench.jacobians import bundle_residuals
from tools.bench.measure import TOLERANCE, WrongGradient, alternate, line

Call = Callable[..., Any]


@dataclass(frozen=True)
class Row:
    """A program, and its derivative as one array.

    make      rng -> arguments; those of `bundle` end with the array that is filled
    jacobian  the derivative by tapec
    by_hand   the same by hand, if there is one
    """

    name: str
    f: Call
    make: Callable[[Any], tuple[Any, ...]]
    jacobian: Call
    by_hand: Call | None = None


_block = tapec.jacrev(objectives.bundle_residual, wrt=(0, 1, 2))


@njit
def _bundle(cameras: Any, points: Any, weights: Any, camera_of: Any, point_of: Any, features: Any, blocks: Any) -> Any:
    for i in range(weights.size):
        camera, point = cameras[camera_of[i]], points[point_of[i]]
        by_camera, by_point, by_weight = _block(camera, point, weights[i], features[i])
        for row in range(2):
            for k in range(11):
                blocks[i, row, k] = by_camera[row, k]
            for k in range(3):
                blocks[i, row, 11 + k] = by_point[row, k]
            blocks[i, row, 14] = by_weight[row]
    return blocks


def _bundle_arguments(rng: Any) -> tuple[Any, ...]:
    return (*objectives.make_bundle(rng, 10_000, 49, 2000), np.zeros((10_000, 2, 15)))


def _bundle_primal(
    cameras: Any, points: Any, weights: Any, camera_of: Any, point_of: Any, features: Any, _blocks: Any
) -> Any:
    return _residuals(cameras, points, weights, camera_of, point_of, features)


_residuals = njit(bundle_residuals)


def _values(derivative: Call) -> Call:
    """The values of a sparse matrix, row by row."""
    return lambda *args: derivative(*args).data


ROWS = (
    Row("bundle (2 x 15 each)", _bundle_primal, _bundle_arguments, _bundle, programs.bundle_by_hand),
    Row(
        "hand (26 columns)",
        programs.hand_residuals,
        lambda rng: objectives.make_hand(rng, 500, 5, 544),
        tapec.jacobian(programs.hand_residuals),
    ),
    Row(
        "burgers (100 columns)",
        programs.burgers,
        lambda rng: (rng.normal(size=100), 0.1, 50),
        tapec.jacobian(programs.burgers),
        programs.burgers_by_hand,
    ),
    Row(
        "logistic (Hessian, 30)",
        programs.logistic_loss,
        lambda rng: (0.1 * rng.normal(size=30), rng.normal(size=(500, 30)), rng.integers(0, 2, 500).astype(float)),
        tapec.hessian(programs.logistic_loss),
        programs.logistic_by_hand,
    ),
    Row("truss (40 columns)", programs.truss, programs.make_truss, tapec.jacobian(programs.truss)),
    Row(
        "oscillator (3 columns)",
        programs.oscillator,
        lambda rng: (np.array([1.5, 0.5, 0.2]), 1000),
        tapec.jacobian(programs.oscillator),
    ),
    Row(
        "reaction (sparse, 1e5)",
        programs.reaction,
        lambda rng: (rng.normal(size=2 * 224 * 224), 224, 20.0),
        _values(tapec.sparse_jacobian(programs.reaction)),
    ),
    Row(
        "rates (sparse Hessian)",
        programs.rates,
        lambda rng: (0.1 * rng.normal(size=100_000), rng.poisson(1.0, 100_000).astype(float), 4.0),
        _values(tapec.sparse_hessian(programs.rates)),
        programs.rates_by_hand,
    ),
)


def table(only: tuple[str, ...], seconds: float) -> tuple[list[dict[str, Any]], list[str]]:
    """Measure and print each row; the records, and what failed."""
    jax = _jax()
    names = ("tapec", "by hand", "JAX")
    click.echo(line("program", "primal", *names))
    records: list[dict[str, Any]] = []
    failures: list[str] = []
    for row in ROWS:
        if only and not any(part in row.name for part in only):
            continue
        args = row.make(np.random.default_rng(1))
        calls: dict[str, Call] = {"primal": functools.partial(njit(row.f), *args)}
        calls["tapec"] = functools.partial(row.jacobian, *args)
        if row.by_hand is not None:
            calls["by hand"] = functools.partial(row.by_hand, *row.make(np.random.default_rng(1)))
        if jax is not None and row.name in jax:
            calls["JAX"] = jax[row.name](args)
        try:
            _compare(row.name, {name: call() for name, call in calls.items() if name != "primal"})
        except WrongGradient as error:
            failures.append(str(error))
            click.echo(f"failed: {error}")
            continue
        # the shortest times: small arrays come and go, and a busy machine is slow at that
        primal, *taken = alternate(list(calls.values()), seconds, min)
        ratios = {name: one / primal for name, one in zip(list(calls)[1:], taken, strict=True)}
        records.append({"name": row.name, "primal": primal, **ratios})
        shown = (f"{ratios[name]:.2f}" if name in ratios else "" for name in names)
        click.echo(line(row.name, f"{1e6 * primal:.1f} us", *shown))
    return records, failures


def _jax() -> dict[str, Callable[[tuple[Any, ...]], Call]] | None:
    try:
        from tools.bench import peers_jax_jacobians
    except ImportError:
        return None
    return peers_jax_jacobians.PROGRAMS


def _compare(name: str, found: dict[str, Any]) -> None:
    """Raise unless all ways agree."""
    wanted = np.asarray(found["tapec"])
    for other, value in found.items():
        scale = TOLERANCE * (1.0 + np.max(np.abs(wanted)))
        if np.shape(value) != wanted.shape or not np.max(np.abs(np.asarray(value) - wanted)) <= scale:
            raise WrongGradient(f"{name}: tapec differs from {other}")
