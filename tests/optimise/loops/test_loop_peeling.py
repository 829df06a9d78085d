"""Loops around rings, and the loops of their edges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tapec
from tapec.optimise.loops.loop_peeling import peel_loops
from tapec.optimise.passes import CLEAN
from tests import oracles
from tests.optimise.comparison import identical, run, unoptimised
from tests.optimise.reading import check, read

RING = """
def f(a, a_1, n, n1, k):
    for i in range({start}, {stop}):
        j = i {shift}
        j1 = j % {size}
        t = a[j1]
        a_1[i] = t
    return n
"""
AS_IT_IS = {"start": "0", "stop": "n", "shift": "+ 1", "size": "n"}


def test_the_last_iteration_goes_round():
    before = RING.format(**AS_IT_IS)
    loop = before[before.index("    for") : before.index("    return")]
    middle = loop.replace("(0, n)", "(size)").replace("j1 = j % n", "j1 = j")
    last = loop.replace("(0, n)", "(size_1, n)")
    after = (
        f"\ndef f(a, a_1, n, n1, k):\n    size = n - 1\n{middle}    size_1 = max(size, 0)\n{last}    return n\n"
    )
    check(peel_loops, before, after.lstrip(), again=False)


TESTS = """
def f(a, n):
    for i in range(n):
        c = i {comparison}
        if c:
            a[i] = 1.0
        else:
            a[i] = 2.0
    return a
"""


def test_tests_of_edges_have_one_answer_between():
    """All comparisons with numbers near the edges, in loops of few iterations."""
    sides = [*range(-2, 5), "k1", "k2", "k3"]
    parted = 0
    for comparison, side in itertools.product(("<", "<=", ">", ">=", "==", "!="), sides):
        numbers = "\n    k1 = n - 1\n    k2 = n - 2\n    k3 = n + 1"
        function = read(TESTS.replace("\n    for", f"{numbers}\n    for").format(comparison=f"{comparison} {side}"))
        changed = peel_loops(function)
        parted += changed != function
        for n in range(6):
            results = [run(one, (np.zeros(n), n)) for one in (function, changed)]
            assert identical(*results), (comparison, side, n)
    assert parted == 22


@pytest.mark.parametrize(
    "other",
    [
        # edges of more than two iterations, or not known; another ring
        {"shift": "+ 3"},
        {"shift": "- 3"},
        {"shift": "+ k"},
        {"start": "k"},
        {"start": "-1"},
        {"size": "n1"},
        {"size": "7"},
        # a ring of another number in each iteration
        {"size": "i"},
        # nothing goes round
        {"stop": "k1", "size": "k2"},
    ],
    ids=str,
)
def test_refusals(other):
    text = RING.format(**(AS_IT_IS | other)).replace("\n    for", "\n    k1 = n - 1\n    k2 = n - 0\n    for")
    function = read(text)
    assert peel_loops(function) == function


def diffusion(u, steps):
    n = u.shape[0]
    u, new = u.copy(), np.empty(n)
    for _ in range(steps):
        for i in range(n):
            new[i] = u[i] + 0.1 * (u[(i + 1) % n] - 2.0 * u[i] + u[i - 1])
        u, new = new, u
    return u


def far_neighbours(u, steps):
    n = len(u)
    out = np.zeros(n + 1)
    for k in range(steps):
        for i in range(n + 1):
            if u[i - 1] > 0.0:
                out[i] += u[i % n] * k
            elif u[(i + 1) % n] > 0.0:
                out[i] -= u[(i - 2) % n] * u[i - 2]
    return out


def walls(u, steps):
    n = u.shape[0]
    new = u * 0.0
    total = 0.0
    for k in range(steps):
        for i in range(n):
            if i == 0:
                left = u[0]
            else:
                left = u[i - 1] * new[i - 1]
            right = u[i + 1] if i < n - 1 else 1.0
            new[i] = u[i] * (left - k * right)
            total = total + left * right
    return new, total


PROGRAMS = (diffusion, far_neighbours, walls)


def test_programs_compute_the_same():
    rng = np.random.default_rng(3)
    for program in PROGRAMS:
        primal = unoptimised(program, (np.zeros(3), 2), "primal", (0,))
        constants = frozenset(primal.lowered.constants)
        core = primal.core
        for change in CLEAN:
            core = change(core, constants)
        parted = peel_loops(core, constants)
        assert parted != core
        for change in CLEAN:
            parted = change(parted, constants)
        for size in range(1, 7):
            args = (rng.normal(size=size), 2)
            assert identical(*(run(one, args, primal.namespace) for one in (core, parted))), (program, size)


@pytest.mark.slow
def test_derivatives():
    rng = np.random.default_rng(4)
    with oracles.interpreted():
        for program, size in itertools.product(PROGRAMS, (2, 5)):
            args = (rng.normal(size=size), 2)
            oracles.check(program, args, forward_level=0)


def closed(u):
    out = np.zeros(u.shape[0] + 1)
    for i in range(u.shape[0] + 1):
        out[i] = u[i % u.shape[0]]
    return (out * out).sum()


@pytest.mark.compiled
def test_an_empty_ring_raises():
    with oracles.interpreted():
        np.testing.assert_array_equal(tapec.grad(closed)(np.array([1.0, 2.0])), [4.0, 4.0])
        with pytest.raises(ZeroDivisionError):
            tapec.grad(closed)(np.zeros(0))
