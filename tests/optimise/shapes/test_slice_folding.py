"""Elements of slices are elements of the arrays that they are slices of."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tapec.backend import printer
from tapec.optimise.passes import CLEAN
from tapec.optimise.shapes.slice_folding import fold_slice_extents, fold_slices
from tapec.syntax.core import Assign, Op, walk
from tests import oracles
from tests.optimise.comparison import identical, run, unoptimised
from tests.optimise.reading import check, read

PASSES = (*CLEAN, *2 * (fold_slice_extents, *CLEAN), fold_slices, *CLEAN)

MOVED = """
def f(a, n):
    a1 = a[2:]
    n1 = a.shape[0]
    n2 = n1 - 2
    n3 = max(n2, 0)
    for i in range(n3):
        t = {element}
        {store} = t
    return a
"""


def test_elements_are_those_of_the_array():
    before = MOVED.format(element="a1[i]", store="a1[i]")
    after = before.replace("t = a1[i]", "t_1 = i + 2\n        t = a[t_1]")
    after = after.replace("a1[i] = t", "t_2 = i + 2\n        a[t_2] = t")
    check(fold_slices, before, after.lstrip())


def test_the_extent_is_what_the_bounds_leave():
    before = "\ndef f(A, k):\n    A1 = A[k, 1:-2]\n    n = A1.shape[0]\n    return n\n"
    after = before.replace("n = A1.shape[0]", "size = A.shape[1]\n    size_1 = size - 3\n    n = max(size_1, 0)")
    check(fold_slice_extents, before, after.lstrip())


WITH_A_NEW_AXIS = """
def f(a, n):
    A1 = a[{subs}]
    n1 = A1.shape[0]
    n2 = A1.shape[1]
    for i in range(n):
        t = A1[{index}]
        A1[{index}] = t
    return n1, n2
"""


@pytest.mark.parametrize(
    ("subs", "index", "extents"),
    [(":, None", "i, 0", "n1 = a.shape[0]\n    n2 = 1"), ("None", "0, i", "n1 = 1\n    n2 = a.shape[0]")],
)
def test_an_axis_that_the_array_has_not_is_left_out(subs, index, extents):
    text = WITH_A_NEW_AXIS.format(subs=subs if subs != "None" else "None, :", index=index)
    after = text.replace(f"A1[{index}]", "a[i]")
    check(fold_slices, text, after.lstrip())
    after = text.replace("n1 = A1.shape[0]\n    n2 = A1.shape[1]", extents)
    check(fold_slice_extents, text, after.lstrip())


@pytest.mark.parametrize(("subs", "index"), [(":, None", "i, i"), ("None, :", "i, i"), (":, None", "i, n")])
def test_a_new_axis_that_is_not_read_at_0_is_left_alone(subs, index):
    function = read(WITH_A_NEW_AXIS.format(subs=subs, index=index))
    assert fold_slices(function) == function


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # elements that may be none of the slice: counted from its end, behind its end
        ("for i in range(n3)", "for i in range(-1, n3)"),
        ("for i in range(n3)", "for i in range(n1)"),
        ("{element}", "a1[0]"),
        ("{element}", "a1[n]"),
        # another extent: what it was before, of another array, of a number with two values
        ("n1 = a.shape[0]", "n1 = a.shape[0]\n    a = a2"),
        ("n1 = a.shape[0]", "n1 = n"),
        ("n1 = a.shape[0]", "n1 = a.shape[0]\n    n1 = n"),
        # other slices
        ("a[2:]", "a[2::2]"),
        ("a[2:]", "a[-2:]"),
        ("a[2:]", "a[n:]"),
        ("a[2:]", "a[:5]"),
        ("a[2:]", "a[:]"),
        # the array is set again, in the loop or elsewhere
        ("t = {element}", "t = {element}\n        a = a2"),
        ("a1 = a[2:]", "c = n > 1\n    if c:\n        a1 = a[2:]\n    else:\n        a1 = a[3:]"),
    ],
    ids=str,
)
def test_refusals(old, new):
    text = MOVED.replace("def f(a, n)", "def f(a, a2, n)").replace(old, new)
    function = read(text.format(element="a1[i]", store="a2[i]"))
    assert fold_slices(function) == function


STRETCHED = """
def f(a, n, n4):
    a1 = a[2:]
    n1 = a.shape[0]
    n2 = n1 - 2
    n3 = max(n2, 0)
    c = n3 != n
    c1 = n3 != 1
    c2 = c and c1
    if c2:
        raise ValueError()
    c3 = n3 == n
    k = 1 if c3 else 0
    for i in range(n):
        j = i * k
        t = a1[j]
        a[i] = t
    return a
