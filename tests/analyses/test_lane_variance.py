"""What differs between the iterations of a loop that may run side by side: compared with what they compute."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.analyses.iterations import Iterations
from tapec.analyses.lane_variance import Lanes
from tapec.syntax.core import Const, For, If, Loop, Name, Store, walk
from tests.optimise.reading import read

LOOP = """
def f(a, a_o, A, x, n, k, c):
    s = 0.0
    for i in range(n):
        {}
    return s
"""


def lanes(body: str, whole: bool = False) -> Lanes:
    function = read(LOOP.format(body))
    (loop,) = (stmt for stmt in function.body if isinstance(stmt, For))
    return Lanes(loop, Iterations(function), whole)


# the numbers that differ, but for the loop's variable; whether iterations can take each step together
CASES = [
    ("v = a_o[i]; w = v * x; a[i] = w", "v w", True),
    ("v = a_o[0]; w = v * x; a[i] = w", "", True),
    ("for j in range(3):\n            v = a_o[j]; w = A[i, j]; u = v * w; a[i] += u", "w u", True),
    ("for j in range(i):\n            v = a_o[j]; A[i, j] = v", "j v", True),
    ("v = x\n        if i > k: v = x * 2.0\n        a[i] = v", "v", True),
    ("v = x\n        if c: v = x * 2.0\n        a[i] = v", "", True),
    ("a_1 = A[i]; v = a_1[0]; a[i] = v", "v", True),
    ("a_1 = A[k]; v = a_1[0]; a[i] = v", "", True),
    ("a_t = np.zeros(3); w = a_o[i]; a_t[0] = w; v = a_t[0]; a[i] = v", "v w", True),
    ("a_t = np.zeros(3); a_t[0] = x; v = a_t[0]; a[i] = v", "", True),
    ("a_t = np.zeros(3); a_v = a_t[1:]; w = a_o[i]; a_v[0] = w; v = a_t[0]; a[i] = v", "v w", True),
    ("n_t = a.shape[0]; v = float(n_t); a[i] = v", "", True),
    # a sum is no number of one iteration
    ("v = a_o[i]; s_1 = s + v; s = s_1", "v", True),
    ("v = a_o[i]; s_1 = s + v; s_2 = s_1 - x; s = s_2", "v", True),
    ("for j in range(3):\n            v = a_o[i]; s_1 = s + v; s = s_1", "v", True),
    # sizes and arrays that differ, rows of another shape, functions of whole arrays
    ("a_t = np.zeros(i); a_t[0] = x; v = a_t[0]; a[i] = v", "", False),
    ("A_t = A[i:]; v = A_t[0, 0]; a[i] = v", "v", False),
    ("a_1 = A[i]; n_t = a_1.shape[0]; v = float(n_t); a[i] = v", "", False),
    ("a_1 = A[i]; v = np.dot(a_1, a_o); a[i] = v", "v", False),
    ("a_1 = A[i]; a_2 = a_1; v = a_2[0]; a[i] = v", "", False),
    ("a_t = np.zeros(3); w = a_o[i]; a_t[0] = w; v = np.dot(a_t, a_o); a[i] = v", "v w", False),
    ("if i > k: a_t = np.zeros(3)\n        else: a_t = np.zeros(3)\n        v = a_t[0]; a[i] = v", "", False),
    # an earlier value of a sum
    ("v = a_o[i]; s_1 = s + v; s_2 = s + x; s = s_2", "v", False),
    ("v = a_o[i]; s_1 = s + v; s_2 = s; s_3 = s_2 + x; s = s_3", "v", False),
    ("v = a_o[i]; s = v", "v", False),
    ("print(x)", "", False),
]


@pytest.mark.parametrize(("body", "names", "together"), CASES)
def test_numbers_that_differ(body, names, together):
    found = lanes(body)
    assert found.separate() == together
    if together:
        assert found.names == {"i", *names.split()}


@pytest.mark.parametrize("body", [body for body, _, together in CASES if together])
def test_others_are_the_same_in_all_iterations(body):
    """In runs, the last value of a number that does not differ is that of the iteration before."""
    found = lanes(body)
    text = LOOP.format(f"{body}\n        seen.append(dict(locals()))")
    scope: dict = {"np": np, "seen": []}
    exec(text, scope)
    numbers = np.random.default_rng(1)
    scope["f"](numbers.normal(size=5), numbers.normal(size=5), numbers.normal(size=(5, 5)), 0.7, 4, 1, True)
    same = {name for name, value in scope["seen"][1].items() if isinstance(value, int | float)}
    same -= found.names | found.sums.keys()
    assert all(one[name] == scope["seen"][1][name] for one in scope["seen"][1:] for name in same)


def test_branches_and_loops_that_take_other_ways():
    body = """c_1 = i > k
        if c_1: v = x
        if c: v = x
        for j in range(3):
            w = a_o[j]
        for j_1 in range(i):
            w = a_o[j_1]
        while True:
            w = a_o[i]
            if w > 0.0: break
        while True:
            u = a_o[k]
            if u > 0.0: break"""
    found = lanes(body)
    outer = [stmt for stmt in found.loop.body if isinstance(stmt, If | For | Loop)]
    assert [stmt.key in found.controls for stmt in outer] == [True, False, False, True, True, False]
    assert found.differs(outer[0]) and not found.differs(outer[1])
    whole = lanes(body, whole=True)
    assert {stmt.key for stmt in walk(whole.loop.body) if isinstance(stmt, For | Loop)} <= whole.controls
    assert {"j", "j_1"} <= whole.names


def test_memory_of_an_iteration_of_its_own():
    found = lanes("a_t = np.zeros(3); a_u = np.zeros(3); w = a_o[i]; a_t[0] = w; a_u[0] = x; a[i] = w")
    assert found.widened("a_t") and not found.widened("a_u") and not found.widened("a")
    assert found.own("a_t") and found.own("a_u") and not found.own("a")
    stores = {stmt.array: stmt for stmt in found.loop.body if isinstance(stmt, Store)}
    assert [found.differs(stores[array]) for array in ("a_t", "a_u", "a")] == [True, False, True]


@pytest.mark.parametrize(
    ("view", "index", "element"),
    [
        ("A[i]", "j", ("A", ("i", "j"))),
        ("A[i, :]", "j", ("A", ("i", "j"))),
        ("A[:, i]", "j", ("A", ("j", "i"))),
        ("A[0:, i]", "j", ("A", ("j", "i"))),
        ("A[1:, i]", "j", None),
        ("A[::2, i]", "j", None),
    ],
)
def test_elements_of_rows(view, index, element):
    found = lanes(f"a_1 = {view}\n        for j in range(3):\n            v = a_1[j]\n            a_1[j] = v")
    assert found.rows == {"a_1"}
    made = found.element("a_1", (Name(index),))
    assert (made and (made[0], tuple(one.id for one in made[1]))) == element
    assert found.element("a", (Const(0),)) == ("a", (Const(0),))


def test_the_sum_that_each_part_belongs_to():
    found = lanes("v = a_o[i]; s_1 = s + v; s_2 = s_1 - x; s = s_2")
    assert found.sums == {"s": "s", "s_1": "s", "s_2": "s"}
    assert all(found.differs(stmt) for stmt in found.loop.body)
