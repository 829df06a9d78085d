"""Subscripts that are proved not to be negative, without a sign."""

from __future__ import annotations

import pytest

from tapec.backend import printer
from tapec.optimise.vectors.unsigned_subscripts import use_unsigned_subscripts
from tests.optimise.reading import read

TRIANGLE = """
def f(A, m, n, z):
    for k in range(n, -1, -1):
        k1 = k + 1
        for j in range({bounds}):
            {subscript}
            x = A[k, i]
            y = x * z
            A[k, i] = y
"""


def changed(bounds: str, subscript: str) -> str:
    return printer.function(
        use_unsigned_subscripts(read(TRIANGLE.format(bounds=bounds, subscript=subscript))), quote=False
    )


@pytest.mark.parametrize("subscript", ["i = j + 0", "i = j - k1", "i = j + k", "i = k + j"])
def test_a_loop_that_begins_with_a_variable(subscript):
    assert changed("k1, m", subscript).count("np.uint64(i)") == 2


@pytest.mark.parametrize(
    ("bounds", "subscript"),
    [("n, -1, -1", "i = j + 1"), ("n, k1, -1", "i = j + 0"), ("n, k1, -1", "i = j + k"), ("n, 0, -1", "i = j - 1")],
)
def test_a_loop_that_counts_down(bounds, subscript):
    assert changed(bounds, subscript).count("np.uint64(i)") == 2


@pytest.mark.parametrize("subscript", ["i = j - 2", "i = j + 0", "i = j + 3"])
def test_a_loop_that_begins_with_two(subscript):
    assert changed("2, m", subscript).count("np.uint64(i)") == 2


@pytest.mark.parametrize(
    ("bounds", "subscript"),
    # LLVM sees the sign itself, as of the variable of a loop that counts down to a number; a sign that is not known, or
    # that of what stays
    [
        ("0, m", "i = j + 0"),
        ("1, m", "i = j - 1"),
        ("1, m", "i = j + 0"),
        ("m, n", "i = j + 0"),
        ("k1, m", "i = j - m"),
        ("k1, m", "i = k1 + 0"),
        ("n, -1, -1", "i = j + 0"),
        ("n, -1, -1", "i = j - 1"),
    ],
)
def test_others_stay(bounds, subscript):
    assert "uint64" not in changed(bounds, subscript)
