"""What other transforms cost: `python -m tools.bench.transforms [--json FILE] [--only NAME] [--seconds S]`.

Times are in those of the jitted primal, the call from Python included: `vjp` with one pull, `jvp` along ones, and a
product of the Hessian with ones.  The derivative along ones is the sum of the gradient that is pulled back.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
from numba import njit

import tapec
from tools.bench import peers
from tools.bench.measure import TOLERANCE, WrongGradient, alternate, line
from tools.bench.programs import PROBLEMS, Problem
from tools.bench.tables import machine

CHOSEN = ("bundle_cost", "mixture_loops", "rk4_lotka_volterra", "heat_1d", "rosenbrock", "lstm_loss", "gmm_loops")
KINDS = ("value_and_grad", "vjp", "jvp", "hvp")


def calls(problem: Problem) -> dict[str, Callable[[], Any]]:
    """The primal, and each transform of it, as calls."""
    args = problem.arguments()
    ones = tuple(np.ones_like(args[k]) if isinstance(args[k], np.ndarray) else 1.0 for k in problem.wrt)
    along = dict(zip(problem.wrt, ones, strict=True))
    tangents = tuple(along.get(k) for k in range(len(args)))
    direction: Any = ones

    def pulled() -> Any:
        value, pullback = tapec.vjp(problem.f, *args)
        return value, tuple(pullback(1.0)[k] for k in problem.wrt)

    return {
        "primal": functools.partial(njit(problem.f), *args),
        "value_and_grad": functools.partial(tapec.value_and_grad(problem.f, wrt=problem.wrt), *args),
        "vjp": pulled,
        "jvp": functools.partial(tapec.jvp, problem.f, args, tangents),
        "hvp": functools.partial(tapec.hvp(problem.f, wrt=problem.wrt), *args, direction),
    }


def check(name: str, found: dict[str, Callable[[], Any]]) -> None:
    """Raise unless the modes agree: the derivative along ones is the sum of the gradient's elements."""
    _, gradients = found["value_and_grad"]()
    for other in (found["vjp"]()[1], gradients):
        total = sum(float(np.sum(one)) for one in other)
        scale = sum(float(np.sum(np.abs(one))) for one in other)
        along = float(found["jvp"]()[1])
        if not abs(along - total) <= TOLERANCE * (1.0 + scale):
            raise WrongGradient(f"{name}: {along!r} along ones, {total!r} in all")


@click.command()
@click.option("--json", "output", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures here too.")
@click.option("--only", multiple=True, metavar="NAME", help="Only programs whose name contains this.")
@click.option("--seconds", default=1.0, show_default=True, help="Time to spend on each program.")
def main(output: Path | None, only: tuple[str, ...], seconds: float) -> None:
    """Time `vjp`, `jvp` and `hvp` of some programs of `python -m tools.bench` against their primals."""
    rows: list[dict[str, Any]] = []
    failures: list[str] = []
    with peers.on_one_processor():
        click.echo(line("program", "primal", *KINDS))
        for problem in PROBLEMS:
            if problem.name not in CHOSEN or (only and not any(part in problem.name for part in only)):
                continue
            found = calls(problem)
            try:
                check(problem.name, found)
            except WrongGradient as error:
                failures.append(str(error))
                click.echo(f"failed: {error}")
                continue
            primal, *taken = alternate(list(found.values()), seconds)
            ratios = {kind: one / primal for kind, one in zip(KINDS, taken, strict=True)}
            rows.append({"name": problem.name, "primal": primal, **ratios})
            click.echo(line(problem.name, f"{1e6 * primal:.1f} us", *(f"{one:.2f}" for one in ratios.values())))
    if output is not None:
        record = {"machine": machine(()), "rows": rows, "failures": failures}
        output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    # as for the other benchmarks: nothing that an earlier run left
    os.environ["TAPEC_CACHE"] = "0"
    main()
