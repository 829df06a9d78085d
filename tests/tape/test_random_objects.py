"""Random programs that alias, rebind, store and mutate, held to the oracle; see `random_objects`."""

from __future__ import annotations

import pytest

from tests.sampling import sampled
from tests.tape.random_objects import examine

pytestmark = pytest.mark.usefixtures("mostly_plainly")


@pytest.mark.slow
@pytest.mark.parametrize("start", sampled(range(0, 40, 10), 1, default=4))
def test_random_programs(start):
    for seed in range(start, start + 10):
        examine(seed, pairs=12)


@pytest.mark.slow
@pytest.mark.parametrize("start", sampled(range(0, 20, 10), 1, default=2))
def test_random_programs_with_complex_values(start):
    for seed in range(start, start + 10):
        examine(seed, pairs=12, runs=3, mixed=True)


# programs that were wrong once: a watch in a branch that is not taken, a watch of a temporary, a
# variable's version in a loop, a name that only a helper assigns, an inner gradient's own numbers
@pytest.mark.parametrize("seed", [1023, 1006, 1454, 1537, 7407, 10208, 10418, 10439, 20003])
def test_programs_that_were_wrong(seed):
    examine(seed)
