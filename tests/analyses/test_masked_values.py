"""Numbers that may be left out of the result."""

from __future__ import annotations

import pytest

from tapec.analyses.masked_values import masked_values
from tests.optimise.reading import read


def body(lines: str) -> str:
    return "def f(x, y, c):\n" + "".join(f"    {line}\n" for line in (*lines.split("; "), "return r"))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("e = np.exp(x); r = e + y", False),
        ("e = np.exp(x); r = e if c else y", True),
        ("e = np.exp(x); r = max(e, y)", False),
        ("e = np.exp(x); t = e * y; r = t if c else y", True),
        ("e = np.exp(x); t = e * y; u = t if c else y; r = u + e", False),
    ],
)
def test_what_may_be_left_out(lines: str, expected: bool):
    found = masked_values(read(body(lines)))
    assert ("e" in found) is expected
    assert not found & {"r", "x", "y"}


def test_a_branch_leaves_out_what_stands_before_it():
    text = "def f(x, y, c):\n    e = np.exp(x)\n    if c:\n        r = e\n    else:\n        r = y\n    return r\n"
    assert "e" in masked_values(read(text))


def test_results_of_a_program_without_a_return():
    assert "e" not in masked_values(read(body("e = np.exp(x); r = e if c else y")), ("e",))
