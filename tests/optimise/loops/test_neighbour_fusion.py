"""Loops over the same elements are joined in what is generated."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec import optimise
from tapec.optimise.loops.neighbour_fusion import fuse_inner_neighbours, fuse_neighbours
from tests.optimise.reading import check
from tests.oracles import interpreted


def test_statements_between_stand_before_or_behind():
    check(
        fuse_neighbours,
        before="""
        def f(a, a_1, x, n):
            s = 0.0
            for i in range(n):
                y = a[i]
                z = y * x
                a_1[i] = z
                s_1 = s + y
                s = s_1
            t = s * x
            u = x + x
            v = 0.0
            for i_1 in range(n):
                y_1 = a_1[i_1]
                v_1 = v + y_1
                v = v_1
            return t, u, v
        """,
        after="""
        def f(a, a_1, x, n):
            u = x + x
            s = 0.0
            v = 0.0
            for i in range(n):
                y = a[i]
                z = y * x
                a_1[i] = z
                s_1 = s + y
                v_1 = v + z
                s = s_1
                v = v_1
            t = s * x
            return t, u, v
        """,
    )


FIRST = "for i in range(n):\n    y = a[i]\n    z = y * x\n    a_1[i] = z"


@pytest.mark.parametrize(
    "rest",
    [
        "for j in range(k):\n    w = a_1[j]\n    a_2[j] = w",
        "for j in range(1, n):\n    w = a_1[j]\n    a_2[j] = w",
        "for j in range(n):\n    k_1 = j + 1\n    w = a_1[k_1]\n    a_2[j] = w",
        "for j in range(n):\n    w = a[j]\n    a_1[k] = w",
        "for j in range(n):\n    w = a[j]\n    a_2[k] = w",
        "for j in range(n):\n    a_2[j] = x",
        "w = a_1[k]\nfor j in range(n):\n    v = a[j]\n    u = v * w\n    a_2[j] = u",
        "a_1[k] = x\nfor j in range(n):\n    v = a_1[j]\n    a_2[j] = v",
        "if c:\n    raise ValueError()\nfor j in range(n):\n    v = a_1[j]\n    a_2[j] = v",
        "for j in range(n):\n    for i_1 in range(k):\n        v = a_1[j]\n        A[j, i_1] = v",
        "for j in range(n):\n    v = a_1[j]\n    if c:\n        a_2[j] = v",
    ],
)
def test_loops_stay_apart_where_other_elements_or_results_are_needed(rest: str):
    body = "\n".join(f"    {line}" for line in f"{FIRST}\n{rest}".splitlines())
    text = f"""
def f(a, a_1, a_2, A, x, n, k, c):
{body}
    return a_2
