"""Branches of which both sides are computed, and one is selected."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tapec
from tapec.optimise.vectors.if_conversion import select_values
from tests import oracles
from tests.optimise.reading import check, read

UPWIND = """
def f(a, n, k):
    n1 = k - 1
    a1 = np.zeros(k)
    for i in range(1, n1):
        t = a1[i]
        c = t > 0.0
        if c:
            j = i - 1
            u = {first}
            a1[j] += u
        else:
            v = t * 3.0
            a1[i] {other} v
    return a1
"""


def test_both_sides_are_computed():
    before = UPWIND.format(first="t * 2.0", other="+=").replace("t = a1[i]", "t = 1.0 - 0.5")
    after = before[: before.index("        if c")] + (
        "        j = i - 1\n"
        "        u = t * 2.0\n"
        "        v = t * 3.0\n"
        "        t_1 = u if c else 0.0\n"
        "        t_2 = 0.0 if c else v\n"
        "        a1[j] += t_1\n"
        "        a1[i] += t_2\n"
        "    return a1\n"
    )
    check(select_values, before, after.lstrip())


CHOICE = """
def f(a, k, n):
    a1 = np.zeros(k)
    a2 = np.zeros(n)
    for i in range(k):
        t = a[i]
        c = t > 0.0
        if c:
            {first}
        else:
            {second}
        a2[0] += s
    return a1
"""
SET = {"first": "a1[i] = t\n            s = t", "second": "a1[i] = 0.0\n            s = 1.0"}


def test_what_both_sides_set_is_selected():
    after = CHOICE.format(**SET)
    after = after[: after.index("        if c")] + (
        "        s_1 = t if c else 1.0\n"
        "        t_1 = t if c else 0.0\n"
        "        s = s_1\n"
        "        a1[i] = t_1\n"
        "        a2[0] += s\n"
        "    return a1\n"
    )
    check(select_values, CHOICE.format(**SET), after.lstrip())


@pytest.mark.parametrize(
    "other",
    [
        # only one side sets it
        {"second": "s = 1.0"},
        {"second": "a1[i] += 1.0\n            s = 1.0"},
        # elements that may not be there
        {"first": "j = i + 1\n            s = a[j]\n            a1[i] = s"},
        {"first": "a1[i] = t\n            s = a2[i]"},
        # what an element is after it was set; what is expensive, or raises
        {"first": "a1[i] = t\n            s = a1[i]"},
        {"first": "a1[i] = t\n            s = np.exp(t)"},
        {"first": "a1[i] = t\n            raise ValueError()"},
    ],
    ids=str,
)
def test_branches_that_stay(other):
    function = read(CHOICE.format(**(SET | other)))
    assert select_values(function) == function


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # iterations that depend on each other, and elements that are looked up
        ("t = a[i]", "k1 = i - 1\n        t = a1[k1]"),
        ("t = a[i]", "k1 = i * 2\n        t = a[k1]"),
        # a loop inside
        ("t = a[i]", "t = a[i]\n        for j in range(k):\n            a2[1] += t"),
    ],
    ids=str,
)
def test_loops_that_stay(old, new):
    function = read(CHOICE.format(**SET).replace(old, new))
    assert select_values(function) == function


def burgers(u, dt, steps):
    u, new = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            if u[i] > 0.0:
                slope = u[i] - u[i - 1]
            else:
                slope = u[i + 1] - u[i]
            new[i] = u[i] - dt * u[i] * slope
        u, new = new, u
    return u


def upwind(u, velocity, steps):
    u = u.copy()
    n = len(u)
    flux = np.zeros(n)
    for _ in range(steps):
        for i in range(n):
            v = velocity[i]
            if v > 0.0:
                flux[i] = v * u[i - 1]
            elif v < 0.0:
                flux[i] = v * u[i]
            else:
                flux[i] = 0.0
        u[1:] -= 0.1 * (flux[1:] - flux[:-1])
    return u


@pytest.mark.slow
def test_derivatives():
    rng = np.random.default_rng(4)
    with oracles.interpreted():
        for size in (1, 2, 7):
            oracles.check(burgers, (rng.normal(size=size), 0.1, 3), forward_level=0)
            oracles.check(upwind, (rng.normal(size=size), rng.normal(size=size), 3), (0, 1), forward_level=0)


def test_the_side_that_is_not_taken_adds_nothing():
    """An infinite operand of it would make its products nan."""

    def chosen(u, velocity):
        total = 0.0
        for i in range(1, len(u)):
            if velocity[i] < np.inf:
                total += velocity[i] * u[i] + u[i - 1]
            else:
                total += u[i - 1] * 2.0
        return total

    def stored(u, velocity):
        out = np.zeros(len(u))
        for i in range(1, len(u)):
            if velocity[i] < np.inf:
                out[i] = velocity[i] * u[i]
            else:
                out[i] = u[i - 1] * 2.0
        return (out * out).sum()

    args = np.array([1.0, 2.0, 3.0]), np.array([1.0, np.inf, 0.5])
    with oracles.interpreted():
        for program, wrt in itertools.product((chosen, stored), (0, 1)):
            found, expected = (tapec.grad(program, wrt, opt_level=level)(*args) for level in (2, 0))
            np.testing.assert_array_equal(found, expected)


def upwind_by_loops(u0, dx, dt, steps):
    """Differences to one side or the other, divided by a number that is differentiated for, too."""
    n = u0.shape[0]
    u = u0.copy()
    old = np.empty(n)
    for _ in range(steps):
        for i in range(n):
            old[i] = u[i]
        for i in range(1, n - 1):
            if old[i] > 0.0:
                slope = old[i] * (old[i] - old[i - 1]) / dx
            else:
                slope = old[i] * (old[i + 1] - old[i]) / dx
            u[i] = old[i] - dt * slope
    return (u * u).sum()


def guarded_quotients(x, y, scale):
    """A side that is not taken would divide by zero."""
    out = np.zeros(len(x) + 2)
    for i in range(len(x)):
        if y[i] != 0.0:
            out[i] += x[i] / y[i] * scale
            out[i + 2] += y[i] * scale
        else:
            out[i + 1] += x[i] * scale
    return (out**2).sum()


def test_what_sides_add_to_a_sum_is_selected():
    _, _, text = tapec.emit(upwind_by_loops, wrt=(0, 1, 2), signature="f8[::1], f8, f8, i8").partition("sweep\n")
    _, _, text = text.partition("# reverse sweep\n")
    assert "dx_bar" in text and " if " in text and "else:" not in text


def test_sides_with_quotients_and_sums_have_the_derivatives_of_branches():
    rng = np.random.default_rng(4)
    u, y = rng.standard_normal(12), rng.standard_normal(12)
    y[::3] = 0.0
    with oracles.interpreted():
        for f, args in ((upwind_by_loops, (u, 0.5, 0.05, 3)), (guarded_quotients, (u, y, 1.5))):
            wrt = tuple(i for i, arg in enumerate(args) if not isinstance(arg, int))
            directions = [rng.standard_normal(np.shape(args[i])) for i in wrt]
            value, gradients = tapec.value_and_grad(f, wrt=wrt)(*args)
            given = [directions[wrt.index(i)] if i in wrt else None for i in range(len(args))]
            given = [float(one) if one is not None and one.ndim == 0 else one for one in given]
            _, tangent = tapec.jvp(f, args, tuple(given))
            assert value == pytest.approx(f(*args), rel=1e-13)
            along = sum(np.sum(g * d) for g, d in zip(gradients, directions, strict=True))
            assert along == pytest.approx(tangent, rel=1e-12)
