"""The page that `tapec report` writes: the source beside its gradient, line by line.

One file that needs nothing else.  The lines of the two sides are linked by script; what the links show is
also in the tables below them, which need none.
"""

from __future__ import annotations

import math
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

from tapec.explanation.explained import ExplainedLine, Explanation
from tapec.explanation.highlighting import highlighted, style_sheet
from tapec.explanation.listing import ListedLine, Listing, gradient_listing, place_key, primal_listings
from tapec.explanation.summary import marks
from tapec.explanation.wording import targets
from tapec.version import __version__


@dataclass(frozen=True)
class Times:
    """What runs took, in seconds.

    primal    of the jitted function
    gradient  of value and gradient
    runs      how often each was timed
    first     the first call of value and gradient, compilation included
    numba     Numba's share of that
    """

    primal: float
    gradient: float
    runs: int
    first: float
    numba: float


def page(
    function: types.FunctionType,
    told: Explanation,
    arguments: Mapping[str, Any] | None = None,
    times: Times | None = None,
) -> str:
    """The page's text.

    function   the Python function that `told` explains
    arguments  values of its parameters, by name; sizes are told in numbers then
    times      what a run took with them
    """
    return "\n".join(_parts(function, told, arguments, times)) + "\n"


def _parts(
    function: types.FunctionType, told: Explanation, arguments: Mapping[str, Any] | None, times: Times | None
) -> Iterator[str]:
    title = f"Gradient of {told.function} by {', '.join(told.wrt)}"
    yield from (
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{_asset('report.css')}{style_sheet()}</style>",
        "</head>",
        "<body>",
        '<div class="screen">',
        f"<header><h1>{escape(title)}</h1>",
        *_summary(told, arguments, times),
        _LEGEND,
        "</header>",
        '<main class="sides">',
        *_primal(function, told, arguments),
        *_gradient(told),
        "</main>",
        '<section id="told" aria-live="polite" aria-label="The chosen line"><p>No line is chosen.</p></section>',
        "</div>",
        *_tables(told, arguments),
        f"<footer>Made by tapec {__version__}.</footer>",
        f"<script>\n{_asset('report.js')}</script>",
        "</body>",
        "</html>",
    )


def _asset(name: str) -> str:
    return files("tapec.explanation").joinpath(name).read_text(encoding="utf-8")


_LEGEND = """<ul class="legend" aria-label="Legend">
<li><span class="mark active" aria-hidden="true">●</span> sets a variable that carries a derivative</li>
<li><span class="mark" aria-hidden="true">○</span> sets one that does not</li>
<li><span class="badge kept">stored</span> kept for the reverse sweep</li>
<li><span class="badge again">again</span> computed or run again there</li>
<li><span class="badge good">fused</span> reversed iteration by iteration as it runs;
<span class="badge bad">not fused</span></li>
<li><span class="badge good">forward: vectors</span> that sweep of the loop may run on vectors;
<span class="badge bad">reverse: no vectors</span></li>
<li><span class="badge good">threads</span> iterations run on threads</li>
</ul>
<p class="keys">Point at a line, or choose one by click or by the arrow keys: the lines of the other side that belong
to it are marked, and listed below. N and P step through them. Tab changes sides, Escape lets go.</p>"""


def _summary(told: Explanation, arguments: Mapping[str, Any] | None, times: Times | None) -> Iterator[str]:
    """What stands at the top: times and bytes."""
    yield '<dl class="summary">'
    if times is not None:
        yield f"<div><dt>function, jitted</dt><dd>{seconds(times.primal)}</dd></div>"
        yield f"<div><dt>value and gradient</dt><dd>{seconds(times.gradient)}</dd></div>"
        yield f"<div><dt>ratio</dt><dd>{times.gradient / times.primal:.2f}</dd></div>"
        yield f"<div><dt>timed</dt><dd>best of {times.runs}</dd></div>"
        yield f"<div><dt>first call</dt><dd>{seconds(times.first)}, Numba {times.numba / times.first:.0%}</dd></div>"
    lists = ", and lists" if any(note.per_iteration for note in told.stored) else ""
    yield f"<div><dt>stored</dt><dd>{_bytes(told.stored_bytes, arguments)}{lists}</dd></div>"
    yield "</dl>"


def seconds(value: float) -> str:
    """A time in words.

    >>> seconds(0.0123), seconds(4.2e-7)
    ('12.3 ms', '420 ns')
    """
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def _bytes(formula: str, arguments: Mapping[str, Any] | None) -> str:
    """A number of bytes: the formula, and what it comes to."""
    known = _evaluated(formula, arguments) if arguments is not None else None
    if known is None or formula.isdecimal():
        return f"<code>{escape(formula)}</code> bytes"
    return f"<code>{escape(formula)}</code> = {known:,} bytes"


def _evaluated(formula: str, arguments: Mapping[str, Any]) -> int | None:
    try:
        # the formula is made of core: arithmetic on parameters and their extents
        return max(int(eval(formula, {"max": max, "min": min, "math": math, "__builtins__": {}}, dict(arguments))), 0)
    except (AttributeError, NameError, TypeError, IndexError):
        return None  # in terms of something that is not an argument


# the two sides


