"""How the golden files read may only become better."""

from __future__ import annotations

import pytest

from tools.readability import Readability, readability

# what they are today
MOST = {
    "reverse": Readability(median=4.75, worst=20.5, says_nothing=0.018, numbered=0.28),
    "forward": Readability(median=3.39, worst=29.7, says_nothing=0.028, numbered=0.24),
}


@pytest.mark.parametrize("kind", MOST)
def test_no_number_rises(kind: str):
    found, most = readability(kind=kind), MOST[kind]
    assert found.median <= most.median
    assert found.worst <= most.worst
    assert found.says_nothing <= most.says_nothing
    assert found.numbered <= most.numbered
