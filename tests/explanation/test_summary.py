"""The short form of an explanation: what costs most comes first."""

from __future__ import annotations

import re

import pytest

from tapec.explanation.summary import marks, summary
from tests.explanation.programs import SIGNATURES, heat, newton
from tests.explanation.test_explain import line_of, told


@pytest.mark.parametrize("function", list(SIGNATURES))
def test_lines_with_costs_come_before_those_without(function):
    explanation = told(function)
    by_line = {f"line {note.line}": [] for note in explanation.notes}
    for note in explanation.notes:
        by_line[f"line {note.line}"].append(note)
    order = ["kept", "bad", "again", "good"]
    shown = re.findall(r"^  (line \d+) ", summary(explanation), re.MULTILINE)
    costs = [min(order.index(mark.kind) for mark in marks(by_line[line])) for line in shown]
    assert costs == sorted(costs)
    assert len(shown) == len(set(shown))


def test_stored_values_are_told_with_their_bytes():
    text = summary(told(heat))
    assert text.splitlines()[2].startswith(f"  line {line_of(heat, 'u[i] = here')} ")
    assert "8 * steps * (u0.shape[0] - 2) bytes" in text.splitlines()[2]
    assert "bytes, and lists" in summary(told(newton))
