"""Values go on lists after what the calls of their block have put there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tapec.syntax.core import Assign, Block, Break, Call, Const, If, Name
from tapec.transforms.late_pushes import LatePushes
from tapec.transforms.residual_requests import Unhandable
from tapec.transforms.storage_plan import Slot, StoragePlan

OWN, SHARED, SOON = Slot("y_stack", (), False, late=True), Slot("kept", (), False, late=True), Slot("z_store", (), True)
CALL, OTHER = Call(("y",), "f", (Name("x"),)), Call(("z",), "g", (Name("x"),))
PLAIN = Assign("x", Const(1.0))
LEFT = If(Name("c"), (Break(),), ())


def pushes(
    block: Block, waiting: dict[str, Slot] | None = None, headed: bool = False, starts: dict[str, Slot] | None = None
) -> LatePushes:
    planner: Any = SimpleNamespace(handed=frozenset({CALL.key}), lists={"float64": "kept"})
    region: Any = SimpleNamespace(key=7)
    plan = StoragePlan(stored={"a": SHARED, "b": SHARED, "y": OWN}, starts={7: starts or {}})
    return LatePushes(planner, region, plan, block, waiting, headed)


def test_a_value_of_its_own_waits_for_the_last_call():
    late = pushes((PLAIN, CALL, PLAIN, CALL, PLAIN))
    assert late.takes("y", OWN)
    assert [late.after(place) for place in range(5)] == [[], [], [], [("y", OWN)], []]
    # behind it, there is nothing to wait for
    assert not late.takes("v", OWN)
    assert late.at_end() == []


def test_shared_lists_wait_for_the_end():
    late = pushes((CALL, PLAIN))
    assert late.takes("b", SHARED) and late.after(0) == []
    assert late.takes("a", SHARED)
    # the reverse sweep takes them in the order of the plan
    assert late.at_end() == [("b", SHARED), ("a", SHARED)]


@pytest.mark.parametrize("block", [(PLAIN,), (OTHER, PLAIN), (PLAIN, CALL)])
def test_others_go_at_once(block: Block):
    late = pushes(block)
    assert not late.takes("z", SOON)
    assert late.at_end() == []


def test_a_call_in_a_branch_or_loop_counts():
    late = pushes((If(Name("c"), (CALL,), ()), PLAIN))
    late.takes("y", OWN)
    assert late.after(0) == [("y", OWN)]
    assert late.after(1) == []


def test_what_an_iteration_begins_with_waits_too():
    late = pushes((CALL,), starts={"s": OWN, "t": SOON})
    assert late.after(0) == [("s", OWN)]


@pytest.mark.parametrize("block", [(LEFT, CALL), (CALL, LEFT, CALL), (If(Name("c"), (CALL, Break()), ()),)])
def test_a_way_out_before_the_last_call_is_refused(block: Block):
    late = pushes(block)
    late.takes("y", OWN)
    with pytest.raises(Unhandable, match="may come before the last call"):
        late.after(len(block) - 1)


@pytest.mark.parametrize("block", [(CALL, LEFT), (LEFT, CALL)])
def test_not_if_it_comes_later_or_nothing_waits(block: Block):
    late = pushes(block)
    if block[0] is CALL:
        late.takes("y", OWN)
    late.after(block.index(CALL))


@pytest.mark.parametrize(
    ("body", "orelse", "headed", "side"),
    [
        ((CALL,), (Break(),), True, 0),
        ((Break(),), (PLAIN, CALL), True, 1),
        # the iteration that ends the loop would count
        ((CALL,), (Break(),), False, None),
        # the other side has calls, or does not leave
        ((CALL,), (CALL, Break()), True, None),
        ((CALL,), (PLAIN,), True, None),
    ],
)
def test_what_waits_goes_into_the_iteration_of_a_while(body: Block, orelse: Block, headed: bool, side: int | None):
    late = pushes((PLAIN, If(Name("c"), body, orelse)), headed=headed)
    late.takes("y", OWN)
    more = late.handed_on(1)
    wanted: list[dict[str, Slot]] = [{}, {}]
    if side is not None:
        wanted[side] = {"y": OWN}
    assert list(more) == wanted
    assert (late.own == {}) == (side is not None)
    assert late.handed_on(0) == ({}, {})
    # there it waits for the calls inside
    if side is not None:
        inner = pushes((body, orelse)[side], more[side])
        assert inner.after(len((body, orelse)[side]) - 1) == [("y", OWN)]
