"""Loops that set arrays anew: they keep their extents, and have a form for operands that need not be stretched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import float64, int64

import tapec
from tests.oracles import arr, check, interpreted

MATRIX = float64[:, ::1]


def smoothed(u, steps):
    for _ in range(steps):
        u = u + 0.1 * (np.roll(u, 1, axis=0) - u) * u
    return u


def reaction(u, v, feed, steps):
    for _ in range(steps):
        uvv = u * v * v
        u = u + 0.1 * np.roll(u, 1, axis=1) - uvv + feed * (1.0 - u)
        v = v + uvv - feed * v
    return np.sum(u * u) + np.sum(u * v)


def growing(x, steps):
    total = 0.0
    y = x
    for k in range(steps):
        total += np.sum(y * y)
        y = np.concatenate((y, x)) if k % 2 else y * 2.0
    return total + np.sum(y)


def turned(x, steps):
    for k in range(steps):
        x = (x * (k + 1.0)).T
        if k == 1:
            continue
        x = x + x[0, 0]
    return x


def until_small(x, y):
    while np.sum(x * x) > 1.0:
        x = 0.5 * x * y
        if x.shape[0] < 2:
            break
    return x


@pytest.mark.parametrize(
    ("program", "args"),
    [
        (smoothed, (arr(3, 2), 3)),
        (reaction, (arr(2, 3), arr(3, 2).T.copy(), 0.2, 3)),
        # operands that are stretched, in the first trip or in all
        (reaction, (arr(1, 3), arr(2, 3), 0.2, 3)),
        (reaction, (arr(2, 3), arr(1, 1), 0.2, 3)),
        (growing, (arr(3), 4)),
        (turned, (arr(2, 3), 4)),
        (turned, (arr(2, 2), 3)),
        (until_small, (arr(4), arr(4))),
        (until_small, (arr(1), arr(3))),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_derivatives(program: Any, args: Any):
    with interpreted():
        check(program, args)


def test_extents_are_those_before_the_loop():
    def total(u, steps):
        return np.sum(smoothed(u, steps))

    text = tapec.emit(total, signature=(MATRIX, int64))
    assert "stack" not in text and "broadcast" not in text


def test_the_usual_case_has_a_form_of_its_own():
    text = tapec.emit(reaction, wrt=(0, 1), signature=(MATRIX, MATRIX, float64, int64))
    asked, _, rest = text.partition("\n    else:\n")
    assert "if v.shape[0] == u.shape[0] and v.shape[1] == u.shape[1]:" in asked
    assert "stack" not in asked and "broadcast" not in asked
    assert "broadcast" in rest
