"""Lists and dicts that loops and branches bind to their names anew."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.oracles import check


def step(s):
    return {"a": s["a"] * s["b"], "b": s["b"] + 1.0}


def rebuilt_by_a_helper(x):
    s = {"a": x, "b": 1.0}
    for _ in range(4):
        s = step(s)
    return s["a"]


def descent(x):
    p = {"w": x * np.ones(2), "b": [x, x]}
    for _ in range(3):
        g = tapec.grad(lambda q: (q["w"] ** 2).sum() + q["b"][0] * q["b"][1])(p)
        p = {k: v - 0.1 * g[k] if k == "w" else [u - 0.1 * z for u, z in zip(v, g[k])] for k, v in p.items()}
    return p["w"].sum() + p["b"][0]


def by_branches(x):
    s = {"a": x, "b": [1.0, x]}
    for i in range(4):
        if i % 2 == 0:
            s = {"a": s["a"] * s["b"][1], "b": [s["b"][0] + 1.0, x]}
        else:
            s = dict(s)
            s["a"] = s["a"] + 1.0
    return s["a"] * s["b"][0]


def left_early(x):
    values, n = [x, 1.0], 0
    while values[0] < 50.0:
        values = [v * 1.5 for v in values]
        n += 1
        if n > 30:
            break
    return values[0] * values[1]


def in_a_tuple(x):
    state = ({"a": x}, 1.0)
    for _ in range(3):
        state = ({"a": state[0]["a"] * x}, state[1] + 1.0)
    return state[0]["a"] * state[1]


def zero_iterations(x, n):
    s = [x, 2.0]
    for _ in range(n):
        s = [s[1], s[0]]
    return s[0] ** 2


CASES = [(f, (2.0,)) for f in (rebuilt_by_a_helper, by_branches, left_early, in_a_tuple)]
CASES += [(zero_iterations, (1.5, n)) for n in range(3)]


@pytest.mark.parametrize(("f", "args"), CASES, ids=lambda value: getattr(value, "__name__", str(value)))
def test_derivatives(f, args):
    check(f, args)


def test_derivatives_by_dicts_inside():
    assert tapec.value_and_grad(descent)(2.0) == pytest.approx((3.506, 1.753))
    def inner(x):
        return tapec.grad(lambda d: d["a"] ** 2 * d["b"])({"a": x, "b": 3.0})
    assert tapec.value_and_grad(lambda x: inner(x)["a"] * inner(x)["b"])(2.0) == (48.0, 72.0)
    def nested(x):
        return tapec.grad(lambda l: l[0] ** 2 * l[1][1])([x, (1.0, x)])
    assert tapec.value_and_grad(lambda x: nested(x)[0] + nested(x)[1][1])(2.0) == (12.0, 12.0)


def test_a_tape_follows_a_state_that_is_rebuilt():
    x = tapec.Variable(2.0)
    with tapec.GradientTape() as tape:
        s = {"a": x * 1.0, "b": 1.0}
        for _ in range(4):
            s = step(s)
        y = s["a"]
    assert tape.gradient(y, x) == 24.0
