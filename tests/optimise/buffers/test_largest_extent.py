"""Arrays of an iteration whose extents differ from iteration to iteration get room for the largest once."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.buffers.allocation_hoisting import hoist_allocations
from tests.optimise.reading import check
from tests.oracles import interpreted

LOOP = """
def f(x, n, m, c, a):
    for i in range(n):
        k = i * m
{iteration}
    return x
"""


def loop(iteration: str) -> str:
    return LOOP.format(iteration="\n".join(f"        {line}" for line in iteration.splitlines()))


def test_the_iterations_are_asked_for_their_extents():
    check(
        hoist_allocations,
        before=loop("k_1 = max(k, 0)\na_1 = np.zeros(k_1)\nfor j in range(k_1):\n    a_1[j] += x"),
        after="""
        def f(x, n, m, c, a):
            room = 0
            for i_1 in range(n):
                k_2 = i_1 * m
                k_1_1 = max(k_2, 0)
                room = max(room, k_1_1)
            a_1 = np.empty(room)
            for i in range(n):
                k = i * m
                k_1 = max(k, 0)
                for i_2 in range(k_1):
                    a_1[i_2] = 0.0
                for j in range(k_1):
                    a_1[j] += x
            return x
        """,
    )


@pytest.mark.parametrize(
    "iteration",
    [
        # all of it is used
        "a_1 = np.empty(k)\nx = np.sum(a_1)",
        # its extent is asked for
        "a_1 = np.empty(k)\nm_1 = a_1.shape[0]\nfor j in range(m_1):\n    a_1[j] = x",
        # the loop may end early, or with an error
        "a_1 = np.empty(k)\na_1[0] = x\nif c:\n    break",
        "if c:\n    raise ValueError()\na_1 = np.empty(k)\na_1[0] = x",
        # the extent follows from what an iteration hands on, or from a number that is no whole one
        "a_1 = np.empty(m)\na_1[0] = x\nm = k",
        "x_1 = x * x\nk_1 = int(x_1)\na_1 = np.empty(k_1)\na_1[0] = x",
        # a matrix of the largest extents may be larger than any of the iterations'
        "A_1 = np.empty((k, m))\nA_1[0, 0] = x",
    ],
)
def test_other_arrays_are_made_by_their_iterations(iteration: str):
    text = loop(iteration)
    check(hoist_allocations, text, text)


def rows(x, start):
    total = 0.0
    for i in range(start.shape[0] - 1):
        s = 0.1
        for p in range(start[i], start[i + 1]):
            s = s * x[p] + 0.1
        total += s * s
    return total


def rows_with_room(x, start):
    total = 0.0
    for i in range(start.shape[0] - 1):
        m = start[i + 1] - start[i]
        share = np.zeros(m)
        norm = 0.1
        for p in range(m):
            share[p] += np.exp(x[start[i] + p])
            norm += share[p]
        for p in range(m):
            total += x[start[i] + p] * share[p] / norm
    return total


def changed_rows(x, start):
    ends = start.copy()
    total = 0.0
    for i in range(start.shape[0] - 1):
        s = 0.1
        for p in range(ends[i], ends[i + 1]):
            s = s * x[p] + 0.1
        ends[i] = ends[i + 1]
        total += s * s
    return total


@pytest.mark.parametrize("f", [rows, rows_with_room, changed_rows])
def test_results_are_the_same_for_rows_of_all_lengths(f):
    with interpreted():
        fast, plain = tapec.value_and_grad(f), tapec.value_and_grad(f, opt_level=0)
        for lengths in ([], [0], [3], [0, 0], [2, 0, 5, 1], [1, 1, 1, 7]):
            start = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
            x = np.linspace(0.2, 0.9, int(start[-1]))
            for found, wanted in zip(fast(x, start), plain(x, start), strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_rows_of_a_sparse_matrix_make_no_arrays():
    text = tapec.emit(rows, signature="f8[::1], i8[::1]", opt_level=2)
    assert text.count("np.empty(room)") == 1
    assert text.index("np.empty(room)") < text.index("s = 0.1")
    # an array of the function's own may change
    assert "room" not in tapec.emit(changed_rows, signature="f8[::1], i8[::1]", opt_level=2)


def test_negative_extents_are_errors():
    with interpreted():
        for level in (0, 2):
            gradient = tapec.grad(rows_with_room, opt_level=level)
            with pytest.raises(ValueError, match="negative dimensions"):
                gradient(np.ones(3), np.array([0, 2, 1]))
