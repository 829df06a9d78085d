"""Buffers that loop counters index, and stacks: made, filled, and emptied."""

from __future__ import annotations

import pytest

from tapec.analyses.scopes import scopes
from tapec.backend import printer
from tapec.syntax.core import Const, For, Function, Name, Op, Return, Stmt
from tapec.syntax.types import FLOAT64, Array, Scalar
from tapec.transforms.emitter import Emitter
from tapec.transforms.slots import Slots, stack_args
from tapec.transforms.storage_plan import Slot, StoragePlan
from tests.optimise.comparison import run
from tests.optimise.reading import read

NEST = """
def f(x, n, j, k):
    for i in range(j, n, {step}):
        for i_2 in range(3):
            y = x * 2.0
    return x
"""


class Made(Slots):
    """Slots for the values of `y` in a nest of two loops."""

    def __init__(self, step: str = "1") -> None:
        self.function = read(NEST.format(step=step))
        self.types = dict(self.function.types)
        self.emitter = Emitter(self.types, set(self.types))
        self.plan = StoragePlan()
        self.scopes = scopes(self.function)
        (self.outer,) = (stmt for stmt in self.function.body if isinstance(stmt, For))
        (self.region,) = self.scopes.body[self.outer.key]
        (self.inner,) = self.scopes.body[self.outer.body[0].key]

    def text(self, stmts: list[Stmt]) -> list[str]:
        function = Function("f", self.function.params, (*stmts, Return((Const(0),))), self.types)
        return [line.strip() for line in printer.function(function, quote=False).splitlines()[1:-1]]


def test_a_buffer_has_an_axis_for_each_loop_and_is_indexed_by_their_counters():
    made = Made()
    extents = (Op("-", (Name("n"), Name("j"))), Const(3))
    slot = Slot("y_store", (made.region, made.inner), True, extents)
    made.plan.buffers[made.outer.key] = [(slot, "y"), (Slot("z_store", (made.region,), True, extents[:1]), "y")]
    made.plan.counters[made.region.key] = "number"
    # the extent that two have in common is computed once
    assert made.text(made.allocate(made.outer)) == [
        "t = n - j",
        "y_store = np.empty((t, 3))",
        "z_store = np.empty(t)",
    ]
    assert made.text([made.put("y", slot), made.get("y", slot)]) == [
        "y_store[number, i_2] = y",
        "y = y_store[number, i_2]",
    ]
    assert made.allocate(made.outer.body[0]) == [] == made.buffers_of(made.outer)  # type: ignore[arg-type]


def test_a_stack_needs_no_counters():
    made = Made()
    slot = Slot("y_stack", (made.region, made.inner), False)
    made.plan.buffers[made.outer.key] = [(slot, "y")]
    (allocated,) = made.text(made.allocate(made.outer))
    assert allocated.startswith("y_stack = ")
    assert made.text([made.put("y", slot), made.get("y", slot)]) == ["y_stack.append(y)", "y = y_stack.pop()"]


def test_buffers_of_inner_loops_go_on_a_stack_of_the_loop_around():
    made = Made()
    slot = Slot("y_store", (made.inner,), True, (Const(3),), around=(made.region,))
    (loop,) = made.outer.body
    assert isinstance(loop, For)
    made.plan.buffers[loop.key] = [(slot, "y")]
    for late in (False, True):
        made.plan.stored["y_store"] = Slot("y_stores", (made.region,), False, late=late)
        put = [] if late else ["y_stores.append(y_store)"]
        assert made.text(made.allocate(loop)) == ["y_store = np.empty(3)", *put]
    assert made.buffers_of(loop) == [slot]


@pytest.mark.parametrize("step", ["1", "-1", "2", "-3", "k"])
def test_counters_count_the_iterations(step: str):
    """By running them: 0, 1, 2, ... for each variable of the range."""
    made = Made(step)
    assert made.counter(made.region, made.outer) == []
    made.plan.counters[made.region.key] = "number"
    made.types["number"] = Scalar("int64")
    function = Function(
        "f",
        ("i", "j", "k"),
        (*made.counter(made.region, made.outer), Return((Name("number"),))),
        made.types,
    )
    for start, k in ((5, 2), (-4, -2), (0, 1)):
        jump = int(step) if step != "k" else k
        found = [run(function, (i, start, k))[0] for i in range(start, start + 7 * jump, jump)]
        assert found == list(range(7))


def test_types_of_stacks():
    assert stack_args(FLOAT64) == (Const("float64"),)
    assert stack_args(Array("float32", 2, "F")) == (Const("float32"), Const(2), Const("F"))
