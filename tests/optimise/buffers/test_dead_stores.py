"""Stores into arrays that nobody reads afterwards."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.buffers.dead_stores import drop_dead_stores
from tests.optimise.reading import read
from tests.oracles import check
from tests.sampling import sampled


def changed(text: str) -> str:
    return printer.function(drop_dead_stores(read(text)), False)


JOINED = """
def f(a, n, s):
    a_y = np.empty(n)
    for i in range(n):
        t = a[i]
        a_y[i] = t
    for i in range(n):
        {first}
        u = a_y[i]
        a[i] = u
        {last}
    return {result}
"""


@pytest.mark.parametrize(
    ("first", "last", "iteration"),
    [
        ("a_y[i] += s", "a_y[i] = 0.0", "t_1 = a_y[i_2]|t_2 = t_1 + s|u = t_2|a[i_2] = u"),
        ("a_y[i] = s", "a_y[i] += s", "a[i_2] = s|t_1 = s + s"),
        ("v = a_y[i]", "a_y[i] = s", "v = a_y[i_2]|a[i_2] = v"),
    ],
)
def test_the_number_stays_and_the_store_goes(first, last, iteration):
    made = changed(JOINED.format(first=first, last=last, result="s"))
    assert [line.strip() for line in made.splitlines()[6:-1]] == iteration.split("|"), made


@pytest.mark.parametrize(
    ("first", "last", "result"),
    [
        ("a_y[i] += s", "a_y[i] = 0.0", "a_y"),
        ("a_y[i] += s", "a_y[0] = 0.0", "s"),
        ("a_y[0] += s", "a_y[i] = 0.0", "s"),
        ("a_y[s] += s", "a_y[s] = 0.0", "s"),
    ],
)
def test_others_stay(first, last, result):
    text = JOINED.format(first=first, last=last, result=result)
    assert changed(text) == text.lstrip()


BRANCHES = """
def f(a, n, c):
    if c:
        a_y = np.empty(n)
        for i in range(n):
            t = a[i]
            a_y[i] = t
    if c:
        for i in range(n):
            u = a_y[i]
            a[i] = u
    return a
"""

REPEATED = """
def f(a, n):
    a_y = np.zeros(n)
    for k in range(n):
        for i in range(n):
            u = a_y[i]
            a[i] = u
            a_y[i] += u
    return a
"""

VIEWED = """
def f(a, n):
    a_y = np.zeros(n)
    a_z = a_y[1:]
    for i in range(n):
        u = a_y[i]
        a[i] = u
        a_y[i] = 1.0
    for i in range(n - 1):
        v = a_z[i]
        a[i] = v
    return a
"""


BELOW_ZERO = """
def f(a, n):
    a_y = np.zeros(n)
    for i in range(-n, n):
        u = a_y[i]
        a[i] += u
        a_y[i] = 1.0
    return a
"""


@pytest.mark.parametrize(
    "text", [BRANCHES, REPEATED, VIEWED, BELOW_ZERO], ids=["branches", "repeated", "viewed", "below zero"]
)
def test_so_do_those_that_somebody_reads(text):
    assert changed(text) == text.lstrip()


def entropy(x):
    e = np.exp(x)
    p = e / e.sum()
    return -(p * np.log(p)).sum()


def chosen(x, c):
    """Arrays of one branch that the reverse sweep reads in another."""
    total = 0.0
    if c:
        e = np.exp(x)
        q = e / e.sum()
        for i in range(x.shape[0]):
            e[i] = q[i] * q[x.shape[0] - 1 - i]
        total = (e * q).sum()
    return total


@pytest.mark.slow
def test_gradients_are_right(rng):
    text = tapec.emit(entropy, signature="f8[::1]", opt_level=2)
    assert "e_bar[i] +=" not in text
    check(entropy, (rng.normal(size=5),), forward_level=0)
    check(chosen, (rng.normal(size=5), True), wrt=(0,), forward_level=0)
    assert "the last values of `e_bar` are not stored" in str(tapec.explain(entropy, signature="f8[::1]"))


HANDED_ON = """
def f(A, n, m):
    a_first = np.zeros(m)
    some = n > 0
    if some:
        a_filled = np.empty(m)
        a_start = a_filled
    else:
        a_start = a_first
    for i in range(m):
        a_start[i] = 1.0
    a_carried = a_start
    top = n - 1
    for k in range(top, -1, -1):
        last = k == 0
        if last:
            a_made = a_first
        else:
            a_new = np.zeros(m)
            a_made = a_new
        {begun}
        for i in range(m):
            t = a_carried[i]
            a_carried[{place}] = 0.0
            u = A[k, i]
            v = t * u
            a_made[i] += v
        {ended}
        a_carried = a_made
    {left}
    return a_first
"""
PLAIN = {"begun": "A[0, 0] = 2.0", "place": "i", "ended": "A[0, 0] = 3.0", "left": "A[0, 0] = 4.0"}


def test_what_an_iteration_gives_up_is_not_stored():
    assert "a_carried[i] = 0.0" not in changed(HANDED_ON.format(**PLAIN))


@pytest.mark.parametrize(
    "other",
    [
        {"begun": "a_view = a_carried[1:]", "ended": "s = a_view[0]; A[0, 1] = s"},
        {"ended": "s = a_carried[0]; A[0, 1] = s"},
        {"place": "0"},
        {"begun": "a_kept = a_carried", "left": "s = a_kept[0]; A[0, 1] = s"},
        {"left": "s = a_start[0]; A[0, 1] = s"},
        {"left": "s = a_filled[0]; A[0, 1] = s"},
        {"ended": "s = a_start[0]; A[0, 1] = s"},
        {"ended": "s = a_carried[0]; print(s)"},
    ],
)
def test_what_somebody_reads_later_is(other):
    assert "] = 0.0" in changed(HANDED_ON.format(**(PLAIN | other)))


AROUND = """
def f(A, n, k_m):
    a_first = np.zeros(k_m)
    {outside}
    n_top = n - 1
    for j in range(n):
        {inside}
        s = a_start[0]
        A[1, 1] += s
        a_carried = a_start
        for k in range(n_top, -1, -1):
            c = k == 0
            if c:
                a_made = a_first
            else:
                a_new = np.zeros(k_m)
                a_made = a_new
            for i in range(k_m):
                t = a_carried[i]
                a_carried[i] = 0.0
                a_made[i] += t
            a_carried = a_made
    return a_first
"""


@pytest.mark.parametrize(("place", "stays"), [("outside", True), ("inside", False)])
def test_a_loop_around_may_read_what_it_has_made_before(place, stays):
    text = AROUND.format(**({"outside": "", "inside": ""} | {place: "a_start = np.zeros(k_m)"}))
    assert ("= 0.0" in changed(text)) == stays


def chained(w, x, n):
    h = x
    total = 0.0
    for k in range(n):
        h = np.sin(h) * w[k] + h[::-1]
        total += h[0]
    return total + (h * h).sum()


@pytest.mark.parametrize("iterations", sampled([2, 0, 1, 5], 4))
def test_gradients_of_arrays_handed_on(iterations):
    w, x = np.linspace(0.5, 1.0, 15).reshape(5, 3), np.array([0.3, -0.2, 0.7])
    check(chained, (w, x, iterations), forward_level=0)
