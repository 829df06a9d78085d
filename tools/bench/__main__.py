"""The benchmark's command line: `python -m tools.bench [--json FILE] [--only NAME] [--seconds S] ...`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np

from tools.bench import peers

peers.on_one_thread()

from tools.bench.cold import measured, overhead  # noqa: E402
from tools.bench.measure import TURN, line, measure  # noqa: E402
from tools.bench.programs import PROBLEMS, Problem  # noqa: E402
from tools.bench.scaling import SCALED  # noqa: E402
from tools.bench.tables import cells, machine, table  # noqa: E402
from tools.bench.threads import SHARED, Threaded, threaded  # noqa: E402


@click.command()
@click.argument("what", type=click.Choice(["gradients", "jacobians"]), default="gradients")
@click.option("--json", "output", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures here too.")
@click.option("--only", multiple=True, metavar="NAME", help="Only problems whose name contains this.")
@click.option("--seconds", default=1.0, show_default=True, help="Time to spend on the run times of each problem.")
@click.option("--turn", default=TURN, show_default=True, help="How long a short call is repeated in its turn; 0: once.")
@click.option("--peers/--no-peers", "compared", default=True, help="Measure JAX, PyTorch and autograd if installed.")
@click.option("--sizes", is_flag=True, help="Measure some problems in several sizes, too.")
@click.option("--cold", is_flag=True, help="Measure first calls in new processes, memory, and a call's price, too.")
@click.option("--threads", is_flag=True, help="Measure some gradients with `parallel=True`, on one thread and on all.")
def main(
    what: str,
    output: Path | None,
    only: tuple[str, ...],
    seconds: float,
    turn: float,
    compared: bool,
    sizes: bool,
    cold: bool,
    threads: bool,
) -> None:
    """Time value and gradient of loop programs against primal, hand-written adjoint and other tools.

    With `jacobians`: Jacobians and Hessians against the primal, derivatives by hand, and JAX.
    """
    if what == "jacobians":
        # JAX is imported, if at all, for one thread
        from tools.bench.jacobian_table import table as jacobians

        with peers.on_one_processor():
            records, failures = jacobians(only, seconds)
        if output is not None:
            found = {"machine": machine(()), "rows": records, "failures": failures}
            output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        sys.exit(1 if failures else 0)
    chosen = [problem for problem in PROBLEMS if not only or any(part in problem.name for part in only)]
    if not chosen:
        raise click.UsageError("no problem has such a name; there are " + ", ".join(p.name for p in PROBLEMS))
    with peers.on_one_processor():
        others = peers.installed() if compared else ()
        rows, failures = table(chosen, seconds, others, turn)
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


if __name__ == "__main__":
    # first calls are to compile, not to load what an earlier run left
    os.environ["TAPEC_CACHE"] = "0"
    main()
