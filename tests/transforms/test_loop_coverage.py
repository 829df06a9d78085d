"""What bounds of loops tell of extents of arrays; a wrong "yes" costs time and memory, but no derivative."""

from __future__ import annotations

import pytest

from tapec.analyses.batch_extents import BatchExtents
from tapec.analyses.scopes import Scope, scopes
from tapec.syntax.core import Assign, Const, For, Name, Op, walk
from tapec.transforms.loop_coverage import LoopCoverage
from tests.optimise.reading import read

NEST = """
def f(A, a, n, k):
    n_rows = A.shape[0]
    n_columns = A.shape[1]
    n_top = n_rows - 1
    n_least = min(n_rows, n_columns)
    {before}
    for i in range({outer}):
        for j in range({inner}):
            {place}
            s = A[i, j]
    return s
"""
PLAIN = {"before": "pass", "outer": "n_rows", "inner": "n_columns", "place": "pass"}


def nest(**parts: str) -> tuple[LoopCoverage, tuple[Scope, ...], list[Op]]:
    """The coverage of a nest, its loops, and the loads in it."""
    core = read(NEST.format(**(PLAIN | parts)))
    found = scopes(core)
    chain = tuple(found.body[stmt.key][0] for stmt in walk(core.body) if isinstance(stmt, For))
    loads = [s.value for s in walk(core.body) if isinstance(s, Assign) and isinstance(s.value, Op)]
    return LoopCoverage(found, BatchExtents(core, (), found)), chain, [one for one in loads if one.fn == "load"]


@pytest.mark.parametrize(
    ("parts", "all_of_it"),
    [
        ({}, True),
        ({"outer": "n"}, False),
        ({"outer": "3"}, False),
        ({"inner": "i"}, False),
        ({"outer": "1, n_rows"}, True),
        ({"outer": "n_top"}, True),
        ({"outer": "n_least"}, False),
        ({"outer": "n_top, -1, -1"}, True),
    ],
)
def test_over_all(parts: dict[str, str], all_of_it: bool):
    coverage, chain, loads = nest(**parts)
    assert coverage.over_all(loads[-1].args[1:], chain) == all_of_it


def test_one_loop_for_both_axes_goes_over_a_diagonal():
    coverage, chain, _ = nest()
    assert not coverage.over_all((Name("i"), Name("i")), chain)
    assert not coverage.over_all((Name("i"), Const(0)), chain)


@pytest.mark.parametrize(("sub", "place"), [("i", 0), ("j", 1), ("j_1", 1), ("k", None), ("k_1", None)])
def test_counted_by(sub: str, place: int | None):
    coverage, chain, _ = nest(place="j_1 = j + 1; k_1 = i + j")
    assert coverage.counted_by(Name(sub), Op("dim", (Name("a"), Const(0))), chain) == place


def test_counted_by_a_bound_that_is_the_extent():
    coverage, chain, _ = nest(outer="n")
    assert coverage.counted_by(Name("i"), Name("n"), chain) == 0
    assert coverage.counted_by(Name("i"), Name("k"), chain) is None
    assert coverage.counted_by(Const(0), Name("n"), chain) is None


@pytest.mark.parametrize(
    ("parts", "long"),
    [
        ({}, True),
        ({"inner": "n"}, True),
        ({"inner": "i"}, True),
        ({"before": "n_half = n // 2", "inner": "n_half"}, True),
        ({"inner": "5"}, False),
        ({"inner": "i, i"}, False),
        ({"before": "i_2 = n - 2", "inner": "i_2, n"}, False),
        ({"inner": "n_least"}, False),
        ({"before": "n_e = a[0]", "inner": "n_e"}, False),
        ({"before": "n_e = 1\n    for k_2 in range(3):\n        n_e = 2", "inner": "n_e"}, False),
    ],
)
def test_is_long(parts: dict[str, str], long: bool):
    coverage, chain, _ = nest(**parts)
    assert coverage.is_long(chain[-1]) == long
