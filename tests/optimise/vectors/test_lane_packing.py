"""Copies of what lanes read again and again: which there are, and that they hold what the program reads."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.analyses.iterations import Iterations
from tapec.analyses.lane_variance import Lanes
from tapec.optimise.name_origins import Fresh
from tapec.optimise.vectors import outer_vectorisation as pass_
from tapec.optimise.vectors.lane_packing import Packed
from tapec.optimise.vectors.outer_vectorisation import vectorise_outer_loops
from tapec.syntax.core import Const, For, Name
from tests.optimise.comparison import check_results, run
from tests.optimise.reading import read

LOOP = """
def f(A, A_1, a, n, k, d, c, x):
    n_1 = A.shape[0]
    n_2 = min(n, n_1)
    for i in range({count}):
        s = x
        for j in range(k):
            for j_1 in range({inner}):
                {body}
                s_1 = s + t
                s = s_1
        a[i] = s
    return x
"""
USUAL = {"count": "n", "inner": "d", "body": "t = A[i, j_1]"}
GUARDED = """c_1 = i < d
                if c_1:
                    t = A[i, j_1]
                else:
                    t = x"""


def packed(once: bool = False, **parts: str) -> tuple[Packed, Fresh]:
    core = read(LOOP.format(**USUAL | parts))
    loop, iterations = next(stmt for stmt in core.body if isinstance(stmt, For)), Iterations(core)
    lanes, fresh = Lanes(loop, iterations), Fresh(core.types)
    return Packed(lanes, fresh, once), fresh


def copies(**parts: str) -> list[str]:
    """The arrays that have copies."""
    found, _ = packed(**parts)
    return sorted({copy.array for copy in found.of.values()})


@pytest.mark.parametrize(
    ("parts", "arrays"),
    [
        ({}, ["A"]),
        ({"inner": "1, d"}, ["A"]),
        ({"inner": "d, -1, -1"}, ["A"]),
        ({"body": "a_2 = A[i]\n                t = a_2[j_1]"}, ["A"]),  # a row
        ({"body": "t = A[i, j_1]\n                A_1[i, j_1] += x"}, ["A", "A_1"]),  # sums of an iteration's own
        ({"count": "n_1", "body": GUARDED}, ["A"]),
        ({"count": "n_2", "body": GUARDED}, ["A"]),  # the smaller one of that and another
        # what not all iterations read may not be there
        ({"body": GUARDED}, []),
        # lanes are neighbours, or the same for all, or more than one subscript counts with them
        ({"body": "t = A[j_1, i]"}, []),
        ({"body": "t = A[j, j_1]"}, []),
        ({"body": "t = A[i, i]"}, []),
        # no loop runs through the other axis, or by steps, from below, or how far is not known before
        ({"body": "t = A[i, k]"}, []),
        ({"inner": "0, d, 2"}, []),
        ({"inner": "n, d"}, []),
        ({"inner": "d", "body": "j_2 = j_1 + 1\n                t = A[i, j_2]"}, []),
        # what the loop changes
        ({"body": "t = A[i, j_1]\n                A[i, j_1] = x"}, []),
        ({"body": "t = A[i, j_1]\n                A[i, j_1] += x"}, []),
        ({"body": "t = A_1[i, j_1]\n                A[i, 0] += x\n                A[i, j_1] += x"}, ["A_1"]),
    ],
)
def test_which_arrays_are_copied(parts: dict[str, str], arrays: list[str]):
    assert copies(**parts) == arrays


def test_what_is_read_once_is_copied_only_if_asked_for():
    text = {"body": "t = A[i, j_1]", "inner": "d"}
    core = read(LOOP.format(**USUAL | text).replace("for j in range(k):", "if c:"))
    loop, iterations = next(stmt for stmt in core.body if isinstance(stmt, For)), Iterations(core)
    lanes = Lanes(loop, iterations)
    assert not Packed(lanes, Fresh(core.types)).of and Packed(lanes, Fresh(core.types), once=True).of
    again, _ = packed()
    (access,) = again.of
    assert all(again.repeated(stmt) == (stmt.key == access) for stmt in again.lanes.loop.body)


def test_where_a_lane_finds_an_element():
    found, _ = packed()
    (key,) = found.of
    access = next(stmt for copied in found._accesses.values() for stmt in copied)
    assert access.key == key and found.copied(access) and found.repeated(access)
    (made,) = found.made("i_first", "lanes", Const(64))
    assert len(made.before) == 8 and not made.last
    assert found.element(access, (Name("i"), Name("j_1")), Name("lane")) == ("A_lanes", (Name("j_1"), Name("lane")))
    assert found.element(found.lanes.loop, (Name("i"),), Name("lane")) is None


@pytest.fixture
def everywhere(monkeypatch):
    """Lanes wherever they are proved to be right, worth it or not."""
    monkeypatch.setattr(pass_, "gains", lambda lanes, packed: True)
    monkeypatch.setattr(pass_, "few", lambda loop, iterations: False)


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"inner": "1, d"},
        {"inner": "d, 0, -1", "body": "j_2 = j_1 - 1\n                t = A[i, j_2]"},
        {"body": "t = A[i, j_1]\n                A_1[i, j_1] += t"},
        {"count": "1, n", "body": "t = A[i, j_1]\n                A_1[i, j_1] += t"},
        {"count": "n_1", "body": GUARDED},
        {"body": GUARDED},
    ],
)
def test_results_stay(parts: dict[str, str], everywhere):
    rng = np.random.default_rng(1)
    arrays = rng.random((66, 3)), rng.random((66, 3)), np.zeros(66)
    runs = [(*arrays, n, k, d, True, 0.5) for n in (0, 1, 66) for k, d in ((2, 3), (1, 1), (2, 0), (0, 3), (2, -1))]
    check_results(vectorise_outer_loops, LOOP.format(**USUAL | parts), *runs, tolerance=1e-13)


@pytest.mark.parametrize(
    "body", ["t = A[i, j_1]", "t = x\n                A[i, j_1] += t", GUARDED.replace("i < d", "i < k")]
)
def test_elements_that_no_iteration_reads_need_not_be_there(body: str, everywhere):
    text = LOOP.format(**USUAL | {"body": body})
    for rows, k, d in ((0, 0, 3), (5, 0, 3), (0, 2, 0), (0, 2, -1), *(((2, 2, 3),) if "c_1" in body else ())):
        check_results(
            vectorise_outer_loops, text, (np.ones((rows, 3)), np.ones((2, 2)), np.zeros(9), 9, k, d, True, 0.5)
        )
    # and those that are read raise an error where subscripts are tested
    if "c_1" not in body:
        arguments = np.ones((5, 3)), np.ones((2, 2)), np.zeros(9), 9, 2, 3, True, 0.5
        core = read(text)
        assert run(core, arguments) == run(vectorise_outer_loops(core), arguments) == (IndexError,)
