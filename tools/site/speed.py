"""Draw docs/speed.svg, the picture of the front page, from docs/benchmarks.json.

    python -m tools.site.speed [--check]
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PICTURE = DOCS / "speed.svg"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 330, 70, 20, 44, 40
TICKS = (0.1, 0.3, 1, 3, 10, 30, 100)
OURS, JAX = "#3f51b5", "#e65100"


def picture(record: dict[str, list[dict[str, float | dict[str, float]]]]) -> str:
    """Time of value and gradient in times of the primal: a column for each program, a dot for each tool."""
    pairs = []
    for row in record["rows"]:
        peers, primal, ratio = row["peers"], row["primal"], row["ratio"]
        assert isinstance(peers, dict) and isinstance(primal, float) and isinstance(ratio, float)
        if "jax" in peers:
            pairs.append((ratio, peers["jax"] / primal))
    pairs.sort()
    low, high = math.log(0.08), math.log(max(jax for _, jax in pairs) * 1.2)

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - math.log(value)) / (high - low)

    def x(column: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (column + 0.5) / len(pairs)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="13" role="img" aria-label="Time of value and gradient in times of the primal, per program">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for tick in TICKS:
        if math.log(tick) > high:
            continue
        colour, width = ("#444444", 1.5) if tick == 1 else ("#dddddd", 1.0)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="{colour}" '
            f'stroke-width="{width}"/>'
        )
        parts.append(f'<text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end" fill="#333333">{tick:g}</text>')
    for column, values in enumerate(pairs):
        parts.append(
            f'<line x1="{x(column):.1f}" x2="{x(column):.1f}" y1="{y(values[0]):.1f}" y2="{y(values[1]):.1f}" '
            'stroke="#cccccc"/>'
        )
        for value, colour in zip(values, (OURS, JAX), strict=True):
            parts.append(f'<circle cx="{x(column):.1f}" cy="{y(value):.1f}" r="4" fill="{colour}"/>')
    for at, name, colour in ((LEFT, "tapec", OURS), (LEFT + 90, "JAX", JAX)):
        parts.append(f'<circle cx="{at + 6}" cy="22" r="5" fill="{colour}"/>')
        parts.append(f'<text x="{at + 18}" y="26" fill="#333333">{name}</text>')
    parts.append(
        f'<text x="{WIDTH - RIGHT}" y="26" text-anchor="end" fill="#333333">'
        "value and gradient, in times of the function itself</text>"
    )
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 14}" text-anchor="middle" fill="#333333">'
        f"{len(pairs)} programs, one a column</text>"
    )
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.site.speed", description="Draw docs/speed.svg.")
    parser.add_argument("--check", action="store_true", help="do not draw; fail if the picture differs")
    arguments = parser.parse_args()
    text = picture(json.loads((DOCS / "benchmarks.json").read_text(encoding="utf-8")))
    if not arguments.check:
        PICTURE.write_text(text, encoding="utf-8")
        return 0
    if not PICTURE.exists() or PICTURE.read_text(encoding="utf-8") != text:
        print(f"{PICTURE} is out of date: run python -m tools.site.speed", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
