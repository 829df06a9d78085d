"""The short form of an explanation: a mark or two for each line, what costs most first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tapec.explanation.explained import ExplainedLine, Explanation, adjoint_lines


@dataclass(frozen=True)
class LineMark:
    """A short word for something that the compiler did with a line.

    kind  "kept" or "again" for what the reverse sweep needs, "good" or "bad" for what makes code fast or slow
    note  what it stands for
    """

    word: str
    kind: str
    note: ExplainedLine


# what costs most comes first
_ORDER = ("kept", "bad", "again", "good")


def marks(notes: list[ExplainedLine]) -> list[LineMark]:
    """The marks of a line, each word once unless it stands for a stored value."""
    found: dict[str, LineMark] = {}
    for note in notes:
        for word, kind in _words(note):
            found.setdefault(str(note) if word == "stored" else word, LineMark(word, kind, note))
    return list(found.values())


def _words(note: ExplainedLine) -> Iterator[tuple[str, str]]:
    first = note.what.partition(":")[0]
    if note.by == "storage":
        if first == "stored":
            yield "stored", "kept"
        elif first in ("computed again", "run again"):
            yield first, "again"
    elif note.by == "immediate_reversal":
        yield first, "good" if first == "fused" else "bad"
    elif note.by == "vector_report":
        sweep = f"{first.removesuffix(' sweep')}: " if first.endswith(" sweep") else ""
        scalar = "may not" in note.what
        yield f"{sweep}{'no vectors' if scalar else 'vectors'}", "bad" if scalar else "good"
    elif note.by in ("jacobian", "compressed"):
        yield note.what, "good"
    elif note.by == "scalar_replacement":
        yield "became numbers", "good"
    elif note.what == "runs on threads":
        yield "threads", "good"


def summary(told: Explanation) -> str:
    """A table of the lines about which something was decided: what costs most first, then by line."""
    by_place: dict[tuple[str, str], list[ExplainedLine]] = {}
    for note in told.notes:
        by_place.setdefault((note.file, note.place), []).append(note)
    found = [(place, line) for (_, place), notes in by_place.items() if (line := marks(notes))]
    found.sort(key=lambda row: min(_ORDER.index(mark.kind) for mark in row[1]))
    width = max((len(place) for place, _ in found), default=0)
    lists = ", and lists" if any(note.per_iteration for note in told.stored) else ""
    lines = [told.title, ""]
    lines += [f"  {place:<{width}}  {', '.join(map(_described, line))}" for place, line in found]
    lines += ["", f"stored in all: {told.stored_bytes} bytes{lists}"]
    lines += [f"limited by {limit}" for limit in told.limits]
    lines += adjoint_lines(told)
    return "\n".join(lines) + "\n"


def _described(mark: LineMark) -> str:
    return mark.note.what if mark.word == "stored" else mark.word
