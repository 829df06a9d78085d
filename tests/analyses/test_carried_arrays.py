"""Shadows that reversed iterations hand on: within an iteration, the one it began with and its own are apart."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.analyses.facts import facts
from tests.optimise.reading import read
from tests.oracles import interpreted

TEXT = """
def f(x, n, m):
    first = np.zeros(m)
    test = n > 0
    if test:
        filled = np.zeros(m)
        begun = filled
    else:
        begun = first
    last = n - 1
    carried = begun
    for k in range(last, -1, -1):
        ends = k == 0
        if ends:
            made = first
        else:
            new = np.zeros(m)
            made = new
        for i in range(m):
            t = carried[i]
            s = t * x
            made[i] += s
        carried = made
    return first
"""


def test_what_the_last_iteration_takes_from_before_the_loop_is_not_what_it_began_with():
    assert {made: one.carried for made, one in facts(read(TEXT)).carried_arrays.items()} == {"made": "carried"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # another iteration takes it, and the next one begins with it
        ("ends = k == 0", "ends = k == 1"),
        ("range(last, -1, -1)", "range(last, -2, -1)"),
        # a loop that makes iterations may begin with it
        ("test = n > 0", "test = n > 1"),
        ("carried = begun", "carried = first"),
        # one array for all iterations
        ("new = np.zeros(m)", "new = filled"),
        ("            made = first\n", "            made = begun\n"),
    ],
)
def test_nothing_is_said_of_others(old: str, new: str):
    assert TEXT.count(old) == 1
    assert not facts(read(TEXT.replace(old, new))).carried_arrays


def upwind(c, v, steps):
    for _ in range(steps):
        new = c.copy()
        for i in range(1, c.shape[0] - 1):
            if v[i] > 0.0:
                new[i] = c[i] - v[i] * (c[i] - c[i - 1])
            else:
                new[i] = c[i] - v[i] * (c[i + 1] - c[i])
        c = new
    return np.sum(c * c)


def test_iterations_that_make_an_array_each_are_reversed_with_one_branch():
    text = tapec.emit(upwind, wrt=(0, 1), signature="f8[::1], f8[::1], i8", opt_level=2)
    _, _, reverse = text.partition("# reverse sweep")
    assert [line.strip() for line in reverse.splitlines() if line.strip().startswith("if ")] == [
        "if k == 0:",
        # the user's
        "if v_i_1 > 0.0:",
    ]


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_their_gradients_are_those_of_level_1(steps: int):
    rng = np.random.default_rng(steps)
    args = rng.uniform(0.5, 1.5, 7), rng.uniform(-0.5, 0.5, 7), steps
    with interpreted():
        wanted = tapec.value_and_grad(upwind, wrt=(0, 1), opt_level=1)(*args)
        value, gradients = tapec.value_and_grad(upwind, wrt=(0, 1))(*args)
    assert value == pytest.approx(wanted[0], rel=1e-13)
    for one, other in zip(gradients, wanted[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
