"""Branches that choose between known numbers are operations."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.vectors.select_numbers import choose_numbers
from tests.optimise.reading import check
from tests.oracles import interpreted


def test_a_branch_between_numbers_is_an_operation():
    check(
        choose_numbers,
        before="""
        def f(a, x, n):
            for i in range(n):
                c = i == n
                if c:
                    y = 1.0
                    z = 2.0
                else:
                    z = 0.5
                    y = 0.0
                w = x * y
                a[i] = w * z
            return a
        """,
        after="""
        def f(a, x, n):
            for i in range(n):
                c = i == n
                y = 1.0 if c else 0.0
                z = 2.0 if c else 0.5
                w = x * y
                a[i] = w * z
            return a
        """,
    )


@pytest.mark.parametrize(
    "first, second",
    [
        ("y = 1.0", "y = x"),
        ("y = 1.0", "z = 1.0"),
        ("y = 1.0", "pass"),
        ("i = 1", "i = 2"),
        ("a[0] = 1.0", "a[0] = 2.0"),
    ],
)
def test_other_branches_stay(first: str, second: str):
    branch = f"    if c:\n        {first}\n"
    branch += "" if second == "pass" else f"    else:\n        {second}\n"
    text = f"def f(a, x, c, i):\n{branch}    return a\n"
    check(choose_numbers, text, text)


def delta(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            same = 1.0 if i == j else 0.0
            total += (same - 0.25) * np.sin(x[i] * y[j]) * x[i]
    return total


def test_what_was_chosen_is_not_kept():
    assert "_store" not in tapec.emit(delta, wrt=(0, 1), signature="f8[::1], f8[::1]", opt_level=2)
    x, y = np.linspace(0.1, 1.0, 4), np.linspace(-1.0, 2.0, 3)
    with interpreted():
        for one, other in zip(
            tapec.grad(delta, wrt=(0, 1))(x, y), tapec.grad(delta, wrt=(0, 1), opt_level=0)(x, y), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-13)
