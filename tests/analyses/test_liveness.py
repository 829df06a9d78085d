"""Names that are read later: no name that some way through the program reads may be missing."""

from __future__ import annotations

import pytest

from tapec.analyses.liveness import Liveness
from tapec.syntax.core import For, Loop, walk
from tests.optimise.reading import read


def live(text: str, asked: str) -> set[str]:
    """The names of `asked` that are live behind the statement `here = ...`."""
    function = read(text)
    facts = Liveness(function)
    (mark,) = (stmt for stmt in walk(function.body) if getattr(stmt, "target", None) == "here")
    return {name for name in asked.split() if facts.live_after(mark, name)}


IN_ORDER = """
def f(x, y):
    here = x + y
    y = here * here
    z = x + y
    return z
"""
ONE_SIDE = """
def f(c, x, y):
    here = 0.0
    if c:
        y = 1.0
    else:
        x = 2.0
    z = x + y
    return z
"""
BOTH_SIDES = """
def f(c, x, y):
    here = 0.0
    if c:
        y = 1.0
    else:
        y = 2.0
    z = x + y
    return z
"""
NO_ITERATION = """
def f(n, x, y):
    here = 0.0
    for i in range(n):
        y = 1.0
        x = 2.0
    return y
"""
NEXT_ITERATION = """
def f(n, x, y):
    for i in range(n):
        z = x + 1.0
        y = 2.0
        here = z
        x = here + 1.0
    return n
"""
READ_AND_SET = """
def f(n, x, y):
    for i in range(n):
        here = y
        x = x + 1.0
        y = x + here
    return n
"""
INNER_LOOPS = """
def f(n, x, y):
    for i in range(n):
        for j in range(n):
            here = 1.0
        z = x + y
        for k in range(n):
            w = z + 1.0
            x = w
    return n
"""
BREAK = """
def f(c, x, y):
    while True:
        here = 1.0
        if c:
            break
        else:
            y = 1.0
            x = 2.0
    return y
"""
ONLY_BREAK = """
def f(c, x, y):
    while True:
        if c:
            here = x
            break
        else:
            y = y + 1.0
    return here
"""
RAISE = """
def f(c, x, y):
    here = 1.0
    if c:
        raise ValueError()
    else:
        y = 3.0
    z = x + y
    return z
"""
ARRAYS = """
def f(a, a_1, x, i):
    here = 1.0
    a_1[i] = x
    return a
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (IN_ORDER, "x here"),
        (ONE_SIDE, "c x y"),
        (BOTH_SIDES, "c x"),
        (NO_ITERATION, "n y"),
        (NEXT_ITERATION, "here n"),
        (READ_AND_SET, "x here n"),
        (INNER_LOOPS, "x y n"),
        (BREAK, "c y"),
        (ONLY_BREAK, "here"),
        (RAISE, "c x"),
        (ARRAYS, "a a_1 x i"),
    ],
)
def test_what_is_read_behind_a_statement(text, expected):
    assert live(text, "c n i x y z a a_1 here") == set(expected.split())


def test_what_a_loop_hands_on_is_live_at_its_head():
    function = read(READ_AND_SET)
    facts = Liveness(function)
    (loop,) = (stmt for stmt in walk(function.body) if isinstance(stmt, For | Loop))
    bits = {name: facts.names.bit(name) for name in ("x", "y", "z", "i", "n", "here")}
    assert {name for name, bit in bits.items() if facts.head[loop.key] & bit} == {"x", "y", "n"}
    assert {name for name, bit in bits.items() if facts.entry & bit} == {"x", "y", "n"}


def test_a_loops_variable_is_set_at_each_iteration():
    function = read("def f(a, n, i, x):\n    for i in range(n):\n        x = a[i]\n    return x\n")
    facts = Liveness(function)
    loop = function.body[0]
    bit = facts.names.bit("i")
    assert (facts.head[loop.key] & bit, facts.iteration[loop.key] & bit, facts.entry & bit) == (0, bit, 0)
