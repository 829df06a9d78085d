"""Loops over lanes: what is the same in all lanes stands before them, what they hand on stands in arrays."""

from __future__ import annotations

import pytest

from tapec.backend import printer
from tapec.rules.formula import CONSTANTS
from tapec.syntax.core import Assign, Const, Function, Name, Op, Return
from tapec.syntax.types import FLOAT64, Array, Scalar, Stack
from tapec.transforms.emitter import Emitter
from tapec.transforms.lane_loops import LaneLoops, by_columns, lanes_type
from tests.optimise.reading import read
from tests.transforms.lanes import compare, program, text_of

FLOAT32 = Scalar("float32")


def lines(out: Emitter) -> list[str]:
    return printer.function(Function("f", (), (*out.out, Return(())), out.types), False).splitlines()[1:-1]


@pytest.fixture
def worker() -> LaneLoops:
    return LaneLoops(read("def f(x, y, a, n):\n    z = x * y\n    return z"), ("x", "y"), frozenset(), 4)


@pytest.fixture
def out(worker: LaneLoops) -> Emitter:
    return Emitter(worker.types, worker.taken)


@pytest.mark.parametrize(
    ("type_", "wanted"),
    [
        (FLOAT32, Array("float32", 1)),
        (Array("float64", 1), Array("float64", 2)),
        (Array("float64", 2, "A"), Array("float64", 3, "A")),
        # of the transpose
        (Array("float64", 2, "F"), Array("float64", 3, "C")),
        (Stack(FLOAT64), Stack(FLOAT64)),
        (Stack(Array("float64", 1)), Stack(Array("float64", 2))),
    ],
)
def test_types(type_, wanted):
    assert lanes_type(type_) == wanted


def test_a_vector_has_one_order():
    assert not by_columns(Array("float64", 1, "F")) and by_columns(Array("float64", 2, "F"))
    assert not by_columns(Array("float64", 2, "A")) and not by_columns(FLOAT64)


def test_what_is_the_same_in_all_lanes_comes_first(worker, out):
    dot = Name(worker.dot("x", out))
    worker.number(Op("*", (Op("np.sin", (Name("y"),)), dot)), out, FLOAT32)
    worker.flush(out)
    assert lines(out) == [
        "    t = np.sin(y)",
        "    for lane in range(4):",
        "        t_1 = t * x_dot",
        "        t_2 = np.float32(t_1)",
    ]


@pytest.mark.parametrize(
    ("divisor", "inverts"),
    [
        (Name("y"), True),
        (Op("*", (Name("y"), Name("y"))), True),
        (Name("x_dot"), False),
        (Const(0), False),
        (Const(0.0), False),
        # by which a zero would become one that is not
        (Op("+", (Name("y"), Const(CONSTANTS["TINY"]))), False),
        (Op("load", (Name("a"), Const(0))), True),
        (Name("n"), False),
        (Name("w"), False),
    ],
)
def test_quotients_that_are_products(worker, out, divisor, inverts):
    worker.types["w"] = FLOAT32
    dot = Name(worker.dot("x", out))
    worker.number(Op("/", (dot, divisor)), out)
    worker.flush(out)
    assert any("1.0 / " in line for line in lines(out)) == inverts


def test_a_number_that_changes_keeps_its_value_for_the_loop(worker, out):
    dot = Name(worker.dot("x", out))
    worker.number(Op("*", (Name("y"), dot)), out)
    worker.emit(Assign("z", Const(1.0)), out)
    worker.emit(Assign("y", Const(2.0)), out)
    worker.number(Op("*", (Name("y"), dot)), out)
    worker.flush(out)
    assert lines(out) == [
        "    z = 1.0",
        "    y_before = y",
        "    y = 2.0",
        "    for lane in range(4):",
        "        t = y_before * x_dot",
        "        t_1 = y * x_dot",
    ]


def test_an_array_that_is_made_anew_ends_the_loop(worker, out):
    worker.let(Op("load", (Name("a"), Const(0))), FLOAT64, out)
    worker.protect(("a",), out)
    assert not worker.pending and len(lines(out)) == 2
    # an empty loop is none
    worker.flush(out)
    assert len(lines(out)) == 2


def test_numbers_go_from_loop_to_loop_in_arrays(worker, out):
    first, second = (worker.dot(name, out) for name in ("x", "y"))
    worker.lane(Assign(first, Const(2.0)))
    worker.flush(out)
    worker.lane(Assign(second, Op("*", (Name(first), Const(3.0)))))
    worker.flush(out)
    out.out = list(worker.with_buffers(tuple(out.out), out))
    assert lines(out) == [
        "    x_dot_lanes = np.empty(4)",
        "    for lane in range(4):",
        "        x_dot = 2.0",
        "        x_dot_lanes[lane] = x_dot",
        "    for lane_1 in range(4):",
        "        x_dot = x_dot_lanes[lane_1]",
        "        y_dot = x_dot * 3.0",
    ]


PROGRAMS = {
    "a row of statements": ("y = sin(x); z = y * x; w = z / y", 1),
    "a branch between": ("y = x * 2.0; c = y > 1.0\n    if c:\n        y = y * x\n    w = y * y", 4),
    "a branch without": ("y = x * x; j = 0; c = n > 1\n    if c:\n        j = 2\n    w = y * j", 1),
    "a loop": ("y = x\n    for i in range(n):\n        y = y * x\n    w = y", 2),
    "a way out": (
        "y = x\n    while True:\n        c = y > 3.0\n        if c:\n            break\n        y = y + x\n    w = y",
        2,
    ),
    "a number set again": ("y = 2.0; z = x * y; y = 5.0; w = z * y", 1),
    "a list": ("w_stack = stack(); w_stack.append(x); y = x * x; w_stack.append(y); w = w_stack.pop()", 4),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_lanes_are_what_one_direction_gives(name: str):
    body, loops = PROGRAMS[name]
    core = program(f"def f(x, n):\n    {body}\n    return w")
    for x in (0.4, 1.7):
        for n in (0, 1, 3):
            compare(core, ("x",), (x, n))
    assert text_of(core, ("x",)).count("for lane") == loops