"""
    check(fuse_neighbours, text, text)


def test_loops_in_loops_and_nests_are_joined_afterwards():
    check(
        fuse_inner_neighbours,
        before="""
        def f(a, a_1, A, n, m):
            for j in range(m):
                for i in range(n):
                    y = a[i]
                    A[i, j] = y
                u = a_1[j]
                for i_1 in range(n):
                    z = A[i_1, j]
                    v = z * u
                    A[i_1, j] = v
            for k in range(m):
                for i_2 in range(n):
                    y_1 = a[i_2]
                    a_1[k] += y_1
            for k_1 in range(m):
                w = a_1[k_1]
                for i_3 in range(n):
                    a[i_3] += w
        """,
        after="""
        def f(a, a_1, A, n, m):
            for j in range(m):
                u = a_1[j]
                for i in range(n):
                    y = a[i]
                    v = y * u
                    A[i, j] = v
                    a_1[j] += y
            for k_1 in range(m):
                w = a_1[k_1]
                for i_3 in range(n):
                    a[i_3] += w
        """,
    )


@pytest.mark.parametrize(
    "rest",
    [
        # what an earlier or a later iteration stored, another element of the row, and a nest of another depth
        "for k in range(n):\n    k_1 = n - k\n    w = a_1[k_1]\n    a_2[k] = w",
        "for k in range(n):\n    w = a_1[j]\n    a_2[k] = w",
        "for k in range(n):\n    for k_1 in range(n):\n        w = a_1[k_1]\n        a_2[k] += w",
    ],
)
def test_loops_in_loops_stay_apart_where_other_elements_are_needed(rest: str):
    inner = f"for i in range(n):\n    y = a[i]\n    a_1[i] = y\n{rest}"
    body = "\n".join(f"        {line}" for line in inner.splitlines())
    text = f"\ndef f(a, a_1, a_2, n, m):\n    for j in range(m):\n{body}\n    return a_2\n"
    check(fuse_inner_neighbours, text, text)


def test_too_many_arrays_stay_in_two_loops():
    body = "\n".join(f"    a_{k}[i] = y" for k in range(1, 5))
    more = "\n".join(f"    a_{k}[j] = z" for k in range(5, 8))
    loops = f"for i in range(n):\n    y = a[i]\n{body}\nfor j in range(n):\n    z = a[j]\n{more}"
    arrays = ", ".join(f"a_{k}" for k in range(1, 8))
    text = f"\ndef f(a, {arrays}, n):\n" + "\n".join(f"    {line}" for line in loops.splitlines()) + "\n"
    check(fuse_neighbours, text, text)


def two_norms(x, w):
    d = x * x - w[0]
    return (d * d).sum() + np.abs(d).mean()


def standardised(x, w):
    z = (x - x.mean()) / (x.std() + w[1])
    return (z**3).mean()


def likelihood(x, w):
    s = 1.0 / (1.0 + np.exp(-x * w[0]))
    return -np.log(s).sum() + 0.1 * (s * s).sum() + s[0]


def overwritten(x, w):
    y = x * w[0]
    total = (y * y).sum()
    y[0] = w[1]
    return total + np.sin(y).sum() + x.max()


def filtered(x, w):
    """A recursion over a row that is read backwards, and over a grid that is smoothed in two passes."""
    y, other = x.copy(), np.zeros_like(x)
    grid = np.zeros((x.size, 3))
    for k in range(1, x.size):
        for i in range(k):
            other[i] = y[i] + w[0] * y[k - i - 1]
        for i in range(k):
            y[i] = other[i] * 0.5
        for i in range(k):
            for j in range(3):
                grid[i, j] += y[i] * w[1] + j
        for i in range(k):
            for j in range(3):
                y[i] += 0.1 * grid[i, j] * grid[i, j]
    return (y * y).sum() + grid.sum()


def spread(x, w):
    """Distances of all pairs, by broadcasting."""
    gap = x[:, None] - x[None, :]
    away = np.exp(-(gap**2) * w[0]) * (1.0 - np.eye(x.size))
    share = away / (away.sum(axis=1)[:, None] + w[1] ** 2)
    return (share * np.log(share + 1.0)).sum()


@pytest.mark.slow
def test_results_are_the_same(monkeypatch):
    rng = np.random.default_rng(3)
    with interpreted():
        for f in (two_norms, standardised, likelihood, overwritten, filtered, spread):
            joined = tapec.value_and_grad(f, (0, 1))
            joined(np.ones(2), np.ones(2))
            with monkeypatch.context() as apart:
                joins = (fuse_neighbours, fuse_inner_neighbours)
                rest = tuple(one for one in optimise.SPEED if one not in joins)
                apart.setattr(optimise, "SPEED", rest)
                plain = tapec.value_and_grad(f, (0, 1))
                plain(np.ones(2), np.ones(2))
            for n in (1, 2, 7):
                x, w = rng.normal(size=n), rng.normal(size=2)
                (value, gradients), (other, expected) = joined(x, w), plain(x, w)
                assert np.isclose(value, other, rtol=1e-13)
                for found, wanted in zip(gradients, expected, strict=True):
                    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


def test_arrays_between_joined_loops_become_numbers():
    def f(x):
        s = 1.0 / (1.0 + np.exp(-x))
        return -np.log(s).sum() + (s * s).sum()

    text = tapec.emit(f, signature="f8[::1]", opt_level=2)
    assert text.count("for ") == 1 and text.count("np.empty") == 1
    notes = tapec.explain(f, signature="f8[::1]").notes
    assert any(
        str(note).startswith("runs in the iterations of line") for note in notes if note.by == "neighbour_fusion"
    )
