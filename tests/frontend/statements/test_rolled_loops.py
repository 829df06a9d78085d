"""Long loops over numbers that stand in the source have one body; what needs known numbers has one per iteration."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapec
from tapec.errors import TapecError
from tests import oracles
from tests.sampling import sampled

pytestmark = pytest.mark.usefixtures("mostly_plainly")

OFFSETS = ((0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (-1, -1), (2, 0), (0, 2))


def symbols(x, w):
    best, total = 0.0, 1.0
    for symbol in [0, 2, 1, 1, 0, 2, 0, 1, 2, 2, 0, 1]:
        best = -1e9
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                score = x[i, j] + w[j, symbol] * x[i, 0]
                if score > best:
                    best = score
        total += best * best
    return total + best


def neighbours(x, w):
    total = 0.0
    for di, dj in OFFSETS:
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                p, q = i + di, j + dj
                if p >= 0 and q >= 0 and p < x.shape[0] and q < x.shape[1]:
                    total += x[i, j] * x[p, q] * w[0, 0] + x[i, j] ** 2 * (di - 0.5 * dj)
    return total


def weights(x, w):
    total = 0.0
    for k, factor in enumerate((0.5, 1.5, -0.25, 2.0, 0.125, 3.0, 1.0, -1.0, 0.25, 0.75, 4.0)):
        for i in range(x.shape[0]):
            row = 0.0
            for j in range(x.shape[1]):
                row += factor * x[i, j] * w[j, 1] + x[i, j] ** 2 * k
            total += row * row + x[i, 0] * w[0, 2]
    return total


def cells(x, w):
    total = 0.0
    for a in (1, 0, -1):
        for b in (-1, 0, 1):
            i = 0
            while i < x.shape[0]:
                p = (i + a) % x.shape[0]
                for j in range(x.shape[1]):
                    q = (j + b) % x.shape[1]
                    d = x[i, j] - x[p, q]
                    total += d * d * w[0, 0] + np.sin(d) * x[p, j]
                i += 1
    return total


def last_one(x, w):
    """What an iteration sets is read behind the loop: that there is an iteration must be known."""
    total = 0.0
    for k in (3, 1, 2, 0, 3, 1, 2, 0, 3, 2):
        row = np.zeros(x.shape[1])
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                row[j] += x[i, j] * w[j, 0] + x[i, k] * x[i, j]
        total += row[0] * row[1] + row[k]
    return total + row.sum() * k


def axes(x, w):
    """Axes must be known."""
    total = 0.0
    for axis in (0, 1, 0, 1, 1, 0, 1, 0):
        sums = np.sum(x * x, axis=axis)
        for i in range(sums.shape[0]):
            for j in range(sums.shape[0]):
                total += sums[i] * sums[j] * w[0, 0] + sums[i] * 0.5 - sums[j] * w[0, 1] + sums[i] ** 2
    return total


def grown(x, w):
    """A list is unpacked that has an item per iteration."""
    out = []
    for k in (0, 1, 2):
        total = 0.0
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                total += x[i, j] * w[j, k] + x[i, 0] * w[0, k] * x[0, j] - x[i, j] ** 2 * w[0, k] + x[i, j] * k
                total += x[i, j] * w[j, k] + x[i, 0] * w[0, k] * x[0, j] - x[i, j] ** 2 * w[0, k] + x[i, j] * k
        out.append(total)
    a, b, c = out
    return a * b + c


def shared(x, w):
    """The body takes items, too."""
    total, items = 0.0, iter((1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0))
    for factor in items:
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                total += x[i, j] * w[j, 0] * factor + x[i, j] ** 2 * w[j, 1] - x[i, 0] * w[0, 1] * x[0, j] * factor
        total *= 1.0 + 0.01 * next(items, 5.0)
    return total


ROLLED = (symbols, neighbours, weights, cells)


@pytest.mark.parametrize("f", sampled((*ROLLED, last_one, axes, grown, shared), 6), ids=lambda f: f.__name__)
def test_derivatives_of_long_loops_over_numbers(f: Callable[..., Any]):
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((5, 4)), rng.standard_normal((4, 3))
    v, u = rng.standard_normal(x.shape), rng.standard_normal(w.shape)
    with oracles.interpreted():
        value, (x_bar, w_bar) = tapec.value_and_grad(f, wrt=(0, 1))(x, w)
        _, tangent = tapec.jvp(f, (x, w), (v, u))
    assert value == pytest.approx(f(x, w), rel=1e-12)
    step = 1e-6
    difference = (f(x + step * v, w + step * u) - f(x - step * v, w - step * u)) / (2.0 * step)
    assert tangent == pytest.approx(difference, rel=1e-6)
    assert np.sum(x_bar * v) + np.sum(w_bar * u) == pytest.approx(tangent, rel=1e-12)


@pytest.mark.parametrize("f", ROLLED, ids=lambda f: f.__name__)
def test_one_body_stands_for_all_iterations(f: Callable[..., Any]):
    text = tapec.emit(f, wrt=(0, 1), signature="f8[:,::1], f8[:,::1]", opt_level=1)
    assert len(re.findall(r"\n +for i in range\(x", text)) <= 6


def test_an_error_in_an_iteration_points_at_its_line():
    def wrong(x):
        total = 0.0
        for k in (1, 2, 3, 4, 5, 6, 7, 8, 9):
            for i in range(x.shape[0]):
                for j in range(x.shape[0]):
                    total += x[i] * x[j] * k + x[i] ** 2 * x[j] - np.no_such_function(x[i]) + x[j] ** 3 * x[i] ** k
        return total

    with pytest.raises(TapecError, match="no_such_function"):
        tapec.grad(wrong)(np.ones(3))
