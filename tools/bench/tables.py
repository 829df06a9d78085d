"""What a run of the benchmark prints: a line for each problem, means, and what needs attention."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from importlib.metadata import version

import click

from tapec.errors import TapecError
from tools.bench import peers
from tools.bench.measure import TURN, Row, WrongGradient, line, measure, warm_up
from tools.bench.programs import Problem

LIMIT = 4.0


def table(
    chosen: Sequence[Problem], seconds: float, others: tuple[peers.Peer, ...], turn: float = TURN
) -> tuple[list[Row], list[str]]:
    """Measure problems and print them; the rows, and what failed."""
    warm_up()
    rows: list[Row] = []
    failures: list[str] = []
    heading = [f"{peer.name}:grad" for peer in others]
    click.echo(
        line(
            *("program", "primal", "fastmath", "gradient", "ratio", "by hand"),
            *(*heading, "first call:", "primal", "gradient", "by hand"),
        )
    )
    for problem in chosen:
        try:
            row = measure(problem, seconds, others, turn=turn)
        except (TapecError, WrongGradient) as error:
            failures.append(f"{problem.name}: {error}")
            click.echo(line(problem.name, "failed"))
            continue
        rows.append(row)
        click.echo(cells(row, [peer.name for peer in others]))
    summary(rows, failures)
    return rows, failures


def cells(row: Row, others: list[str]) -> str:
    """A row of the table: run times, ratios, other tools' times in our gradients, first calls."""
    return line(
        row.name,
        f"{1e6 * row.primal:.1f} us",
        f"{1e6 * row.fast:.1f} us",
        f"{1e6 * row.gradient:.1f} us",
        f"{row.ratio:.2f}",
        "" if row.adjoint_ratio is None else f"{row.adjoint_ratio:.2f}",
        *(f"{row.peers[name] / row.gradient:.1f}" if name in row.peers else "" for name in others),
        "",
        f"{row.primal_first:.2f} s",
        f"{row.gradient_first:.2f} s",
        "" if row.adjoint_first is None else f"{row.adjoint_first:.2f} s",
    )


def summary(rows: list[Row], failures: list[str]) -> None:
    """Means, and what needs attention."""
    if rows:
        click.echo(f"\ngeometric mean of gradient/primal: {statistics.geometric_mean(row.ratio for row in rows):.2f}")
    for name in dict.fromkeys(name for row in rows for name in row.peers):
        shares = {row.name: row.peers[name] / row.gradient for row in rows if name in row.peers}
        mean = statistics.geometric_mean(shares.values())
        ahead = ", ".join(program for program, share in shares.items() if share < 1.0)
        click.echo(f"{name}/gradient: geometric mean {mean:.1f} of {len(shares)}; faster in {ahead or 'none'}")
    slow = [f"{row.name} ({row.ratio:.1f})" for row in rows if row.ratio > LIMIT]
    click.echo(f"ratio above {LIMIT:g}: {', '.join(slow) or 'none'}")
    for failure in failures:
        click.echo(f"failed: {failure}")


def machine(others: tuple[peers.Peer, ...]) -> dict[str, object]:
    """Where the figures come from."""
    versions = {name: version(name) for name in ("numba", "numpy")} | {peer.name: peer.version for peer in others}
    return versions | {"python": platform.python_version(), "processor": platform.machine(), "cores": os.cpu_count()}
