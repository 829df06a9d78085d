"""Put figures into a page: `python -m tools.bench.page docs/benchmarks.md [--check]`.

Between `<!-- figures: NAME -->` and `<!-- end -->` the page has the table of `benchmarks_NAME.json` beside it, or of
`benchmarks.json` for `programs`, and a line that sums it up.  The files come from `python -m tools.bench`,
`tools.bench.unseen` and `tools.bench.transforms` with `--json`.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
# how many are named of those that are worst, and of those where JAX is nearest
NAMED = 6
TOOLS = {
    "python": "Python",
    "numba": "Numba",
    "numpy": "NumPy",
    "jax": "JAX",
    "torch": "PyTorch",
    "autograd": "autograd",
}


def programs(record: dict[str, Any]) -> str:
    """Ratios to the primal, of adjoints by hand, and JAX's times in ours."""
    table = ["| program | primal | ratio | by hand | JAX |", "|---|---|---|---|---|"]
    for row in record["rows"]:
        hand = "" if row["adjoint_ratio"] is None else f"{row['adjoint_ratio']:.2f}"
        table.append(f"| {row['name']} | {1e6 * row['primal']:.1f} | {row['ratio']:.2f} | {hand} | {_share(row)} |")
    return "\n".join([*table, "", totals(record)])


def totals(record: dict[str, Any]) -> str:
    """What sums the programs up."""
    # of a Jacobian there is no gradient's ratio
    gradients = [row for row in record["rows"] if row["name"] != "bundle_residuals"]
    worst = sorted(gradients, key=lambda row: -row["ratio"])[:NAMED]
    named = ", ".join(f"`{row['name']}` {row['ratio']:.1f}" for row in worst)
    mean = _mean([row["ratio"] for row in gradients])
    lines = [f"The geometric mean of {len(gradients)} ratios is {mean:.2f}. Largest: {named}."]
    shares = {row["name"]: row["peers"]["jax"] / row["gradient"] for row in record["rows"] if "jax" in row["peers"]}
    if shares:
        near = ", ".join(f"`{name}` {shares[name]:.2f}" for name in sorted(shares, key=lambda one: shares[one])[:NAMED])
        faster = [f"`{name}`" for name, share in shares.items() if share < 1.0]
        mean = _mean(list(shares.values()))
        lines += [
            f"JAX takes {mean:.1f} times as long as ours in the geometric mean of {len(shares)} programs; it is",
            f"faster in {', '.join(faster) or 'none'}. Nearest: {near}.",
        ]
    return "\n".join([*lines, _versions(record), ""])


def transforms(record: dict[str, Any]) -> str:
    """Times of the transforms in those of the primal."""
    kinds = [name for name in record["rows"][0] if name not in ("name", "primal")]
    heading = " | ".join(f"`{kind}`" for kind in kinds)
    table = [f"| program | primal | {heading} |", "|---" * (len(kinds) + 2) + "|"]
    for row in record["rows"]:
        ratios = " | ".join(f"{row[kind]:.2f}" for kind in kinds)
        table.append(f"| {row['name']} | {1e6 * row['primal']:.1f} | {ratios} |")
    return "\n".join([*table, "", _versions(record), ""])


WRITERS: dict[str, Callable[[dict[str, Any]], str]] = {
    "programs": programs,
    "single": totals,
    "unseen": programs,
    "transforms": transforms,
}


def with_figures(page: Path) -> str:
    """The text of a page with the figures of the files beside it."""

    def block(found: re.Match[str]) -> str:
        name = found[2]
        file = page.with_name("benchmarks.json" if name == "programs" else f"benchmarks_{name}.json")
        return found[1] + WRITERS[name](json.loads(file.read_text(encoding="utf-8"))) + found[3]

    return _BLOCK.sub(block, page.read_text(encoding="utf-8"))


def _share(row: dict[str, Any]) -> str:
    return f"{row['peers']['jax'] / row['gradient']:.1f}" if "jax" in row["peers"] else ""


def _versions(record: dict[str, Any]) -> str:
    known = record["machine"]
    return ", ".join(f"{name} {known[key]}" for key, name in TOOLS.items() if key in known) + "."


def _mean(numbers: list[float]) -> float:
    return statistics.geometric_mean(numbers)


@click.command()
@click.argument("page", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--check", is_flag=True, help="Change nothing; fail if the page has other figures than its files.")
def main(page: Path, check: bool) -> None:
    """Put the figures of the JSON files beside a page into its tables."""
    text = with_figures(page)
    if check:
        sys.exit(text != page.read_text(encoding="utf-8"))
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
