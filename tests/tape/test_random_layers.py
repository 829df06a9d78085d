"""Random programs that loop over lists of layers, held to the oracle; see `random_layers`."""

from __future__ import annotations

import pytest

from tapec.transforms import rerolled_loops
from tests.sampling import sampled
from tests.tape.random_layers import examine


@pytest.fixture(autouse=True)
def short_loops_too(monkeypatch):
    monkeypatch.setattr(rerolled_loops, "_LONG", 1)
    monkeypatch.setattr(rerolled_loops, "_OF_NUMBERS", 1)


@pytest.mark.parametrize("seed", sampled(range(30), 9, default=3))
def test_against_the_oracle(seed):
    examine(seed, runs=1)
