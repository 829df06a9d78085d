"""Elements of several numbers and arrays get the numbers that they have when all are laid one after the other."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from tapec.backend import printer
from tapec.syntax.core import Atom, Const, Function, Name, Op, Return, Store
from tapec.syntax.types import FLOAT64, Array
from tapec.transforms.emitter import Emitter
from tapec.transforms.numbered_elements import count_of, each_element
from tests.optimise.comparison import run

TYPES = {"out": Array("float64", 1), "x": FLOAT64, "a": Array("float64", 1), "b": Array("float64", 2)}


def numbered(values: list[Atom], first: int) -> Function:
    """A function that stores each element at its number, and returns how many there are."""
    types = dict(TYPES)
    out = Emitter(types, set(types))
    total = count_of(out, values)

    def visit(inner: Emitter, value: Atom, index: tuple[Atom, ...], place: Atom) -> None:
        item = inner.let("t", Op("load", (value, *index)), FLOAT64) if index else value
        inner.add(Store("out", (place,), item))

    each_element(out, values, visit, Const(first))
    return Function("f", tuple(TYPES), (*out.out, Return((total,))), types)


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("shape", [(0,), (1, 0), (4, 2)], ids=str)
@pytest.mark.parametrize("order", ["x", "a", "bxa", "xbb", "axxb", ""])
def test_numbers_are_those_of_one_row(order: str, shape: tuple[int, ...], first: int):
    numbers = count(1)
    a, b = (np.reshape([next(numbers) for _ in range(np.prod(s))], s) for s in (shape[:1], (2, shape[-1])))
    parts = {"x": [7.5], "a": a.ravel(), "b": b.ravel()}
    wanted = np.concatenate([np.zeros(0), *(parts[name] for name in order)])
    out = np.zeros(first + len(wanted))
    total, filled, *_ = run(numbered([Name(name) for name in order], first), (out, 7.5, a, b))
    assert total == len(wanted)
    np.testing.assert_array_equal(filled[first:], wanted)


def test_numbers_of_numbers_are_known():
    text = printer.function(numbered([Name("x"), Const(2.0)], 0), False)
    assert text.splitlines()[1:] == ["    out[0] = x", "    out[1] = 2.0", "    return 2"]
