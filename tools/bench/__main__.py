"""The benchmark's command line: `python -m tools.bench [--json FILE] [--only NAME] [--seconds S]`."""

from __future__ import annotations

import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import click

# first calls are to compile, not to load what an earlier run left; read when tapec is imported
os.environ["TAPEC_CACHE"] = "0"

from tapec.errors import TapecError  # noqa: E402
from tools.bench.measure import Row, WrongGradient, measure, warm_up  # noqa: E402
from tools.bench.programs import PROBLEMS  # noqa: E402

LIMIT = 4.0


@click.command()
@click.option("--json", "output", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures here too.")
@click.option("--only", multiple=True, metavar="NAME", help="Only problems whose name contains this.")
@click.option("--seconds", default=1.0, show_default=True, help="Time to spend on the run times of each problem.")
def main(output: Path | None, only: tuple[str, ...], seconds: float) -> None:
    """Time value and gradient of loop programs against primal and hand-written adjoint."""
    chosen = [problem for problem in PROBLEMS if not only or any(part in problem.name for part in only)]
    if not chosen:
        raise click.UsageError("no problem has such a name; there are " + ", ".join(p.name for p in PROBLEMS))
    warm_up()
    rows: list[Row] = []
    failures = []
    click.echo(line("program", "primal", "gradient", "ratio", "by hand", "compile:", "primal", "gradient", "by hand"))
    for problem in chosen:
        try:
            row = measure(problem, seconds)
        except (TapecError, WrongGradient) as error:
            failures.append(f"{problem.name}: {error}")
            click.echo(line(problem.name, "failed"))
            continue
        rows.append(row)
        click.echo(cells(row))
    summary(rows, failures)
    if output is not None:
        record = {"machine": machine(), "rows": [row.record() for row in rows], "failures": failures}
        output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    sys.exit(1 if failures else 0)


def line(name: str, *columns: str) -> str:
    """One line of the table."""
    return f"{name:<28}" + "".join(f"{column:>11}" for column in columns)


def cells(row: Row) -> str:
    """A row of the table: run times in microseconds, ratios in primals, first calls in seconds."""
    return line(
        row.name,
        f"{1e6 * row.primal:.1f} us",
        f"{1e6 * row.gradient:.1f} us",
        f"{row.ratio:.2f}",
        "" if row.adjoint_ratio is None else f"{row.adjoint_ratio:.2f}",
        "",
        f"{row.primal_first:.2f} s",
        f"{row.gradient_first:.2f} s",
        "" if row.adjoint_first is None else f"{row.adjoint_first:.2f} s",
    )


def summary(rows: list[Row], failures: list[str]) -> None:
    """Name what needs attention."""
    slow = [f"{row.name} ({row.ratio:.1f})" for row in rows if row.ratio > LIMIT]
    click.echo(f"\nratio above {LIMIT:g}: {', '.join(slow) or 'none'}")
    late = [
        f"{row.name} ({row.gradient_first:.2f} s against {row.adjoint_first:.2f} s)"
        for row in rows
        if row.adjoint_first is not None and row.gradient_first > 1.5 * row.adjoint_first + 0.5
    ]
    click.echo(f"first call above 1.5 times the hand-written adjoint's plus 0.5 s: {', '.join(late) or 'none'}")
    for failure in failures:
        click.echo(f"failed: {failure}")


def machine() -> dict[str, object]:
    """Where the figures come from."""
    versions = {name: version(name) for name in ("numba", "numpy")}
    return versions | {"python": platform.python_version(), "processor": platform.machine(), "cores": os.cpu_count()}


if __name__ == "__main__":
    main()
