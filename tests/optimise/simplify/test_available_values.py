"""Values that are there already: what changes in between must not be found again."""

from __future__ import annotations

import pytest

from tapec.optimise.simplify.available_values import Available
from tapec.syntax.core import Const, Expr, Name, Op
from tapec.syntax.types import BOOL, FLOAT64, INT64, Array, Stack

TYPES = {
    "x": FLOAT64, "y": FLOAT64, "c": BOOL, "i": INT64, "j": INT64,
    "a": Array("float64", 1), "b": Array("float64", 1), "v": Array("float64", 1), "s": Stack(FLOAT64),
}  # fmt: skip
# `v` may share memory with `a`
CLASSES = {"a": "a", "v": "a", "b": "b"}


def op(fn: str, *args: object) -> Op:
    return Op(fn, tuple(Name(arg) if isinstance(arg, str) else Const(arg) for arg in args))


@pytest.fixture
def known() -> Available:
    return Available(TYPES, CLASSES)


def found(known: Available, value: Expr) -> object:
    return known.find(known.key(value))


LOAD = op("load", "a", "i")


@pytest.mark.parametrize("value", [op("+", "x", "y"), op("math.exp", "x"), op("dim", "a", 0), LOAD], ids=str)
def test_the_same_operation_is_found_again(known, value):
    assert found(known, value) is None
    known.add(value, Name("t"))
    assert found(known, value) == Name("t")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (op("-", "x", "y"), op("-", "y", "x")),
        (op("*", "x", 1), op("*", "x", 1.0)),
        (op("+", "x", 0.0), op("+", "x", -0.0)),
        (op("*", "c", True), op("*", "c", 1)),
        (LOAD, op("load", "a", "j")),
        (LOAD, op("load", "v", "i")),
    ],
    ids=str,
)
def test_another_operation_is_not(known, first, second):
    known.add(first, Name("t"))
    assert found(known, second) is None


@pytest.mark.parametrize(
    "value",
    [
        op("np.random.normal", "x", "y"),
        op("tapec_runtime.draw", "x"),
        op("pop", "s"),
        op("np.sum", "a"),
        op("copy", "a"),
        op("view", "a", "i"),
        op("empty", "float64", "i"),
        op("load", "s", "i"),
        Op("+", (Name("x"), op("*", "x", "y"))),
        Name("x"),
        op("+", 1, 2),
    ],
    ids=str,
)
def test_what_may_give_another_value_is_never_found(known, value):
    known.add(value, Name("t"))
    assert known.key(value) is None and found(known, value) is None


def test_a_store_into_memory_that_an_array_may_share_hides_its_elements(known):
    for name in ("a", "b"):
        known.add(op("load", name, "i"), Name(f"t_{name}"))
    known.add(op("dim", "a", 0), Name("n"))
    known.changed([CLASSES["v"]])
    assert [found(known, op("load", name, "i")) for name in ("a", "b")] == [None, Name("t_b")]
    assert found(known, op("dim", "a", 0)) == Name("n")
    known.add(LOAD, Name("t_2"))
    assert found(known, LOAD) == Name("t_2")


def test_what_a_branch_computes_is_forgotten_after_it_and_its_stores_are_not(known):
    known.add(LOAD, Name("t"))
    with known.scope():
        known.add(op("+", "x", "y"), Name("z"))
        known.changed(["a"])
        known.add(LOAD, Name("t_1"))
        assert found(known, LOAD) == Name("t_1")
    assert found(known, op("+", "x", "y")) is None and found(known, LOAD) is None


def test_a_test_tells_the_outcome_of_the_same_one_and_of_no_other(known):
    known.assume(op("<", "x", "y"), True)
    known.assume(op("==", "i", "j"), False)
    assert found(known, op("<", "x", "y")) == found(known, op(">", "y", "x")) == Const(True)
    assert found(known, op("!=", "j", "i")) == Const(True) and found(known, op("==", "j", "i")) == Const(False)
    # of numbers that are not comparable neither is true
    assert found(known, op(">=", "x", "y")) is None and found(known, op("<=", "x", "y")) is None
    known.assume(op("not", "c"), True)
    known.assume(Name("c"), True)
    known.assume(None, True)
    assert found(known, op("not", "c")) is None
