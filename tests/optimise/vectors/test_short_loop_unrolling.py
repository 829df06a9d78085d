"""Short loops in lanes are written out, so that what they add up stays in the lane."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.optimise import costs
from tapec.optimise.vectors.short_loop_unrolling import unroll_short_loops
from tests.optimise.comparison import check_results
from tests.optimise.reading import check, unchanged

NEST = """
def f(A, a, n, k, c, x):
    for i in range({count}):
        s = x
        for j in range({loop}):
            {body}
            s_1 = s * t
            s = s_1
        {after}
        a[i] = s
    return x
"""
AGAIN = """for j_1 in range(k):
            for j_2 in range(2):
                t_2 = A[j_2, i]
                s_3 = s + t_2
                s = s_3"""
USUAL = {"count": "n", "loop": "2", "body": "t = A[j, i]", "after": "pass"}


def test_what_an_inner_loop_hands_on_becomes_numbers():
    before = NEST.format(**USUAL)
    check(
        unroll_short_loops,
        before,
        """
        def f(A, a, n, k, c, x):
            for i in range(n):
                t = A[0, i]
                s_1 = x * t
                t_2 = A[1, i]
                s_1_2 = s_1 * t_2
                a[i] = s_1_2
            return x
        """,
    )
    check_results(
        unroll_short_loops, before, *((np.arange(12.0).reshape(3, 4), np.ones(4), n, 1, True, 1.5) for n in range(4))
    )


@pytest.mark.parametrize(
    "other",
    [
        {"loop": "2, -1, -1"},
        {"loop": "1, 3"},
        {"loop": "4", "body": "k_1 = j // 2\n            t = A[k_1, i]"},
        # a loop that adds to elements stays, and so does one around
        {"after": "for j_1 in range(3):\n            A[j_1, i] += s"},
        {"after": AGAIN},
    ],
)
def test_results_stay(other: dict[str, str]):
    matrix = np.arange(12.0).reshape(3, 4)
    runs = [(matrix, np.ones(4), n, k, True, 1.5) for n in (0, 1, 4) for k in (0, 2)]
    check_results(unroll_short_loops, NEST.format(**USUAL | other), *runs)


@pytest.mark.parametrize(
    "other",
    [
        {"loop": f"{costs.UNROLLED_ITERATIONS + 1}"},
        {"loop": "k"},
        {"body": "\n            ".join(f"t = A[j, {k % 3}]" for k in range(costs.LANE_STATEMENTS // 2))},
        {"body": "if c:\n                t = A[j, i]\n            else:\n                t = x"},
        {"body": "t = A[j, i]\n            print(t)"},
        {"count": "8"},  # too few lanes
        {"count": "n, 0, -1"},
        {"body": "t = A[i, j]"},  # elements of lanes lie apart
        {"after": "a[0] = s"},  # iterations that are not independent
    ],
)
def test_other_loops_stay(other: dict[str, str]):
    unchanged(unroll_short_loops, NEST.format(**USUAL | other))


def test_loops_that_hand_nothing_on_or_stand_in_no_lanes_stay():
    unchanged(
        unroll_short_loops,
        """
        def f(A, n, x):
            s = x
            for j in range(2):
                t = A[j, 0]
                s_1 = s * t
                s = s_1
            for i in range(n):
                for j_1 in range(2):
                    for j_2 in range(2):
                        A[j_1, i] += s
            return s
        """,
    )
