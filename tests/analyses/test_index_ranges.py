"""Subscripts that are in range, and when others are not: compared with the errors of runs."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tapec.analyses.index_ranges import IndexRanges, Violation, accesses, implies, may_stop, of_viewed, turned
from tapec.backend import printer
from tapec.errors import Span
from tapec.syntax.core import Block, Const, Function, Print, Store, map_blocks
from tapec.syntax.linear import Sum
from tests.optimise.reading import read

PROGRAM = """
def f(a, A, n, k, c):
    n_a = a.shape[0]
    {}
    return n
"""
# where it is decided; "" if the subscript is proved to be in range
CASES = {
    "for i in range(n_a): a[i] = 1.0": "",
    "n_1 = n_a - 1\n    for i in range(n_1):\n        i_1 = i + 1\n        a[i_1] = 1.0": "",
    "for i in range(n_a):\n        i_1 = i - 1\n        a[i_1] = 1.0": "",
    "c_1 = k < n_a\n    c_2 = k >= 0\n    c_3 = c_1 and c_2\n    if c_3: a[k] = 1.0": "",
    "c_1 = k >= n_a\n    if c_1: raise ValueError()\n    c_2 = k < 0\n    if c_2: raise ValueError()\n"
    "    a[k] = 1.0": "",
    "n_2 = max(n_a, 1)\n    i = k % n_a\n    a[i] = 1.0": "",
    "a_1 = np.zeros(n)\n    for i in range(n): a_1[i] = 1.0": "",
    "A_1 = a.reshape((n, k))\n    for i in range(n):\n        for j in range(k): A_1[i, j] = 1.0": "",
    "a_1 = a.copy()\n    for i in range(n_a): a_1[i] = 1.0": "",
    # decided once, before the loop
    "for i in range(n): a[i] = 1.0": "For",
    "for i in range(k, n): a[i] = 1.0": "For",
    "for i in range(n, k, -1): a[i] = 1.0": "For",
    "for i in range(n):\n        i_1 = i - 2\n        a[i_1] = 1.0": "For",
    "for i in range(n):\n        for j in range(i): a[j] = 1.0": "For",
    "for i in range(n):\n        if c: a[i] = 1.0": "Store",
    "for i in range(n):\n        c_1 = i < k\n        if c_1: a[i] = 1.0": "If",
    "a_1 = np.zeros(n)\n    for i in range(k): a_1[i] = 1.0": "For",
    "for i in range(n):\n        for j in range(k): A[i, j] = 1.0": "For",
    "a_1 = a[k:]\n    for i in range(n): a_1[i] = 1.0": "For",
    "for i in range(n):\n        a_1 = a[i:]\n        for j in range(k): a_1[j] = 1.0": "For",
    # in each iteration
    "for i in range(n):\n        i_1 = i * i\n        a[i_1] = 1.0": "Store",
    "for i in range(0, n, 2): a[i] = 1.0": "Store",
    "for i in range(n):\n        if i > k: break\n        a[i] = 1.0": "Store",
    "for i in range(n):\n        a[i] = 1.0\n        c_1 = i > k\n        if c_1: break": "Store",
    # where it stands
    "a[k] = 1.0": "Store",
    "a[0] = 1.0": "Store",
    "a[-1] = 1.0": "Store",
    "c_1 = k > 0\n    if c_1: a[k] = 1.0": "If",
    "c_1 = k > 0\n    if c_1: n_4 = 1\n    else: a[k] = 1.0": "If",
    "c_1 = k != 0\n    if c_1: a[k] = 1.0": "Store",
}


def _violations(function: Function) -> tuple[IndexRanges, list[Violation] | None]:
    """The violations by the one store of a function, each as early as it can be told; None if it cannot."""
    ranges = IndexRanges(function)
    (store,) = (one for one in accesses(function) if isinstance(one[0], Store))
    stmt, array, subs = store
    found = [ranges.earliest(stmt, array, axis, sub) for axis, sub in enumerate(subs)]
    return ranges, None if None in found else [one for early in found for one in early]


def _noting(block: Block, ranges: IndexRanges, found: list[Violation]) -> Block:
    """The block, in which the sums of violations are printed where those are told."""
    out: list = []
    for stmt in block:
        for place, one in enumerate(found):
            if one.before is stmt:
                names = sorted({name for sum_ in one.sums for name in sum_.names()})
                out.append(Print((Const(place), *map(ranges.operand, names))))
        out.append(map_blocks(stmt, lambda inner: _noting(inner, ranges, found)))
    return tuple(out)


def _run(text: str, found: list[Violation], args: tuple[object, ...]) -> tuple[bool, bool]:
    """Whether a violation is told, and whether a subscript is out of range, in a run that raises nothing else."""
    told = [False]

    def note(place: int, *values: int) -> None:
        sums = found[place].sums
        names = sorted({name for sum_ in sums for name in sum_.names()})
        numbers = {name: Sum(number=int(one)) for name, one in zip(names, values, strict=True)}
        told[0] |= all(sum_.with_(numbers).number >= 0 for sum_ in sums)

    scope: dict = {"np": np, "print": note}
    exec(text, scope)
    try:
        scope["f"](*args)
    except IndexError:
        return told[0], True
    except (ValueError, ZeroDivisionError):
        return told[0], told[0]
    return told[0], False


@pytest.mark.parametrize("body", CASES)
def test_a_violation_is_told_where_it_happens_and_only_there(body):
    function = read(PROGRAM.format(body))
    ranges, found = _violations(function)
    decided = None if found is None else type(found[0].before).__name__ if found else ""
    assert decided == CASES[body]
    if found is None:
        return
    text = printer.function(replace(function, body=_noting(function.body, ranges, found)), False)
    happened = set()
    for extent, n, k, c in itertools.product((0, 1, 3), (-1, 0, 1, 2, 4), (-4, -1, 0, 1, 3), (False, True)):
        told, happens = _run(text, found, (np.zeros(extent), np.zeros((extent, 2)), n, k, c))
        assert told == happens, (extent, n, k, c)
        happened.add(happens)
    assert happened == ({True, False} if found else {False})


def test_extents_of_what_is_made_of_other_arrays():
    ranges = IndexRanges(
        read("""
        def f(a, A, n, k, c):
            n_0 = A.shape[0]
            n_1 = A.shape[1]
            A_1 = A.T
            a_1 = A[0]
            a_2 = A[:, k]
            A_2 = A.copy()
            a_3 = a[1:]
            a_4 = a_3
            A_3 = np.zeros((n, n_0))
            A_4 = A
            for i in range(n):
                A_4 = A_2
            A_5 = A
            for j in range(n):
                A_5 = A_3
            return n
        """)
    )

    def size(array: str, axis: int) -> str | None:
        found = ranges.size(array, axis)
        return None if found is None else "+".join(name for name, _ in found.terms)

    sizes = {array: (size(array, 0), size(array, 1)) for array in ("A", "A_1", "A_2", "A_3", "A_5")}
    assert sizes == {
        "A": ("n_0", "n_1"),
        "A_1": ("n_1", "n_0"),
        "A_2": ("n_0", "n_1"),
        "A_3": ("n", "n_0"),
        "A_5": (None, None),
    }
    assert (size("a_1", 0), size("a_2", 0), size("a", 0)) == ("n_1", "n_0", "a.shape[0]")
    assert size("a_3", 0) == size("a_4", 0) == "a_3.shape[0]"
    assert size("A_4", 0) == "n_0"


def test_views_and_loads_are_accesses():
    function = read("def f(a, A, k):\n    x = a[k]\n    a_1 = A[:, k]\n    a_1[0] = x\n    return x")
    assert [(array, len(subs)) for _, array, subs in accesses(function)] == [("a", 1), ("A", 2), ("a_1", 1)]
    _, _, subs = list(accesses(function))[1]
    assert [IndexRanges(function).is_number(sub) for sub in subs] == [False, True]


@pytest.mark.parametrize(
    ("body", "stops"),
    [
        ("x = 1.0", False),
        ("for i in range(n):\n        if c: break", False),
        ("if c: raise ValueError()", True),
        ("print(x)", True),
        ("for i in range(n):\n        if c: raise ValueError()", True),
    ],
)
def test_what_may_end_a_block_or_tell_anything(body, stops):
    assert may_stop(read(f"def f(x, n, c):\n    {body}").body) == stops


def test_implied_sums():
    i, n = Sum.of("i"), Sum.of("n")
    assert implies((i,), (i.plus(Sum(number=1)),), [])
    assert not implies((i,), (i.plus(Sum(number=-1)),), [])
    assert implies((i.plus(n, -1),), (i,), [n])
    assert not implies((i.plus(n, -1),), (i,), [])


def test_open_axes_of_a_view_are_those_of_the_array():
    (made,) = read("def f(A, k):\n    a = A[k, :]").body
    place = Span("user.py", 1, 0, 1, "", "f", open=(0,))
    assert of_viewed(place, replace(made, span=place)).open == (0, 1)
    assert of_viewed(None, made) is None
    assert turned(place, 2).open == (1,) and turned(place, 3).open == (0,)
    assert turned(replace(place, open=()), 2).open == () and turned(None, 2) is None
