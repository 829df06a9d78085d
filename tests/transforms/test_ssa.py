"""Single assignment: how much work nests of loops are."""

from __future__ import annotations

from tapec.analyses.liveness import Liveness
from tapec.syntax.core import Assign, Const, For, Function, Name, Op, Return
from tapec.syntax.types import FLOAT64, INT64
from tapec.transforms import ssa


def nest(depth: int) -> Function:
    """A sum over so many loops inside each other, with a sum of its own in each."""
    body = (Assign("s0", Op("+", (Name("s0"), Name("x")))),)
    types = {"x": FLOAT64, "s0": FLOAT64}
    for k in range(1, depth):
        add = Assign(f"s{k}", Op("+", (Name(f"s{k}"), Name(f"s{k - 1}"))))
        body = (Assign(f"s{k - 1}", Const(0.0)), For(f"i{k}", Const(0), Const(2), Const(1), body), add)
        types |= {f"s{k}": FLOAT64, f"i{k}": INT64}
    return Function("f", ("x",), (Assign(f"s{depth - 1}", Const(0.0)), *body, Return((Name(f"s{depth - 1}"),))), types)


def test_nests_are_not_walked_twice_for_each_loop(monkeypatch):
    visited = []
    plain = Liveness._statement

    def counted(self, stmt, *masks):
        visited.append(stmt)
        return plain(self, stmt, *masks)

    monkeypatch.setattr(Liveness, "_statement", counted)
    counts = []
    for depth in (5, 10, 20):
        visited.clear()
        ssa.to_ssa(nest(depth))
        counts.append(len(visited))
    # statements times depth, at most, and not 2 to the power of it
    assert counts[2] < 6 * counts[1] and counts[1] < 6 * counts[0]
