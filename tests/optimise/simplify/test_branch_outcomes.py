"""What the outcome of a test tells of variables, and what it does not."""

from __future__ import annotations

import pytest

from tapec.optimise.simplify.branch_outcomes import Outcomes
from tapec.optimise.simplify.value_numbering import number_values
from tapec.syntax.core import Break, Const, Name, Op, Raise
from tapec.syntax.types import BOOL, FLOAT64, INT64
from tests.optimise.reading import check

TYPES = {"t": BOOL, "u": BOOL, "i": INT64, "x": FLOAT64, "a": FLOAT64, "b": FLOAT64}
ENV = {"y": Name("y_1"), "z": Name("x"), "k": Name("i")}


def outcomes(**made) -> Outcomes:
    found = Outcomes(made, TYPES)
    found.note(Name("t"), "y_1", (Name("a"), Name("b")))
    for variable, atom in (*ENV.items(), ("c", Name("t"))):
        found.held(variable, atom)
    return found


def test_on_either_side_of_the_same_test_the_merged_name_is_the_value_of_that_side():
    assert outcomes().chosen(Name("t"), ENV, True) == {**ENV, "y": Name("a")}
    assert outcomes().chosen(Name("t"), ENV, False) == {**ENV, "y": Name("b")}


def test_the_sides_of_the_opposite_test_change_places():
    opposite = outcomes(u=Op("not", (Name("t"),)))
    assert opposite.chosen(Name("u"), ENV, True) == {**ENV, "y": Name("b")}


def test_a_variable_that_held_a_value_and_holds_another_one_stays():
    assert outcomes().chosen(Name("t"), {**ENV, "y": Name("x")}, True) == {**ENV, "y": Name("x")}


def test_what_is_known_on_a_side_is_known_of_again_there():
    found = outcomes()
    found.note(Name("u"), "a", (Name("x"), Name("b")))
    assert found.chosen(Name("u"), found.chosen(Name("t"), ENV, True), True)["y"] == Name("x")


def test_another_test_tells_nothing():
    assert outcomes().chosen(Name("u"), ENV, True) == ENV
    twice = outcomes(u=Op("not", (Op("not", (Name("t"),)),)))
    assert twice.chosen(Name("u"), ENV, True) == ENV


def test_a_name_that_is_gone_is_told_no_more():
    found = outcomes()
    found.forget("y_1")
    found.forget("other")
    assert found.chosen(Name("t"), ENV, True) == ENV


RAISES = [Raise("ValueError")]


@pytest.mark.parametrize(
    ("test", "outcome", "integer"),
    [
        (Op("==", (Name("i"), Const(3))), True, True),
        (Op("==", (Const(3), Name("i"))), True, True),
        (Op("!=", (Name("i"), Const(3))), False, True),
        (Op("not", (Name("u"),)), False, True),
        (Op("==", (Name("i"), Const(3))), False, False),
        (Op("!=", (Name("i"), Const(3))), True, False),
        (Op("==", (Name("i"), Const(3.0))), True, False),
        (Op("==", (Name("i"), Const(True))), True, False),
        (Op("<", (Name("i"), Const(3))), True, False),
    ],
    ids=str,
)
def test_behind_a_check_an_integer_is_what_it_was_compared_with(test, outcome, integer):
    found = outcomes(t=test, u=Op("==", (Name("i"), Const(3)))).decided(ENV, Name("t"), outcome, RAISES)
    assert found["k"] == (Const(3) if integer else Name("i"))


def test_a_zero_of_floats_has_two_signs():
    found = outcomes(t=Op("==", (Name("x"), Const(0)))).decided(ENV, Name("t"), True, RAISES)
    assert found == ENV


def test_a_side_that_leaves_a_loop_decides_nothing_behind_it():
    found = outcomes(t=Op("==", (Name("i"), Const(3))))
    assert found.decided({**ENV, "c": Name("t")}, Name("t"), True, [Break()]) == {**ENV, "c": Name("t")}
    assert found.decided({**ENV, "c": Name("t")}, Name("t"), True, RAISES)["c"] == Const(True)


def test_value_numbering_takes_the_value_of_the_side():
    check(
        number_values,
        before="""
        def f(c, x):
            if c:
                y = x + 1.0
            else:
                y = x + 2.0
            if c:
                z = y * x
            else:
                z = 0.0
            w = y * z
            return w
        """,
        after="""
        def f(c, x):
            if c:
                y = x + 1.0
                y_3 = y
            else:
                y_2 = x + 2.0
                y_3 = y_2
            if c:
                z = y * x
                z_2 = z
            else:
                z_2 = 0.0
            w = y_3 * z_2
            return w
        """,
        again=False,
    )