def _primal(
    function: types.FunctionType, told: Explanation, arguments: Mapping[str, Any] | None
) -> Iterator[str]:
    """The source, with a mark for what a line sets and badges for what is decided about it."""
    active = {place_key(*place): state for place, state in told.lines.items()}
    carries = {variable.name: variable.active for variable in told.variables}
    by_place: dict[str, list[ExplainedLine]] = {}
    for note in told.notes:
        by_place.setdefault(place_key(note.file, note.line), []).append(note)
    yield '<section class="side" aria-label="Source">'
    yield "<h2>Source</h2>"
    for listing in primal_listings(function, told.program):
        rows = []
        coloured = highlighted([line.text for line in listing.lines])
        for line, code in zip(listing.lines, coloured, strict=True):
            state = active.get(line.key)
            if state is None:
                # a plain copy leaves no statement: what the line assigns tells
                known = [carries[name] for name in targets(line.text) if name in carries]
                state = any(known) if known else None
            rows.append(_row(line, code, state, by_place.get(line.key, []), arguments))
        yield from _lines(listing, rows, "source")
    yield "</section>"


def _gradient(told: Explanation) -> Iterator[str]:
    listing = gradient_listing(told.program)
    yield '<section class="side" aria-label="Value and gradient">'
    yield "<h2>Value and gradient</h2>"
    coloured = highlighted([line.text for line in listing.lines])
    rows = [_row(line, code, None, [], None) for line, code in zip(listing.lines, coloured, strict=True)]
    yield from _lines(listing, rows, "gradient")
    yield "</section>"


def _lines(listing: Listing, rows: list[str], side: str) -> Iterator[str]:
    label = escape(f"{listing.heading}, {side}", quote=True)
    yield f'<div class="lines" role="listbox" tabindex="0" aria-label="{label}" data-side="{side}">'
    yield from rows
    yield "</div>"


def _row(
    line: ListedLine,
    code: str,
    active: bool | None,
    notes: list[ExplainedLine],
    arguments: Mapping[str, Any] | None,
) -> str:
    """One line of code, given as HTML, as an option of its list."""
    mark = {True: ("●", "carries a derivative"), False: ("○", "carries no derivative"), None: ("", "")}[active]
    spoken = f'<span class="spoken">{mark[1]}</span>' if mark[1] else ""
    badges = "".join(f'<span class="badge {kind}">{escape(text)}</span>' for text, kind in _badges(notes, arguments))
    said = "".join(f"<li>{_said(note, arguments)}</li>" for note in notes)
    template = f"<template><ul>{said}</ul></template>" if said else ""
    number = str(line.number) if line.number else ""
    key = f' data-key="{escape(line.key, quote=True)}"' if line.key else ""
    sweep = f' data-sweep="{line.sweep}"' if line.sweep else ""
    return (
        f'<div class="line" role="option" aria-selected="false"{key}{sweep} data-number="{number}">'
        f'<span class="number">{number}</span>'
        f'<span class="mark{" active" if active else ""}" aria-hidden="true">{mark[0]}</span>'
        f"<code>{code or ' '}</code>{spoken}{badges}{template}</div>"
    )


def _badges(notes: list[ExplainedLine], arguments: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """The short words beside a line, and their kinds; of what is stored the bytes, where they are known."""
    for mark in marks(notes):
        known = _evaluated(mark.note.formula, arguments) if mark.word == "stored" and arguments is not None else None
        each = " for each iteration" if mark.note.per_iteration else ""
        yield mark.word if known is None else f"stored: {known:,} bytes{each}", mark.kind


def _said(note: ExplainedLine, arguments: Mapping[str, Any] | None) -> str:
    """A note as HTML: code in backquotes, sizes in numbers."""
    text = _coded(str(note))
    known = _evaluated(note.formula, arguments) if note.formula and arguments is not None else None
    return text if known is None or note.formula.isdecimal() else f"{text} (here {known:,} bytes)"


def _coded(text: str) -> str:
    """Text with what stands between backquotes as code."""
    parts = escape(text).split("`")
    return "".join(part if place % 2 == 0 else f"<code>{part}</code>" for place, part in enumerate(parts))


# the tables


def _tables(told: Explanation, arguments: Mapping[str, Any] | None) -> Iterator[str]:
    rows = [
        (f"<code>{escape(v.name)}</code>", "active" if v.active else "constant", _coded(v.why)) for v in told.variables
    ]
    yield from _table("Variables", ("variable", "derivative", "why"), rows)
    told_rows = [(escape(note.place), _said(note, arguments)) for note in told.notes]
    if told_rows:
        yield from _table("Decisions", ("place", "what and why"), told_rows)
    arrays = [(f"<code>{escape(a.name)}</code>", _bytes(a.formula, arguments), a.made or "once") for a in told.memory]
    if arrays:
        yield from _table("Arrays of the generated function", ("array", "bytes", "made"), arrays)
    if told.limits:
        yield "<section><h2>What limits it</h2><ul>"
        yield from (f"<li>{_coded(limit)}</li>" for limit in told.limits)
        yield "</ul></section>"


def _table(title: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    yield f"<section><h2>{title}</h2><table><thead><tr>"
    yield "".join(f'<th scope="col">{head}</th>' for head in heads)
    yield "</tr></thead><tbody>"
    yield from ("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    yield "</tbody></table></section>"
