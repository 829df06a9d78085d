"""Loads whose element no later store reaches: proved where it is so, and only there."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.oracles import check


def forward_scan(x):
    for i in range(1, x.shape[0]):
        x[i] = np.sin(x[i]) * x[i - 1]
    return x[x.shape[0] - 1] * x[0]


def backward_scan(x):
    for i in range(x.shape[0] - 2, -1, -1):
        x[i] = np.sin(x[i]) * x[i + 1]
    return x[0] + x[1] * x[2]


def wrapping_scan(x):
    for i in range(x.shape[0]):
        x[i] = np.sin(x[i]) * x[i - 1]
    return x[1] * x[2]


def scan_against_the_direction(x):
    for i in range(1, x.shape[0] - 1):
        x[i] = x[i + 1] * x[i - 1]
    return x[1] * x[2]


def repeated_scan(x):
    for _ in range(2):
        for i in range(1, x.shape[0]):
            x[i] = x[i] * x[i - 1]
    return x[x.shape[0] - 1]


def elimination(a):
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    s = 0.0
    for i in range(n):
        s += np.log(abs(a[i, i]))
    return s


def two_views(x):
    y = x[1:]
    for i in range(1, y.shape[0]):
        x[i] = x[i] * y[i - 1]
    return x[2] * y[2]


def through_a_swap(x):
    y = np.ones_like(x)
    for _ in range(3):
        for i in range(1, x.shape[0]):
            y[i] = y[i] * x[i - 1] + x[i]
        x, y = y, x
    return x[2] * y[1]


VECTOR = np.array([0.9, 1.3, 0.7, 1.1, 0.8])
MATRIX = np.random.default_rng(3).normal(size=(4, 4)) + 5 * np.eye(4)
VECTOR_CASES = (
    forward_scan,
    backward_scan,
    wrapping_scan,
    scan_against_the_direction,
    repeated_scan,
    two_views,
    through_a_swap,
)


@pytest.mark.parametrize("f", VECTOR_CASES, ids=lambda f: f.__name__)
def test_scans(f):
    check(f, (VECTOR.copy(),), (0,))


def test_elimination():
    check(elimination, (MATRIX,), (0,))


@pytest.mark.parametrize(
    ("f", "signature", "stores"),
    [
        (backward_scan, "f8[::1]", 2),  # x before the store, and its sine
        (elimination, "f8[:,::1]", 1),  # the quotients
        (
            wrapping_scan,
            "f8[::1]",
            5,
        ),  # three in the first iteration, which has a loop of its own, and two in the others
        (scan_against_the_direction, "f8[::1]", 1),
        (repeated_scan, "f8[::1]", 2),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_what_is_stored(f, signature, stores):
    text = tapec.emit(f, signature=signature, opt_level=2)
    assert sum("_store" in line and "= np.empty" in line for line in text.splitlines()) == stores
