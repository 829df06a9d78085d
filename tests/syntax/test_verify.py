"""Each breach of core form is found, and named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapec.syntax.core import (
    Assign,
    Block,
    Break,
    Const,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Push,
    Raise,
    Return,
    Store,
)
from tapec.syntax.types import BOOL, FLOAT64, INT64, Array, Stack
from tapec.syntax.verify import faults

TYPES = {"x": FLOAT64, "y": FLOAT64, "c": BOOL, "i": INT64, "n": INT64, "a": Array("float64", 2), "s": Stack(FLOAT64)}
ONE = Const(1.0)


def function(*body) -> Function:
    return Function("f", ("x", "c", "n", "a"), (*body, Return((Name("x"),))), TYPES)


def loop(*body) -> For:
    return For("i", Const(0), Name("n"), Const(1), body)


TWICE = Assign("y", ONE)
BROKEN: dict[str, tuple[Block, str]] = {
    "a statement twice": ((TWICE, TWICE), "`y =` stands twice"),
    "read before": ((Assign("y", Name("i")),), "i is read by `y =`, and not set before"),
    "set on another way": ((If(Name("c"), (TWICE,), (Store("a", (Const(0), Const(0)), Name("y")),)),), "y is read"),
    "no type": ((Assign("z", ONE),), "z has no type"),
    "behind a break": ((Loop((Break(), TWICE)),), "`y =` follows a statement that leaves"),
    "behind an error": ((Raise("ValueError"), TWICE), "`y =` follows a statement that leaves"),
    "break without a loop": ((Break(),), "break outside a loop"),
    "return in a loop": ((loop(Return((Name("x"),))),), "return before the end"),
    "no list": ((Push("x", ONE),), "x is no list"),
    "subscripts": ((Store("a", (Const(0),), ONE),), "a has 2 axes, and 1 subscripts"),
    "a counter that is assigned": ((loop(Assign("i", Const(3))),), "i counts, and is assigned"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_breach_is_named(name: str):
    body, words = BROKEN[name]
    assert any(words in fault for fault in faults(function(*body)))


def test_a_counter_that_is_no_integer_is_named():
    counted = replace(function(loop()), types={**TYPES, "i": FLOAT64})
    assert faults(counted) == ["i counts, and is float64"]


def test_what_is_set_in_earlier_iterations_or_on_one_way_may_be_read():
    sets = If(Name("c"), (Assign("y", ONE),))
    assert faults(function(loop(If(Name("c"), (Store("a", (Name("i"), Name("i")), Name("y")),)), sets))) == []
    assert faults(function(sets, Assign("x", Name("y")))) == []


def test_names_from_outside_may_be_read():
    assert faults(function(Assign("y", Name("k"))), frozenset({"k"})) == []


def test_single_definitions():
    copies = If(Name("c"), (Assign("y", ONE),), (Assign("y", Name("x")),))
    assert faults(function(copies), single=True) == []
    sums = If(Name("c"), (Assign("y", ONE),), (Assign("y", Op("+", (Name("x"), ONE))),))
    assert faults(function(sums), single=True) == ["y is assigned at 2 places, not as a copy"]
    assert faults(function(Assign("x", ONE)), single=True) == ["parameter x is assigned"]
    assert faults(function(sums, Assign("x", ONE))) == []
