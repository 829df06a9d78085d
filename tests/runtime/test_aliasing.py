"""What shares memory: held to NumPy's exact answer, and to the addresses of elements."""

from __future__ import annotations

import numpy as np
import pytest

from tapec_runtime import aliasing
from tapec_runtime.aliasing import elements_overlap, meet, overlap, overlaps_itself
from tests.sampling import sampled


def view(rng, whole):
    """A view of a matrix by slices of any step, perhaps of one row or column, perhaps transposed."""
    subscripts = []
    for extent in whole.shape:
        first, last = sorted(rng.integers(0, extent + 1, 2))
        step = int(rng.choice([-3, -2, -1, 1, 2, 3]))
        part = slice(int(first), int(last), step) if step > 0 else slice(int(last) - 1, int(first) - 1 or None, step)
        subscripts.append(int(rng.integers(extent)) if rng.random() < 0.3 else part)
    found = whole[tuple(subscripts)]
    return np.atleast_1d(found.T if rng.random() < 0.5 else found)


@pytest.mark.slow
def test_arrays_that_share_an_element_meet(rng, monkeypatch: pytest.MonkeyPatch):
    for function in (overlap, aliasing._interleave):
        # there are many kinds of arrays to compile for
        monkeypatch.setattr(aliasing, function.__name__, function.py_func)
    whole, apart, refined = np.zeros((5, 6)), 0, 0
    for _ in range(1000):
        a, b = view(rng, whole), view(rng, whole)
        shared = np.shares_memory(a, b)
        found = meet.py_func(a, b)
        assert found or not shared
        assert overlap.py_func(a, b) or not found
        apart += not shared
        refined += found and not shared
    # what cannot be told is rare
    assert refined < 0.1 * apart


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    sampled(
        [
            (np.s_[:, 0], np.s_[:, 1], False),
            (np.s_[:, :2], np.s_[:, 2:], False),
            (np.s_[:, :3], np.s_[:, 2:], True),
            (np.s_[:, ::2], np.s_[:, 1::2], False),
            (np.s_[::-1, 0], np.s_[:, -1], False),
            (np.s_[0], np.s_[1], False),
            (np.s_[:2], np.s_[1:], True),
            (np.s_[:, 0], np.s_[1], True),
        ],
        6,
    ),
)
def test_columns_rows_and_blocks(first, second, shared):
    whole = np.zeros((3, 6))
    assert meet(whole[first], whole[second]) == shared


def test_elements_that_share_memory_overlap(rng):
    for _ in range(1000):
        ndim = int(rng.integers(1, 4))
        shape = tuple(map(int, rng.integers(0, 4, ndim)))
        strides = tuple(int(8 * step) for step in rng.integers(-6, 7, ndim))
        middle = np.zeros(200)[100:]
        a = np.lib.stride_tricks.as_strided(middle, shape, strides)
        places = sum(
            (np.arange(n) * step).reshape([-1 if k == axis else 1 for k in range(ndim)])
            for axis, (n, step) in enumerate(zip(shape, strides, strict=True))
        )
        distinct = len(np.unique(places)) == np.size(places)
        assert elements_overlap(a) or distinct


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1), (1, 0, 2)])
def test_slices_in_any_order_do_not_overlap_themselves(axes):
    a = np.zeros((3, 4, 5))[::2, ::-1, 1:4].transpose(axes)
    assert not overlaps_itself(a, 1)
    assert not elements_overlap((a + 0j).real, 2)
    assert elements_overlap(np.broadcast_to(a[:1], (2, *a.shape[1:])))
