"""Elements that take the better of what they hold and of what leads there: gradients, ties and nan included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import typeof

import tapec
from tests.oracles import check, interpreted
from tests.sampling import sampled

EDGES = np.array([[0, 1], [0, 2], [1, 2], [2, 3], [1, 3], [3, 4], [2, 4], [4, 0]])


def all_pairs(d):
    a = d.copy()
    for k in range(a.shape[0]):
        for i in range(a.shape[0]):
            for j in range(a.shape[0]):
                a[i, j] = min(a[i, j], a[i, k] + a[k, j])
    return (a * d).sum()


def from_first(w, edges):
    """The candidate comes first."""
    best = np.full(5, 1e9)
    best[0] = 0.0
    for _ in range(4):
        for e in range(edges.shape[0]):
            best[edges[e, 1]] = min(best[edges[e, 0]] + w[e] * w[e], best[edges[e, 1]])
    return best[4] * best[3] + best[2]


def knapsack(v, weights, room):
    held = np.zeros(room + 1)
    for i in range(v.shape[0]):
        for c in range(room, weights[i] - 1, -1):
            held[c] = max(held[c], held[c - weights[i]] + v[i])
    return held[room] * held[room - 1]


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[int, ...]]] = {
    "all_pairs": (all_pairs, (np.random.default_rng(1).uniform(0.1, 2.0, (6, 6)),), (0,)),
    "from_first": (from_first, (np.random.default_rng(2).uniform(0.3, 2.0, 8), EDGES), (0,)),
    "knapsack": (knapsack, (np.random.default_rng(3).uniform(0.5, 2.0, 6), np.array([3, 1, 4, 2, 5, 2]), 11), (0,)),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name: str):
    f, args, wrt = CASES[name]
    source = tapec.value_and_grad(f, wrt).source(*map(typeof, args))
    assert "better" in source or "tie" in source
    with interpreted():
        check(f, args, wrt, forward_level=0)


def test_adjoints_of_elements_that_keep_what_they_hold_are_not_touched():
    source = tapec.emit(all_pairs, signature="f8[:, ::1]", opt_level=2)
    written = [line for line in source.splitlines() if "#" not in line and "raise" not in line]
    assert "] = min(" not in "".join(written)
    _, reverse = source.split("# reverse sweep")
    test = reverse.index("if taken_store")
    assert "d_bar[k, j] +=" not in reverse[:test]


def test_ties_share_the_adjoint():
    """Every way is as long as another."""
    d = np.ones((5, 5)) - np.eye(5)
    d[0, 4] = d[4, 0] = 2.0
    with interpreted():
        fast = tapec.value_and_grad(all_pairs)(d)
        plain = tapec.value_and_grad(all_pairs, opt_level=0)(d)
    assert fast[0] == plain[0]
    np.testing.assert_array_equal(fast[1], plain[1])


@pytest.mark.parametrize("name", sampled(["from_first", "all_pairs"], 2))
def test_nan_and_signed_zeros_as_without(name: str):
    f, (x, *rest), wrt = CASES[name]
    rng = np.random.default_rng(6)
    # a weight that is not finite has nan for its adjoint there, zero times infinity; here it is not touched
    others = [np.nan, np.inf] if name == "all_pairs" else []
    for draw in range(5):
        drawn = rng.choice([0.0, -0.0, 1.0, 2.0, *others], x.shape)
        with interpreted(), np.errstate(invalid="ignore"):
            fast, (fast_bar,) = tapec.value_and_grad(f, wrt)(drawn, *rest)
            plain, (plain_bar,) = tapec.value_and_grad(f, wrt, opt_level=0)(drawn, *rest)
        np.testing.assert_array_equal(fast, plain, err_msg=str(draw))
        assert np.signbit(fast) == np.signbit(plain)
        np.testing.assert_allclose(fast_bar, plain_bar, rtol=1e-14, err_msg=str(draw))


def pooled(x):
    best = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            best[j] = max(best[j], x[i, j] * x[i, j])
    return best.sum()


def between(x):
    """Another store stands between the load and the choice."""
    a = x.copy()
    for i in range(1, a.shape[0]):
        held = a[i]
        a[a.shape[0] - i] = 0.5 * held
        a[i] = max(held, a[i - 1])
    return a.sum()


def read_again(x):
    """What is chosen is used elsewhere, too."""
    a = x.copy()
    total = 0.0
    for i in range(1, a.shape[0]):
        t = max(a[i], 0.9 * a[i - 1])
        a[i] = t
        total += t * x[i]
    return total


@pytest.mark.parametrize("f", [pooled, between, read_again], ids=lambda f: f.__name__)
def test_left_alone(f: Callable[..., Any]):
    shape = (3, 5) if f is pooled else (6,)
    x = np.random.default_rng(7).uniform(0.5, 2.0, shape)
    source = tapec.emit(f, signature="f8[:, ::1]" if f is pooled else "f8[::1]", opt_level=2)
    assert "max(" in source
    assert "better" not in source
    with interpreted():
        check(f, (x,), (0,), forward_level=0)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("name", CASES)
def test_compiled(name: str):
    f, args, wrt = CASES[name]
    value, bars = tapec.value_and_grad(f, wrt)(*args)
    with interpreted():
        wanted, wanted_bars = tapec.value_and_grad(f, wrt, opt_level=0)(*args)
    assert value == pytest.approx(wanted, rel=1e-13)
    for one, other in zip(bars, wanted_bars, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)