"""


def test_a_slice_that_may_be_stretched():
    check(fold_slices, STRETCHED, STRETCHED.replace("t = a1[j]", "t_1 = j + 2\n        t = a[t_1]").lstrip())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # not checked, or not in this way: the slice may have no element
        ("if c2", "if c"),
        ("c and c1", "c or c1"),
        ("c1 = n3 != 1", "c1 = n3 != 2"),
        ("c1 = n3 != 1", "c1 = n4 != 1"),
        ("        raise ValueError()", "        a[0] = 1.0"),
        # other iteration counts, other factors
        ("range(n)", "range(n4)"),
        ("range(n)", "range(1, n)"),
        ("c3 = n3 == n", "c3 = n4 == n"),
        ("1 if c3 else 0", "0 if c3 else 1"),
    ],
    ids=str,
)
def test_slices_that_are_stretched_otherwise_stay(old, new):
    function = read(STRETCHED.replace(old, new))
    assert fold_slices(function) == function


@pytest.mark.slow
def test_bounds_are_clipped_as_numpy_clips_them():
    """The formulas, for all slices of short arrays; those of other slices are left alone."""
    computed = ("n - 1", "n - 2", "n - 3", "n + 1")
    bounds = (None, 0, 1, 2, 3, 5, -1, -2, -5, "n", *computed)
    known = 0
    for low, high in itertools.product(bounds, repeat=2):
        # bounds are atoms
        numbers = {bound: f"k{place}" for place, bound in enumerate((low, high)) if bound in computed}
        ends = ":".join("" if bound is None else str(numbers.get(bound, bound)) for bound in (low, high))
        before = [f"    {name} = {bound}" for bound, name in numbers.items()]
        lines = ["    n = a.shape[0]", *before, f"    a1 = a[{ends}]", "    n1 = a1.shape[0]", "    return n1"]
        function = read("def f(a):\n" + "\n".join(lines))
        changed = fold_slice_extents(function)
        known += changed != function
        for n in range(9):
            assert run(changed, (np.zeros(n),))[0] == run(function, (np.zeros(n),))[0], (low, high, n)
    assert known == 49


def neighbours(u, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return u


def of_the_extent(u, steps):
    n = u.shape[0]
    out = np.zeros(n)
    out[1 : n - 1] = u[2:n] * u[0 : n - 2]
    out[: n - 3] += u[3:] * steps
    return out


def of_slices(u, steps):
    inner = u[1:-1]
    left, right = inner[:-1], inner[1:]
    flux = np.zeros(u.shape[0] + 1)
    flux[1:-1] = u[1:] - u[:-1]
    inner[1:-1] += left[1:] * right[:-1] + (flux[1:] - flux[:-1])[2:-2]
    return flux


def planes(u, steps):
    grid = np.outer(u, u) if u.shape[0] > 0 else np.ones((1, 1))
    for k in range(steps):
        grid[1:-1, :-2] += 0.5 * (grid[2:, 1:-1] - grid[:-2, 2:])
        grid[0, 1:] = grid[-1, :-1] + k
    return grid


def another_array(u, steps):
    total = 0.0
    for _ in range(steps):
        middle = u[1:-1]
        u = np.concatenate((u[1:] * 2.0, u[:-1] + 1.0))
        for i in range(middle.shape[0]):
            total += middle[i] * u[i]
    return total


def changing_places(u, steps):
    now, old = u.copy(), u.copy()
    for _ in range(steps):
        old[1:-1] = 2.0 * now[1:-1] - old[1:-1] + 0.2 * np.diff(now, 2)
        now, old = old, now
    return now


def stretched(u, steps):
    weights = np.arange(1.0, 5.0)
    total = 0.0
    for k in range(steps):
        total += np.sum(weights * (u[2:] - u[:-2]) + k * u[1:-1])
    return total


PROGRAMS = (neighbours, of_the_extent, of_slices, planes, another_array, changing_places, stretched)


@pytest.mark.slow
def test_programs_compute_the_same():
    rng = np.random.default_rng(3)
    for program in PROGRAMS:
        primal = unoptimised(program, (np.zeros(3), 2), "primal", (0,))
        core, constants = primal.core, frozenset(primal.lowered.constants)
        for change in PASSES:
            core = change(core, constants)
        for size in range(8):
            args = (rng.normal(size=size), 2)
            results = (run(one, args, primal.namespace) for one in (primal.core, core))
            assert identical(*results), f"{size} {printer.function(core)}"
        if program in (neighbours, planes, of_slices, stretched):
            assert "view" not in {
                s.value.fn for s in walk(core.body) if isinstance(s, Assign) and isinstance(s.value, Op)
            }


@pytest.mark.slow
def test_derivatives():
    rng = np.random.default_rng(4)
    with oracles.interpreted():
        for program in (of_slices, planes, another_array, changing_places):
            oracles.check(program, (rng.normal(size=7), 3), forward_level=0)
        for size in (3, 6):
            oracles.check(stretched, (rng.normal(size=size), 3), forward_level=0)
