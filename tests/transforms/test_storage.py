"""How each primal value gets to the reverse sweep: by its cost, and by what is still there."""

from __future__ import annotations

import numpy as np
import pytest

from tests.transforms.reversals import check, reversal, ways

LOOP = """
def f(x, z, n, c, a):
    s = x
    for i in range(n):
        {body}
        s = {last}
    return s
"""


def loop(*body: str, last: str) -> str:
    return LOOP.format(body="\n        ".join(body), last=last)


PROGRAMS = {
    # outside all loops values are in their variables
    "straight": ("def f(x, z, n, c, a):\n    t = np.sin(x)\n    s = t * z\n    u = np.exp(s)\n    return u", {}),
    "dear and cheap": (
        loop("t = s * z", "u = np.sin(t)", "w = u * t", last="w"),
        {"s": "begin: buffer", "t": "again", "u": "buffer"},
    ),
    "overwritten": (
        loop("v = a[i]", "w = v * z", "a[i] = w", "r = w + s", last="r"),
        {"v": "buffer"},
    ),
    "not overwritten": (
        loop("v = a[i]", "w = v * z", "r = w + s", last="r"),
        {"v": "again"},
    ),
    "an element holds it": (
        """
        def f(x, z, n, c, a):
            a_y = np.zeros(n)
            s = x
            for i in range(n):
                t = a[i]
                u = np.exp(t)
                a_y[i] = u
                w = s + u
                s = w
            return s, a_y
        """,
        {"u": "element of a_y"},
    ),
    "one place for both branches": (
        loop(
            *("t = a[i]", "if c:", "    u = np.exp(t)", "    v = u", "else:", "    w = np.sin(t)", "    v = w"),
            *("p = v * v", "r = s + p"),
            last="r",
        ),
        {"v": "buffer", "t": "again", "u": "as v"},
    ),
    "nobody knows how often": (
        """
        def f(x, z, n, c, a):
            s = x
            k = 0
            while True:
                if k < n:
                    t = s * z
                    s_1 = np.exp(t)
                    k_1 = k + 1
                    k = k_1
                    s = s_1
                else:
                    break
            return s
        """,
        {"s_1": "stack", "s": "begin: stack"},
    ),
    "once for inner iterations": (
        loop(
            *("t = a[i]", "u = np.exp(t)", "r = s", "for j in range(i):", "    v = a[j]", "    w = u * v"),
            *("    p = w * w", "    r_1 = r + p", "    r = r_1"),
            last="r",
        ),
        {"u": "buffer", "v": "again", "w": "again"},
    ),
    "of the loop variable": (
        loop("k = i * 2", "t = s * k", last="t"),
        {"k": "again"},
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_which_way_values_go(name: str):
    text, expected = PROGRAMS[name]
    assert ways(reversal(text, ("x", "z", "a"))) == expected


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_comes_back_is_right(name: str, fuse: bool):
    for n in (0, 1, 3):
        for c in (False, True):
            check(PROGRAMS[name][0], ("x", "z", "a"), 0.3, 0.7, n, c, np.array([0.2, -0.4, 0.5]), fuse=fuse)


HELD = """
def f(x, n, a):
    a_y = np.zeros(n)
    {before}
    s = x
    for i in range({start}, n):
        t = a[i]
        u = np.exp(t)
        a_y[{place}] {sign} u
        {inside}
        w = s + u
        s = w
    {after}
    return s, a_y
"""
PLAIN = {"before": "pass", "start": "0", "place": "i", "sign": "=", "inside": "pass", "after": "pass"}


def test_an_element_holds_what_was_stored():
    assert ways(reversal(HELD.format(**PLAIN), ("x", "a"))) == {"u": "element of a_y"}


@pytest.mark.parametrize(
    "other",
    [
        {"after": "a_y[1] = 2.0"},
        {"after": "a_y[0] += 2.0"},
        {"inside": "a_y[i] = t"},
        {"inside": "a_y[0] = t"},
        {"before": "a_v = a_y[::-1]", "inside": "a_v[i] = t"},
        {"before": "a_v = a_y", "after": "a_v[0] = 1.0"},
        {"place": "0"},
        # places from the end are those of others
        {"start": "-2"},
        {"sign": "+="},
    ],
    ids=str,
)
def test_one_that_holds_something_else_later_does_not(other: dict[str, str]):
    text = HELD.format(**(PLAIN | other))
    found = ways(reversal(text, ("x", "a")))
    check(text, ("x", "a"), 0.3, 3, np.array([0.2, -0.4, 0.5]))
    check(text, ("x", "a"), 0.3, 3, np.array([0.2, -0.4, 0.5]), fuse=True)
    assert found["u"] in ("buffer", "again")
