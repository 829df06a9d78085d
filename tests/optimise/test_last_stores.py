"""Stores into arrays that nobody reads afterwards."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.memory.last_stores import drop_last_stores
from tests.optimise.reading import read
from tests.oracles import check


def changed(text: str) -> str:
    return printer.function(drop_last_stores(read(text)), False)


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
    ("first", "last", "trip"),
    [
        ("a_y[i] += s", "a_y[i] = 0.0", "t_1 = a_y[i_2]|t_2 = t_1 + s|u = t_2|a[i_2] = u"),
        ("a_y[i] = s", "a_y[i] += s", "a[i_2] = s|t_1 = s + s"),
        ("v = a_y[i]", "a_y[i] = s", "v = a_y[i_2]|a[i_2] = v"),
    ],
)
def test_the_number_stays_and_the_store_goes(first, last, trip):
    made = changed(JOINED.format(first=first, last=last, result="s"))
    assert [line.strip() for line in made.splitlines()[6:-1]] == trip.split("|"), made


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


def test_gradients_are_right(rng):
    text = tapec.emit(entropy, signature="f8[::1]")
    assert "e_bar[i] +=" not in text
    check(entropy, (rng.normal(size=5),))
    check(chosen, (rng.normal(size=5), True), wrt=(0,))
    assert "the last values of `e_bar` are not stored" in str(tapec.explain(entropy, signature="f8[::1]"))
