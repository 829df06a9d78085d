"""Check the programs of consecutive seeds."""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import click

from tools.fuzz.examination import FAILED, GRAMMARS, REFUSED, run_seed
from tools.fuzz.shrinking import report_failure


@click.command()
@click.option("--minutes", type=float, default=1.0, show_default=True, help="How long to run.")
@click.option("--seed", type=int, default=0, show_default=True, help="The first seed.")
@click.option("--count", type=int, default=None, help="Stop after this many seeds.")
@click.option("--failures", type=click.Path(path_type=Path), default=Path("fuzz-failures"), show_default=True)
@click.option("--shrink-seconds", type=float, default=120.0, show_default=True, help="Longest time to shrink one.")
@click.option("--keep-going", is_flag=True, help="Go on after a failure.")
@click.option("--grammar", type=click.Choice([*GRAMMARS]), default="programs", show_default=True)
def main(
    minutes: float,
    seed: int,
    count: int | None,
    failures: Path,
    shrink_seconds: float,
    keep_going: bool,
    grammar: str,
) -> None:
    """Check the programs of consecutive seeds until the time is over."""
    deadline = time.monotonic() + 60.0 * minutes
    totals: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        while time.monotonic() < deadline and (count is None or totals.total() < count):
            outcome = run_seed(seed, folder, grammar)
            totals[outcome.status] += 1
            if outcome.status == REFUSED:
                refused[outcome.kind] += 1
            if outcome.status == FAILED:
                click.echo(f"seed {seed}: {outcome.detail}")
                path = report_failure(seed, outcome, folder, failures, shrink_seconds, grammar)
                click.echo(f"seed {seed}: written to {path}")
                if not keep_going:
                    break
            seed += 1
    click.echo(", ".join(f"{number} {status}" for status, number in sorted(totals.items())) + f"; next seed {seed}")
    for message, number in refused.most_common():
        click.echo(f"refused {number} times: {message}")
    sys.exit(1 if totals[FAILED] else 0)


if __name__ == "__main__":
    main()
