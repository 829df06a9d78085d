"""How values follow a number that is shifted: what is claimed of an operation is compared with what it computes."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tapec.backend import printer
from tapec.optimise.loops.shift_propagation import NOT_AT_ALL, ZERO, Depends, Shift, agreed, of_numbers
from tapec.syntax.core import Const, Name, Op

BY = [Shift(Fraction(by), proportional) for by in (2, -1) for proportional in (False, True)]
WAYS = [NOT_AT_ALL, ZERO, *BY]
UNARY = [
    "neg",
    "pos",
    "np.exp",
    "math.exp",
    "np.log",
    "math.log",
    "np.sqrt",
    "np.abs",
    "math.fabs",
    "np.square",
    "np.sin",
]
BINARY = ["+", "-", "*", "/", "**", "np.power", "np.maximum", "min", "np.arctan2", "np.hypot"]


def shifted(value: float, way: Shift, by: float) -> float:
    """A value after the number that it follows was shifted."""
    if way.zero:
        return 0.0
    return value * math.exp(way.by * by) if way.proportional else value + way.by * by


def computed(op: Op, values: dict[str, float]) -> float:
    with np.errstate(all="ignore"):
        return float(eval(printer.expression(op), {"np": np, "math": math, **values}))


def claim(op: Op, ways: list[Shift]) -> Shift | None:
    try:
        return of_numbers(op, ways)
    except Depends:
        return None


def holds(op: Op, ways: list[Shift], claimed: Shift) -> bool:
    """Whether an operation's results follow as is claimed, of some values and shifts of its operands."""
    for numbers in product((0.7, 1.9), repeat=len(ways)):
        at = [{"xy"[k]: shifted(numbers[k], ways[k], by) for k in range(len(ways))} for by in (0.0, 0.3, -0.8)]
        try:
            first, *others = (computed(op, values) for values in at)
        except (ValueError, ZeroDivisionError):
            continue
        for other, by in zip(others, (0.3, -0.8), strict=True):
            if not math.isnan(other) and not math.isclose(other, shifted(first, claimed, by), abs_tol=1e-9):
                return False
    return True


@pytest.mark.parametrize("fn", UNARY)
def test_what_is_claimed_of_a_function_of_one_number_holds(fn: str):
    op = Op(fn, (Name("x"),))
    for way in WAYS:
        claimed = claim(op, [way])
        assert claimed is None or holds(op, [way], claimed), (way, claimed)


@pytest.mark.parametrize("fn", BINARY)
def test_what_is_claimed_of_a_function_of_two_numbers_holds(fn: str):
    for first, second in product(WAYS, WAYS):
        op = Op(fn, (Name("x"), Name("y")))
        claimed = claim(op, [first, second])
        assert claimed is None or holds(op, [first, second], claimed), (first, second, claimed)
    for way, number in product(WAYS, (2.0, -0.5, 3, 0.0)):
        for ways, args in (
            ([way, NOT_AT_ALL], (Name("x"), Const(number))),
            ([NOT_AT_ALL, way], (Const(number), Name("y"))),
        ):
            claimed = claim(Op(fn, args), ways)
            assert claimed is None or holds(Op(fn, args), ways, claimed), (args, way, claimed)


@pytest.mark.parametrize(
    ("value", "ways", "result"),
    [
        (Op("-", (Name("x"), Name("y"))), [BY[0], BY[0]], NOT_AT_ALL),  # a difference of logarithms
        (Op("np.exp", (Name("x"),)), [BY[0]], BY[1]),
        (Op("/", (Name("x"), Name("y"))), [BY[1], BY[1]], NOT_AT_ALL),  # a share
        (Op("np.log", (Name("x"),)), [BY[1]], BY[0]),
        (Op("+", (Name("x"), Name("y"))), [BY[1], ZERO], BY[1]),
        (Op("*", (Name("x"), Const(-0.5))), [BY[0], NOT_AT_ALL], BY[2]),
        (Op("**", (Name("x"), Const(-0.5))), [BY[1], NOT_AT_ALL], BY[3]),
        (Op("np.maximum", (Name("x"), Name("y"))), [BY[2], BY[2]], BY[2]),
        # what the analysis does not know
        (Op("+", (Name("x"), Name("y"))), [BY[1], BY[3]], None),
        (Op("+", (Name("x"), Name("y"))), [BY[1], NOT_AT_ALL], None),
        (Op("*", (Name("x"), Name("y"))), [BY[0], NOT_AT_ALL], None),
        (Op("*", (Name("x"), Const(math.inf))), [BY[0], NOT_AT_ALL], None),
        (Op("/", (Name("x"), Const(0.0))), [BY[0], NOT_AT_ALL], None),
        (Op("/", (Const(1.0), Name("y"))), [NOT_AT_ALL, BY[0]], None),
        (Op("**", (Name("x"), Name("y"))), [BY[1], NOT_AT_ALL], None),
        (Op("np.exp", (Name("x"),)), [BY[1]], None),
        (Op("np.sin", (Name("x"),)), [BY[0]], None),
    ],
)
def test_ways(value: Op, ways: list[Shift], result: Shift | None):
    assert of_numbers(value, ways) == result


def test_a_value_that_is_one_or_the_other_follows_as_both_do():
    assert agreed(BY[0], BY[0]) == BY[0]
    assert agreed(None, BY[0]) == agreed(BY[0], None) == BY[0]
    # zero is in proportion to anything, but does not grow
    assert agreed(ZERO, BY[1]) == agreed(BY[1], ZERO) == BY[1]
    assert agreed(ZERO, NOT_AT_ALL) == NOT_AT_ALL
    for first, second in ((ZERO, BY[0]), (BY[0], BY[1]), (BY[0], BY[2]), (NOT_AT_ALL, BY[0]), (NOT_AT_ALL, BY[1])):
        with pytest.raises(Depends):
            agreed(first, second)
