"""Arrays that a loop passes on: distinct ones that change places, compared with runs, and new ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tapec.analyses.buffer_rotation import begun_with, cycle, is_fresh, last_copies, permutation, renewed, rotating
from tapec.analyses.scopes import scopes
from tests.optimise.reading import read

SWAP = "a_t = a_now; a_now = a_old; a_old = a_t"


@pytest.mark.parametrize(
    ("body", "held", "cycles"),
    [
        (SWAP, {"a_t": "a_now", "a_now": "a_old", "a_old": "a_now"}, ("a_now", "a_old")),
        # the copies of an iteration are its last statements
        (f"{SWAP}; x = y + 1.0", {}, ()),
        ("a_now = a_old", {"a_now": "a_old"}, ()),
        ("a_now = a_old; a_old = a_now", {"a_now": "a_old", "a_old": "a_old"}, ()),
        (
            "a_t = a_now; a_now = a_1; a_1 = a_2; a_2 = a_t",
            {"a_t": "a_now", "a_now": "a_1", "a_1": "a_2", "a_2": "a_now"},
            ("a_now", "a_1", "a_2"),
        ),
        ("a_now = a_now", {"a_now": "a_now"}, ()),
        ("", {}, ()),
    ],
)
def test_copies_that_end_an_iteration(body, held, cycles):
    function = read(f"def f(a_now, a_old, a_1, a_2, y):\n    {body or 'pass'}")
    assert permutation(function.body) == held
    assert cycle(function.body, "a_now") == cycles
    assert len(last_copies(function.body)) == len(held)


ROTATION = """
def f(a, n, n_2, c):
    a_1 = np.empty(3)
    a_2 = np.zeros(3)
    {outside}
    for k in range(n_2):
        {around}
        {begin}
        for i in range(n):
            x = a_now[0]
            {inside}
            a_old[0] = x
            {end}
        {after}
    {last}
    return x
"""
PLAIN = {
    "outside": "pass",
    "around": "pass",
    "begin": "a_now = a_1; a_old = a_2",
    "inside": "pass",
    "end": SWAP,
    "after": "pass",
    "last": "pass",
}
LEAVES = "if c:\n                {}\n                break\n            else:\n                " + SWAP
CASES = [
    ({}, True),
    ({"outside": PLAIN["begin"], "begin": "pass"}, True),
    # another loop permutes them, too
    ({"after": "a_t_1 = a_now"}, True),
    # one array twice, arrays of others, a row
    ({"begin": "a_now = a_1; a_old = a_1"}, False),
    ({"begin": "a_now = a; a_old = a_2"}, False),
    ({"begin": "a_3 = a_1[:2]; a_now = a_1; a_old = a_3"}, False),
    ({"outside": "a_3 = a_1", "begin": "a_now = a_1; a_old = a_3"}, False),
    # no permutation
    ({"end": "a_now = a_old"}, False),
    ({"end": "a_t = a_now; a_now = a_old; a_old = a_1"}, False),
    # another one in between
    ({"inside": "a_now = a_old"}, False),
    ({"inside": "if c: a_now = a_old"}, False),
    # a way out that sets them otherwise
    ({"end": LEAVES.format("x = 1.0")}, True),
    ({"end": LEAVES.format("a_now = a_old"), "last": "y = a_now[0]"}, True),
    ({"end": LEAVES.format("a_now = a_old"), "last": "y = a_now[0]; a_old[0] = y"}, False),
    ({"end": LEAVES.format("a_now = a_old; a_old[0] = 1.0; x = a_now[0]")}, False),
    ({"begin": "if c: a_now = a_1\n        else: a_now = a_2\n        a_old = a_2"}, False),
]


def _share(text: str, n: int, n_2: int, c: bool) -> bool:
    """Whether two names stand for one array in the loop, where an element of one is read or stored."""
    lines = []
    for line in text.splitlines():
        for part in line.split(";"):
            indent = len(line) - len(line.lstrip())
            part = " " * indent + part.strip()
            if "[0]" in part and indent >= 12:
                lines.append(" " * indent + "seen.append('a_old' in locals() and a_now is a_old)")
            lines.append(part)
    scope: dict = {"np": np, "seen": []}
    exec("\n".join(lines), scope)
    try:
        scope["f"](np.zeros(3), n, n_2, c)
    except UnboundLocalError:
        return False
    return any(scope["seen"])


@pytest.mark.parametrize(("parts", "apart"), CASES)
def test_names_that_never_share_memory_at_the_same_time(parts, apart):
    text = ROTATION.format(**(PLAIN | parts))
    function = read(text)
    found = rotating(function, scopes(function))
    assert (found.get("a_now", 0) == found.get("a_old", -1)) == apart
    runs = itertools.product((0, 1, 2, 3), (0, 1, 2), (False, True))
    assert not (apart and any(_share(text, *run) for run in runs))


NESTED = """
def f(n):
    a_1 = np.empty(3)
    a_2 = np.empty(3)
    a_u = a_1
    a_v = {other}
    for k in range(n):
        a_now = a_u
        a_old = a_v
        for i in range(n):
            a_t = a_now
            a_now = a_old
            a_old = a_t
        a_u = a_now
        a_v = a_old
    return n
"""


def test_arrays_of_an_outer_rotation_are_apart_inside():
    text = NESTED.replace("a_u = a_now", "a_s = a_u").replace("a_v = a_old", "a_u = a_v\n        a_v = a_s")
    for other, apart in (("a_2", True), ("a_1", False)):
        function = read(text.format(other=other))
        found = rotating(function, scopes(function))
        assert ({"a_now", "a_old", "a_u", "a_v"} <= found.keys()) == apart
        assert not apart or found["a_now"] == found["a_old"] != found["a_u"] == found["a_v"]


MADE = """
def f(a, n, c):
    a_c = a
    a_0 = np.zeros(n)
    for i in range(n):
        a_1 = np.zeros(n)
        a_2 = a[1:]
        if c:
            a_3 = np.zeros(n)
        {inside}
        a_c = a_1
    return n
"""


def test_arrays_that_each_iteration_makes():
    function = read(MADE.format(inside="pass"))
    found = scopes(function)
    (loop,) = found.body[found.defs["i"][0].key]
    assert renewed(found) == {"a_1": loop}
    assert is_fresh("a_1", found) and not is_fresh("a_2", found) and not is_fresh("a", found)


@pytest.mark.parametrize(("inside", "begun"), [("pass", True), ("a_c = a_2", False), ("if c: a_c = a_2", False)])
def test_what_an_iteration_began_with(inside, begun):
    found = scopes(read(MADE.format(inside=inside + "\n        x = a[0]")))
    (loop,) = found.body[found.defs["i"][0].key]
    assert begun_with("a_c", loop, found) == begun
    assert begun_with("a", loop, found) and not begun_with("a_1", loop, found)
