"""Inequalities of integers that cannot hold together, compared with all integers of a box."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tapec.analyses.inequalities import contradict, tight
from tapec.syntax.linear import Sum


def row(number: int, **factors: int) -> Sum:
    return Sum(tuple(sorted((name, factor) for name, factor in factors.items() if factor)), number)


def value(sum_: Sum, numbers: dict[str, int]) -> int:
    return sum_.number + sum(factor * numbers[name] for name, factor in sum_.terms)


@pytest.mark.parametrize(
    ("rows", "impossible"),
    [
        ([], False),
        ([row(0)], False),
        ([row(-1)], True),
        ([row(5, i=1)], False),
        # i >= 0, i <= -1
        ([row(0, i=1), row(-1, i=-1)], True),
        # 1 <= 2 i <= 1 has a solution, but no integer
        ([row(-1, i=2), row(1, i=-2)], True),
        ([row(-1, i=2), row(2, i=-2)], False),
        # i < j < k < i
        ([row(-1, i=-1, j=1), row(-1, j=-1, k=1), row(-1, k=-1, i=1)], True),
        ([row(0, i=-1, j=1), row(0, j=-1, k=1), row(0, k=-1, i=1)], False),
    ],
)
def test_small_systems(rows, impossible):
    assert contradict(rows) == impossible


def test_a_proof_is_never_wrong():
    rng = np.random.default_rng(1)
    numbers = [dict(zip("ijk", one, strict=True)) for one in product(range(-4, 5), repeat=3)]
    proved = 0
    for _ in range(100):
        rows = [row(int(rng.integers(-6, 4)), **dict(zip("ijk", map(int, rng.integers(-3, 4, 3)), strict=True)))
                for _ in range(rng.integers(2, 6))]
        if contradict(rows):
            proved += 1
            assert not any(all(value(one, point) >= 0 for one in rows) for point in numbers), rows
    assert proved > 10


def test_many_inequalities_are_given_up():
    rng = np.random.default_rng(2)
    names = [f"x{k}" for k in range(12)]
    rows = [row(9, **dict(zip(names, map(int, rng.integers(-9, 10, 12)), strict=True))) for _ in range(40)]
    assert not contradict(rows)


def test_factors_have_nothing_in_common_and_numbers_are_rounded_down():
    assert tight(row(-1, i=2)) == row(-1, i=1)
    assert tight(row(5, i=3, j=-6)) == row(1, i=1, j=-2)
    assert tight(row(5, i=3, j=2)) == row(5, i=3, j=2)
    assert tight(row(5)) == row(5)
