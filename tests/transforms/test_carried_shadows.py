"""Arrays that iterations pass on: which ones the reverse sweep has without keeping any."""

from __future__ import annotations

import numpy as np
import pytest
from numba import typeof

import tapec
from tapec.analyses.aliases import aliases, memory
from tapec.analyses.scopes import scopes
from tapec.syntax.core import For, walk
from tapec.transforms.carried_shadows import CarriedShadow, carried_shadows, rotation
from tests.optimise.reading import read
from tests.oracles import check

ROTATED = """
def f(a, a_b, a_d, n):
    a_0 = a
    a_1 = a_b
    a_2 = a_d
    for i in range(n):
        {inside}
        {copies}
    return a_0, a_1
"""
SWAP = "a_t = a_0; a_0 = a_1; a_1 = a_t"


def turned(copies: str, inside: str = "s = a_0[0]") -> tuple[str, ...]:
    core = read(ROTATED.format(inside=inside, copies=copies))
    found = scopes(core)
    (loop,) = (stmt for stmt in walk(core.body) if isinstance(stmt, For))
    return rotation("a_0", found.body[loop.key][0], found)


@pytest.mark.parametrize(
    ("copies", "cycle"),
    [
        (SWAP, ("a_0", "a_1")),
        ("a_t = a_0; a_0 = a_1; a_1 = a_2; a_2 = a_t", ("a_0", "a_1", "a_2")),
        ("a_t = a_2; a_2 = a_1; a_1 = a_0; a_0 = a_t", ("a_0", "a_2", "a_1")),
        # a value is lost
        ("a_0 = a_1; a_1 = a_0", ()),
        ("a_0 = a_1; a_1 = a_2", ()),
        ("a_0 = a_1", ()),
        ("pass", ()),
    ],
)
def test_names_that_change_places(copies: str, cycle: tuple[str, ...]):
    assert turned(copies) == cycle


@pytest.mark.parametrize("inside", ["a_1 = a_2", "a_0 = a_2", "c = s > 0.0\n        if c:\n            a_1 = a_2"])
def test_not_if_something_else_sets_one(inside: str):
    assert turned(SWAP, inside) == ()


def test_not_if_the_exchange_depends():
    core = "c = s > 0.0\n        if c:\n            a_t = a_0\n            a_0 = a_1\n            a_1 = a_t"
    assert turned("pass", core) == ()


HANDED = """
def f(x, n, k, m):
    {first}
    {before}
    a_best = a_first
    for i in range(n):
        {inside}
        {made}
        {last}
    {after}
    return x
"""
PLAIN = {
    "first": "a_first = np.zeros(k)",
    "before": "pass",
    "inside": "pass",
    "made": "a_new = np.zeros(k)",
    "last": "a_best = a_new",
    "after": "pass",
}


def handed_on(**parts: str) -> CarriedShadow | None:
    core = read(HANDED.format(**(PLAIN | parts)))
    found = scopes(core)
    (loop,) = (stmt for stmt in walk(core.body) if isinstance(stmt, For))
    known = memory(core, found, aliases(core), frozenset())
    return carried_shadows("a_best", found.body[loop.key][0], found, known, core.types)


@pytest.mark.parametrize("parts", [{}, {"made": "a_new = np.zeros(m)"}, {"inside": "x = a_best[0]"}])
def test_a_shadow_is_handed_on(parts: dict[str, str]):
    found = handed_on(**parts)
    assert found is not None
    assert (found.carried, found.made, found.first) == ("a_best", "a_new", "a_first")


@pytest.mark.parametrize(
    "parts",
    [
        # not zeros, or not of extents that are known before the loop
        {"first": "a_first = np.empty(k)"},
        {"made": "a_new = np.empty(k)"},
        {"inside": "j = i + 1", "made": "a_new = np.zeros(j)"},
        {"before": "j = 0", "made": "a_new = np.zeros(j)", "last": "a_best = a_new; j = i"},
        # other names for the memory
        {"inside": "a_v = a_best[1:]"},
        {"after": "a_v = a_first[1:]"},
        {"before": "a_kept = a_first"},
        {"last": "a_old = a_best; a_best = a_new"},
        # not what ends an iteration, or not in all of them
        {"last": "a_best = a_new; x = a_best[0]"},
        {"made": "a_new = np.zeros(k); a_best = a_new", "last": "a_best = a_first"},
        {"made": "c = x > 0.0\n        if c:\n            a_new = np.zeros(k)"},
        {"inside": "c = x > 0.0", "last": "if c:\n            a_best = a_new"},
    ],
)
def test_others_are_kept(parts: dict[str, str]):
    assert handed_on(**parts) is None


def exchanged(x, n):
    now, old = x.copy(), np.zeros(x.size)
    for t in range(n):
        for i in range(x.size):
            old[i] = np.sin(now[i]) * x[t] + 0.1 * old[i]
        now, old = old, now
    return now.sum() + old[0]


def renewed(x, n):
    best = x * 1.0
    for _ in range(n):
        new = np.empty(x.size)
        for i in range(x.size):
            new[i] = np.sin(best[i]) * best[i - 1]
        best = new
    return best.sum()


@pytest.mark.parametrize("f", [exchanged, renewed])
def test_derivatives(f):
    for n in (0, 1, 4):
        check(f, (np.array([0.3, 0.5, 0.7, 0.9]), n), forward_level=0)


def test_the_reverse_sweep_changes_places_back():
    source = tapec.value_and_grad(exchanged, opt_level=0).source(typeof(np.ones(3)), typeof(1))
    back = source.partition("# reverse sweep")[2].partition("for i_1")[0]
    assert "old_1_bar, now_bar = now_bar, old_1_bar\n" in back
