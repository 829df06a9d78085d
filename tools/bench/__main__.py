"""The benchmark's command line: `python -m tools.bench [--json FILE] [--only NAME] [--seconds S] ...`."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import numpy as np

from tools.bench import peers

peers.on_one_thread()

from tapec.errors import TapecError  # noqa: E402
from tools.bench.cold import measured, overhead  # noqa: E402
from tools.bench.measure import Row, WrongGradient, line, measure, warm_up  # noqa: E402
from tools.bench.programs import PROBLEMS, Problem  # noqa: E402
from tools.bench.scaling import SCALED  # noqa: E402
from tools.bench.threads import SHARED, Threaded, threaded  # noqa: E402

LIMIT = 4.0


@click.command()
@click.option("--json", "output", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures here too.")
@click.option("--only", multiple=True, metavar="NAME", help="Only problems whose name contains this.")
@click.option("--seconds", default=1.0, show_default=True, help="Time to spend on the run times of each problem.")
@click.option("--peers/--no-peers", "compared", default=True, help="Measure JAX, PyTorch and autograd if installed.")
@click.option("--sizes", is_flag=True, help="Measure some problems in several sizes, too.")
@click.option("--cold", is_flag=True, help="Measure first calls in new processes, memory, and a call's price, too.")
@click.option("--threads", is_flag=True, help="Measure some gradients with `parallel=True`, on one thread and on all.")
def main(
    output: Path | None,
    only: tuple[str, ...],
    seconds: float,
    compared: bool,
    sizes: bool,
    cold: bool,
    threads: bool,
) -> None:
    """Time value and gradient of loop programs against primal, hand-written adjoint and other tools."""
    chosen = [problem for problem in PROBLEMS if not only or any(part in problem.name for part in only)]
    if not chosen:
        raise click.UsageError("no problem has such a name; there are " + ", ".join(p.name for p in PROBLEMS))
    with peers.on_one_processor():
        others = peers.installed() if compared else ()
        rows, failures = table(chosen, seconds, others)
        record: dict[str, Any] = {
            "machine": machine(others),
            "rows": [row.record() for row in rows],
            "failures": failures,
        }
        if sizes:
            record["sizes"] = [row for problem in chosen for row in scaled(problem, seconds, others)]
    if cold:
        record["starts"] = [start.record() for start in measured(chosen)]
        record["call"] = overhead(seconds)
        click.echo("\n".join(f"a call of {name}: {1e9 * taken:.0f} ns" for name, taken in record["call"].items()))
    if threads:
        record["threads"] = [on_threads(problem, seconds).record() for problem in chosen if problem.name in SHARED]
    if output is not None:
        output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    sys.exit(1 if failures else 0)


def table(chosen: list[Problem], seconds: float, others: tuple[peers.Peer, ...]) -> tuple[list[Row], list[str]]:
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
            row = measure(problem, seconds, others)
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


def scaled(problem: Problem, seconds: float, others: tuple[peers.Peer, ...]) -> list[dict[str, Any]]:
    """The problem in its several sizes, printed and as records."""
    make, sizes = SCALED.get(problem.name, (None, ()))
    found = []
    for size in sizes:
        assert make is not None
        row = measure(problem, seconds, others, make(np.random.default_rng(1), size))
        click.echo(cells(row, [peer.name for peer in others]).replace(f"{row.name:<28}", f"{row.name:<20}{size:>8}"))
        found.append({"size": size, **row.record()})
    return found


def on_threads(problem: Problem, seconds: float) -> Threaded:
    """The problem on one thread and on all, printed on the way."""
    found = threaded(problem, seconds)
    times = (f"{1e6 * taken:.1f} us on {count}" for count, taken in found.on.items())
    gains = f"gain {found.gain:.2f}", f"plain {found.possible:.2f}"
    click.echo(line(found.name, f"{1e6 * found.sequential:.1f} us", *times, *gains))
    return found


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


if __name__ == "__main__":
    # first calls are to compile, not to load what an earlier run left
    os.environ["TAPEC_CACHE"] = "0"
    main()
