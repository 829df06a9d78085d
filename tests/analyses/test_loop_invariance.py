"""What all iterations of a loop do alike: compared with what they compute."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.analyses.iterations import Iterations
from tapec.analyses.loop_invariance import Invariance, can_be_parted, exchanged, kept, some_iteration
from tapec.syntax.core import Assign, Const, For, Name, Store, walk
from tests.optimise.reading import read

LOOP = """
def f(a, a_o, x, n, c, r_stack):
    {before}
    for i in range(n):
        {body}
        seen = v
        {after}
    return x
"""
NUMBERS = [
    ("v = x * 2.0", True),
    ("v = a[0]", True),
    ("v = a[0]; a_o[1] = x", True),
    ("c_1 = x > 0.5; v = x; w = x", True),
    ("if c: v = x * 3.0\n        else: v = a[1]", True),
    ("v = 0.0\n        for j in range(3):\n            w = a[j]\n            v = v + w", True),
    # what an iteration changes
    ("v = a[i]", False),
    ("k = i + 1; v = float(k)", False),
    ("v = a[0]; a[0] = x + v", False),
    ("a_v = a[1:]; v = a[1]; a_v[0] = v + 1.0", False),
    ("v = u * 2.0; u = u + x", False),
    ("if i > 0: v = x\n        else: v = a[1]", False),
    ("for j in range(i): w = x * 2.0\n        v = float(i)", False),
    # what is drawn, or taken from a list
    ("v = np.random.rand()", False),
    ("v = r_stack.pop()", False),
    # behind a check there may be no element
    ("c_1 = x < 0.0\n        if c_1: raise ValueError()\n        v = a[2]", False),
    ("c_1 = x < 0.0\n        if c_1: raise ValueError()\n        v = x + 1.0", True),
    ("v = a[2]\n        c_1 = x < 0.0\n        if c_1: raise ValueError()", True),
    # a loop without end may have as many iterations as it likes
    ("v = 0.0\n        while True:\n            v = v + x\n            break", False),
    ("v = 0.0\n        for j in range(3):\n            v = v + x\n            if c: break", False),
]


@pytest.mark.parametrize(("body", "alike"), NUMBERS)
def test_numbers(body, alike):
    text = LOOP.format(before="u = x", body=body, after="pass")
    function = read(text)
    iterations = Iterations(function)
    loop = next(stmt for stmt in walk(function.body) if isinstance(stmt, For) and stmt.var == "i")
    known = Invariance(iterations, loop)
    wanted = [stmt for stmt in known.inside if isinstance(stmt, Assign) and stmt.target == "v"]
    assert known.all_invariant(known.needed(wanted)) == alike
    scope: dict = {"np": np, "seen": []}
    exec(text.replace("seen = v", "seen.append(v)"), scope)
    scope["f"](np.arange(5.0), np.zeros(5), 0.7, 4, True, [1.0, 2.0, 3.0, 4.0])
    assert not alike or len(set(scope["seen"])) == 1


FILL = """
def f(a, a_o, x, n, m):
    for i in range(n):
        {}
    return x
"""


@pytest.mark.parametrize(
    ("body", "alike"),
    [
        ("for j in range(3): a[j] = x", True),
        ("for j in range(3):\n            w = a_o[j]\n            a[j] = w", True),
        ("for j in range(3): a[j] += x", True),
        ("for j in range(i): a[j] = x", False),
        ("for j in range(3): a[i] = x", False),
        ("for j in range(3):\n            w = a_o[j]\n            a[j] = w\n            a_o[j] = x", False),
    ],
)
def test_stores_into_an_array_that_is_asked_about(body, alike):
    function = read(FILL.format(body))
    loop = function.body[0]
    known = Invariance(Iterations(function), loop, ("a",))
    wanted = [stmt for stmt in known.inside if isinstance(stmt, Store) and stmt.array == "a"]
    found = known.needed(wanted)
    assert known.all_invariant(found, "a") == alike
    # others are no one's business
    assert not known.all_invariant(found)


def test_what_is_needed():
    function = read(LOOP.format(before="u = x", body="w = x + u; c_1 = w > 0.0\n        if c_1: v = w", after="pass"))
    loop = function.body[1]
    known = Invariance(Iterations(function), loop)
    (v,) = (stmt for stmt in known.inside if isinstance(stmt, Assign) and stmt.target == "v")
    found = known.needed([v])
    assert [type(stmt).__name__ for stmt in known.inside if stmt.key in found] == ["Assign", "Assign", "If", "Assign"]
    assert known.holds(v) and not known.holds(function.body[0])
    (branch,) = kept(loop.body, {loop.body[2].key})
    assert not branch.body
    assert [one.target for one in kept(loop.body, found)[:2]] == ["w", "c_1"]
    other = Assign("v", Const(1.0))
    changed = exchanged(loop.body, {v.key: (other, other), loop.body[0].key: ()})
    assert changed[0].target == "c_1" and changed[1].body == (other, other)


@pytest.mark.parametrize(
    ("bounds", "body", "parted", "test"),
    [
        ("n", "x = r", True, "0 < n"),
        ("k, n", "x = r", True, "k < n"),
        ("n, k, -2", "x = r", True, "n > k"),
        ("k, n, j", "x = r", False, None),
        ("n", "if c: break", False, None),
        ("n", "if c: raise ValueError()", True, "0 < n"),
    ],
)
def test_loops_whose_iterations_are_all_made(bounds, body, parted, test):
    function = read(f"def f(r, n, k, j, c):\n    for i in range({bounds}):\n        {body}\n    return r")
    iterations = Iterations(function)
    assert can_be_parted(iterations, function.body[0]) == parted
    if test is not None:
        assign, name = some_iteration(iterations, function.body[0], "c_1")
        assert (assign.target, name) == ("c_1", Name("c_1"))
        assert assign.value == read(f"def f(n, k):\n    c = {test}").body[0].value
