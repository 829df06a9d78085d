"""Calls of NumPy's and SciPy's functions, a row each in `calls/`: values, and gradients in both modes.

A row is an expression in `v` and `p` (5,), `m` (3, 4), `s` (3, 3) and `c` (2, 3, 4).  Its value is that of Python, its
derivative along a direction that of central differences, and both modes agree.  `python -m tools.calls` counts them.
"""

from __future__ import annotations

import pytest

from tests.levels import read_once
from tests.sampling import sampled
from tests.typed import interpreted
from tools.calls import check, rows


@pytest.mark.parametrize("row", sampled(rows(), 25))
def test_calls(row: str, request: pytest.FixtureRequest):
    """Cleaned up where all rows are by `--exhaustive`, or else each fifth."""
    whole = request.config.getoption("exhaustive") or rows().index(row) % 5 == 0
    with interpreted(), read_once():
        check(row, 1 if whole else 0)
