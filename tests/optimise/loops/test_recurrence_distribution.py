"""Recurrences of the reverse sweep run alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tapec
from tapec.optimise.loops.recurrence_distribution import distribute_recurrences
from tests.optimise.reading import check, read
from tests.oracles import interpreted


def test_an_element_that_the_next_iteration_reads_is_carried_and_the_rest_split_off():
    check(
        distribute_recurrences,
        before="""
        def f(a, ax, ay, az, n):
            for i in range(n):
                for j in range(n):
                    s = a[j]
                    a[j] = 0.0
                    p = ay[j]
                    q = az[j]
                    w = p * q
                    t = s / w
                    k = j + 1
                    a[k] += t
                    u = t * t
                    v = u + s
                    r = v * v
                    o = r * v
                    ax[j] += o
        """,
        after="""
        def f(a, ax, ay, az, n):
            size = max(n, 0)
            t_4_kept = np.empty(size)
            a_carried_kept = np.empty(size)
            for i in range(n):
                t_3 = 0 < n
                if t_3:
                    a_carried = a[0]
                    a_carried_2 = a_carried
                else:
                    a_carried_2 = 0.0
                for j_1 in range(n):
                    p_1 = ay[j_1]
                    q_1 = az[j_1]
                    w_1 = p_1 * q_1
                    t_4 = 1.0 / w_1
                    t_4_kept[j_1] = t_4
                a_carried_3 = a_carried_2
                for j_2 in range(n):
                    a_carried_kept[j_2] = a_carried_3
                    t_5 = t_4_kept[j_2]
                    k_1_1 = j_2 + 1
                    t_1_1_1 = a[k_1_1]
                    t_6 = t_5 * a_carried_3
                    a_carried_4 = t_1_1_1 + t_6
                    a_carried_3 = a_carried_4
                if t_3:
                    a[n] = a_carried_3
                for j in range(n):
                    a_carried_1 = a_carried_kept[j]
                    a[j] = 0.0
                    p = ay[j]
                    q = az[j]
                    w = p * q
                    t = a_carried_1 / w
                    u = t * t
                    v = u + a_carried_1
                    r = v * v
                    o = r * v
                    ax[j] += o
        """,
        again=False,
    )


ITERATION = """
            s = a[j]
            a[j] = 0.0
            p = ay[j]
            q = p * p
            t = s / q
            k = j + 1
            a[k] += t
            u = t * t
            v = u + s
            r = v * v
            o = r * v
            ax[j] += o
"""


@pytest.mark.parametrize(
    "line, other",
    [
        # an earlier iteration, or a statement before, has stored what the recurrence is made of
        ("p = ay[j]", "p = ax[i]"),
        ("p = ay[j]", "ay[j] = 1.0\n            p = ay[j]"),
        ("p = ay[j]", "p = ay[j]\n            k_1 = j + 1\n            ay[k_1] = s"),
        # others meet the elements that are handed on
        ("p = ay[j]", "p = a[i]"),
        ("p = ay[j]", "k_1 = j + 2\n            p = a[k_1]"),
        ("ax[j] += o", "a[i] += o"),
        ("ax[j] += o", "a[j] += o"),
        ("a[j] = 0.0", "a[i] = 0.0"),
        ("k = j + 1", "k = j + 2"),
        ("k = j + 1", "k = j - 1"),
        # no line in the value before
        ("t = s / q", "t = s * s"),
        # a short wait
        ("t = s / q", "t = s * q"),
        ("t = s / q", "t = q / s"),
        ("t = s / q", "c = q < s\n            t = s if c else q"),
        # what is left does not run side by side
        ("ax[j] += o", "ax[i] = o"),
        ("ax[j] += o", "k_1 = j * 2\n            ax[k_1] += o"),
    ],
)
def test_loops_stay_without_a_proof_or_a_gain(line: str, other: str):
    text = "def f(a, ax, ay, n, i):\n    for i_1 in range(n):\n        for j in range(n):" + ITERATION
    assert distribute_recurrences(read(text)) != read(text)
    text = text.replace(line, other)
    assert distribute_recurrences(read(text)) == read(text)


def scan(t, x, y):
    """The best of three ways to each place, with a price that depends on both."""
    n, m = t.shape[0] - 1, t.shape[1] - 1
    for i in range(n):
        for j in range(m):
            before = min(t[i, j], t[i, j + 1], t[i + 1, j])
            t[i + 1, j + 1] = before + (x[i] - y[j]) ** 2
    return t[n, m]


def restarted(t, x, y):
    """The way that comes along the row goes on, or a new one begins."""
    n, m = t.shape[0] - 1, t.shape[1] - 1
    for i in range(n):
        for j in range(m):
            before = min(t[i + 1, j], 0.1 * x[i])
            t[i + 1, j + 1] = before + t[i, j + 1] + (x[i] - y[j]) ** 2
    return t[n, m]


def eliminations(lower, diag, upper, rhs):
    """Two recurrences in each row, of which the second one reads the first one's values."""
    rows, n = rhs.shape
    ratio = np.empty(n)
    y = rhs.copy()
    total = 0.0
    for r in range(rows):
        pivot = diag[0] + total
        y[r, 0] /= pivot
        for i in range(1, n):
            ratio[i] = upper[i - 1] / pivot
            pivot = diag[i] - lower[i] * ratio[i]
            y[r, i] = (y[r, i] - lower[i] * y[r, i - 1]) / pivot
        total += math.sin(y[r, n - 1]) * (r + 1)
    return total


def smoothed(x, w):
    """A recurrence in a loop that counts down, whose first value is an argument's."""
    y = x.copy()
    rows, n = x.shape
    total = 0.0
    for k in range(rows):
        for i in range(n - 2, -1, -1):
            y[k, i] = x[k, i] * w[i] * total + w[i] * y[k, i + 1] * x[k, i] / (1.0 + w[i] * w[i])
        total += y[k, 0]
    return total


def arguments(f, n, m, rng):
    if f in (scan, restarted):
        # ties in the borders
        return np.abs(np.round(rng.normal(size=(n + 1, m + 1)))), rng.normal(size=n), rng.normal(size=m)
    if f is smoothed:
        return rng.normal(size=(n, m + 1)), rng.normal(size=m + 1)
    return rng.normal(size=m + 1), 4.0 + rng.random(m + 1), rng.normal(size=m + 1), rng.normal(size=(n, m + 1))


@pytest.mark.slow
def test_gradients_are_those_of_the_plain_sweep_for_all_lengths():
    rng = np.random.default_rng(5)
    with interpreted():
        for f, params in ((scan, (0, 1, 2)), (restarted, (0, 1, 2)), (eliminations, (0, 1, 2, 3)), (smoothed, (0, 1))):
            fast, plain = tapec.grad(f, wrt=params), tapec.grad(f, wrt=params, opt_level=0)
            for n, m in ((5, 7), (3, 0), (0, 3), (2, 1), (1, 2), (0, 0)):
                args = arguments(f, n, m, rng)
                found, wanted = (g(*(arg.copy() for arg in args)) for g in (fast, plain))
                for one, other in zip(found, wanted, strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


def test_a_choice_that_leaves_the_value_before_out_leaves_infinities_out():
    text = tapec.emit(restarted, wrt=(0, 1, 2), signature="f8[:,::1], f8[::1], f8[::1]")
    assert "_carried" in text and "== 0.0 else" in text
