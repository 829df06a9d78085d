"""Iteration counts that are choices are hidden from LLVM."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.optimise.vectors.hidden_iteration_counts import hide_iteration_counts
from tests.optimise.comparison import check_results
from tests.optimise.reading import check, unchanged


def test_counts_of_loops_that_store():
    before = """
    def f(a, n, k, c):
        n_1 = n if c else 0
        for i in range(n_1):
            a[i] = 1.0
        if c:
            n_2 = k if c else 1
            for i in range(n_2, 0, -1):
                pass
            for j in range(1, n_2):
                for i in range(n_1):
                    a[i] += 2.0
                a[j] = 3.0
        return n
    """
    check(
        hide_iteration_counts,
        before,
        """
        def f(a, n, k, c):
            n_1_1 = n if c else 0
            n_1 = tapec_runtime.opaque(n_1_1)
            for i in range(n_1):
                a[i] = 1.0
            if c:
                n_2_1 = k if c else 1
                n_2 = tapec_runtime.opaque(n_2_1)
                for i in range(n_2, 0, -1):
                    pass
                for j in range(1, n_2):
                    for i in range(n_1):
                        a[i] += 2.0
                    a[j] = 3.0
            return n
        """,
    )
    check_results(
        hide_iteration_counts, before, *((np.ones(4), n, k, c) for n in (0, 3) for k in (1, 4) for c in (True, False))
    )


@pytest.mark.parametrize(
    "body",
    [
        "n_1 = max(n, 0)\nfor i in range(n_1):\n    a[i] = x",  # LLVM keeps the sign of a maximum
        "n_1 = n if c else 0\nfor i in range(n_1, n):\n    a[i] = x",  # no stop
        "n_1 = n if c else 0\nfor i in range(n_1):\n    x += 1.0",
        "n_1 = n if c else 0\nfor i in range(n_1):\n    for j in range(n):\n        a[i] = x",  # not innermost
        "n_1 = n if c else 0\nwhile True:\n    a[0] = x\n    break",
        "n_1 = n if c else 0\nn_1 = k\nfor i in range(n_1):\n    a[i] = x",  # two values
        "for i in range(n):\n    a[i] = x",
    ],
)
def test_other_counts_stay(body: str):
    unchanged(
        hide_iteration_counts,
        f"""
def f(a, n, k, c, x):
{"".join(f"    {line}{chr(10)}" for line in body.splitlines())}    return x
""",
    )
