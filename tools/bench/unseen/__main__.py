"""The command line: `python -m tools.bench.unseen [--json FILE] [--only NAME] [--seconds S] [--no-peers]`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from tools.bench import peers

peers.on_one_thread()

from tools.bench.measure import line  # noqa: E402
from tools.bench.tables import machine, table  # noqa: E402
from tools.bench.unseen import forms  # noqa: E402
from tools.bench.unseen.differences import worst_deviation  # noqa: E402
from tools.bench.unseen.problems import PROBLEMS, SMALL  # noqa: E402

# what rounding leaves of central differences of fourth order
ALLOWED = 1e-6


@click.command()
@click.option("--json", "output", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures here too.")
@click.option("--only", multiple=True, metavar="NAME", help="Only programs whose name contains this.")
@click.option("--seconds", default=1.0, show_default=True, help="Time to spend on the run times of each program.")
@click.option("--peers/--no-peers", "compared", default=True, help="Measure JAX, too, if it is installed.")
def main(output: Path | None, only: tuple[str, ...], seconds: float, compared: bool) -> None:
    """Time value and gradient of programs that nobody tuned for against primal and JAX, and check the gradients.

    Gradients agree with JAX's where it is measured, and at small arguments with differences of the function.
    """
    chosen = [problem for problem in PROBLEMS if not only or any(part in problem.name for part in only)]
    if not chosen:
        raise click.UsageError("no program has such a name; there are " + ", ".join(p.name for p in PROBLEMS))
    with peers.on_one_processor():
        others = forms.installed() if compared else ()
        rows, failures = table(chosen, seconds, others)
        for problem in chosen:
            if problem.name in {row.name for row in rows}:
                deviation = worst_deviation(problem, SMALL[problem.name])
                if not deviation <= ALLOWED:
                    failures.append(f"{problem.name}: {deviation:.1e} from differences")
                    click.echo(line(problem.name, f"{deviation:.1e} from differences"))
    if output is not None:
        record = {"machine": machine(others), "rows": [row.record() for row in rows], "failures": failures}
        output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    # first calls are to compile, not to load what an earlier run left
    os.environ["TAPEC_CACHE"] = "0"
    main()
