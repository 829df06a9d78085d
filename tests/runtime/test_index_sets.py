"""Sets of sources, against Python's sets."""

from __future__ import annotations

import numpy as np
import pytest

from tapec_runtime.index_sets import (
    _elements_by_bits,
    elements,
    is_full,
    lies_in,
    noted,
    noted_all,
    room_for_sets,
    set_at,
    union,
    union_of,
)
from tests.sampling import sampled


@pytest.mark.parametrize("sources", sampled([1, 3, 40, 100], 4))
def test_random_unions(sources):
    rng = np.random.default_rng(sources)
    sets = room_for_sets(sources, 4096)
    known = [(0, set()), *((k + 1, {k}) for k in range(sources))]
    for count in rng.integers(2, 6, 400):
        # mostly of the last ones, which are large
        picked = [known[k] for k in (*rng.integers(0, len(known), count - 1), max(len(known) - 3, 0))]
        made = union(sets, *(np.int64(number) for number, _ in picked))
        known.append((made, set().union(*(found for _, found in picked))))
    assert not is_full(sets)
    numbers = np.array([number for number, _ in known])
    starts, found = elements(sets, numbers)
    for (_, wanted), first, last in zip(known, starts[:-1], starts[1:], strict=True):
        assert found[first:last].tolist() == sorted(wanted)
    for one, other in zip(_elements_by_bits(sets, numbers), (starts, found), strict=True):
        np.testing.assert_array_equal(one, other)
    whole = elements(sets, np.array([union_of(sets, numbers.reshape(1, -1))]))[1]
    assert whole.tolist() == list(range(sources))


def test_equal_small_sets_are_one_set():
    sets = room_for_sets(9, 8)
    one = union(sets, union(sets, 1, 2), 3)
    assert union(sets, 3, 2, 1) == one == union(sets, one, 2) == union(sets, 0, one, 1)
    assert union(sets, 4, 4, 0) == 4


def test_a_loop_that_joins_the_same_sets_again_needs_no_room():
    sets = room_for_sets(9, 16)
    one = 1
    for k in range(1000):
        one = union(sets, one, 1 + k % 9)
    assert not is_full(sets)
    assert elements(sets, np.array([one]))[1].tolist() == list(range(9))


def test_an_array_of_sets_says_that_it_is_full():
    sets = room_for_sets(100, 4)
    one = 1
    for k in range(100):
        one = union(sets, one, 1 + k)
    assert is_full(sets)


def test_digests_tell_decisions_apart():
    sequences = [[], [0], [0, 0], [0, 1], [1], [1, 0], [2], [-1], [0, 0, 0]]
    digests = [noted_all(7, np.array(one, np.int64)) for one in sequences]
    assert len(set(digests)) == len(sequences)
    assert noted_all(7, np.array([True, False])) == noted(noted(7, 1), 0)


@pytest.mark.slow
def test_elements_that_are_not_there_have_no_set():
    sets = np.arange(1, 7).reshape(2, 3)
    assert [set_at(sets, 1, 2), set_at(sets, -1, -3), set_at(sets, 2, 0), set_at(sets, 0, -4)] == [6, 4, 0, 0]
    assert lies_in(sets, 0, 0) and not lies_in(sets, 0, 3)


@pytest.mark.slow
def test_sets_of_a_long_march_are_collected_by_bits():
    """Each of them is the union of two that were made shortly before, so that walks meet the same sets again."""
    sources, rows = 200, np.arange(200)
    sets, now = room_for_sets(sources, 2**17), rows + 1
    for _ in range(300):
        now = np.array([union(sets, now[k - 1], now[k]) for k in rows])
    starts, found = elements(sets, now)
    assert np.diff(starts).tolist() == [sources] * sources
    assert (found.reshape(sources, sources) == rows).all()
