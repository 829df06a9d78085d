"""Programs that are one sweep."""

from __future__ import annotations

import tapec


def sum_of_squares(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
    return total


def test_a_program_of_one_sweep_announces_none():
    text = tapec.emit(sum_of_squares, signature="f8[::1]")
    assert "sweep\n" not in text
    assert "x_bar[i] += 2.0 * x[i]" in text
    assert text.count("for i in") == 1 + text.count("# for i in")
