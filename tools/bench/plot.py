"""Draw the figures of a run: `python -m tools.bench.plot FIGURES.json PICTURE.svg`.

Above, time of value and gradient in primals, one group of marks per program; below, growth with size.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
# the same bytes for the same figures
matplotlib.rcParams["svg.hashsalt"] = "tapec"
matplotlib.rcParams["svg.fonttype"] = "none"

import matplotlib.pyplot as plt  # noqa: E402

COLOURS = {"tapec": "#1b6ca8", "by hand": "#444444", "jax": "#d1495b", "torch": "#edae49", "autograd": "#66a182"}


def ratios(row: dict[str, Any]) -> dict[str, float]:
    """The times of a row in primals, by tool."""
    found = {"tapec": row["gradient"], **row["peers"]}
    if row["adjoint"] is not None:
        found["by hand"] = row["adjoint"]
    return {name: seconds / row["primal"] for name, seconds in found.items()}


def draw(figures: dict[str, Any], path: Path) -> None:
    """Write the picture of a run's figures."""
    rows = sorted(figures["rows"], key=lambda row: row["gradient"] / row["primal"])
    sizes: dict[str, list[dict[str, Any]]] = {}
    for row in figures.get("sizes", []):
        sizes.setdefault(row["name"], []).append(row)
    figure = plt.figure(figsize=(10, 0.32 * len(rows) + (4.2 if sizes else 1.2)), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=(0.32 * len(rows) + 1, 3.2)) if sizes else [figure]
    _bars(parts[0].subplots(), rows)
    if sizes:
        _growth(parts[1].subplots(1, len(sizes)), sizes)
    figure.savefig(path, metadata={"Date": None})


def _bars(axes: Any, rows: list[dict[str, Any]]) -> None:
    for name, colour in COLOURS.items():
        marks = [(ratios(row)[name], k) for k, row in enumerate(rows) if name in ratios(row)]
        if not marks:
            continue
        x, y = zip(*marks, strict=True)
        if name == "tapec":
            axes.barh(y, [value - 1.0 for value in x], left=1.0, height=0.5, color=colour, alpha=0.35)
        marker, size = ("|", 9) if name == "by hand" else ("o", 5)
        axes.plot(x, y, marker, color=colour, label=name, markersize=size)
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set(xscale="log", xlabel="value and gradient, in times of the primal", yticks=range(len(rows)))
    axes.set_yticklabels([row["name"] for row in rows], fontsize=8)
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(COLOURS), fontsize=8, frameon=False)


def _growth(all_axes: Any, sizes: dict[str, list[dict[str, Any]]]) -> None:
    for axes, (name, rows) in zip(all_axes, sizes.items(), strict=True):
        for tool, colour in COLOURS.items():
            points = [(row["size"], ratios(row)[tool] * row["primal"]) for row in rows if tool in ratios(row)]
            if points:
                axes.plot(*zip(*points, strict=True), "o-", color=colour, markersize=3, linewidth=1)
        axes.plot([row["size"] for row in rows], [row["primal"] for row in rows], "k--", linewidth=0.8)
        axes.set(xscale="log", yscale="log")
        axes.minorticks_off()
        axes.set_title(name, fontsize=7)
        axes.tick_params(labelsize=6)
        axes.grid(alpha=0.3)
    all_axes[0].set_ylabel("seconds (dashed: primal)", fontsize=7)


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2]))
