"""What stands at a place of a column is the input that was packed there."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.backend import printer
from tapec.syntax.core import Const, Function, Name, Return
from tapec.syntax.types import FLOAT64, INT64, Array
from tapec.transforms.emitter import Emitter
from tapec.transforms.packed_columns import Column, Rerolled, item_of
from tests.optimise.comparison import run

NUMBERS = Column(("x", "y", "z"), FLOAT64, "items")
VECTORS = Column(("a", "b", "c"), Array("float64", 1), "items", "starts")
MATRICES = Column(("p", "q"), Array("float64", 2), "items", "starts", ("rows", "columns"))


def packed(column: Column, parts: list[np.ndarray]) -> list[np.ndarray]:
    """Arguments for the parameters of a column."""
    items = np.concatenate([np.ravel(part) for part in parts])
    starts = np.cumsum([0, *(np.size(part) for part in parts)])
    return [items, *([starts] if column.starts else []), *(np.array(list(axis)) for axis in _shapes(column, parts))]


def _shapes(column: Column, parts: list[np.ndarray]) -> list[tuple[int, ...]]:
    return list(zip(*(part.shape for part in parts), strict=True)) if column.extents else []


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("column", "parts"),
    [
        (NUMBERS, [np.float64(2.0), np.float64(-1.0), np.float64(4.0)]),
        (VECTORS, [np.arange(3.0), np.zeros(0), np.array([5.0])]),
        (MATRICES, [np.arange(6.0).reshape(2, 3), np.ones((4, 1))]),
    ],
    ids=["numbers", "vectors", "matrices"],
)
def test_an_item_is_what_was_packed(column: Column, parts: list[np.ndarray], known: bool):
    for place, wanted in enumerate(parts):
        types = {"items": Array("float64", 1), "i": INT64}
        types |= dict.fromkeys(column.params[1:], Array("int64", 1))
        out = Emitter(types, set(types))
        made = out.let("made", item_of(out, column, "items", Const(place) if known else Name("i")), column.type)
        core = Function("f", ("i", *column.params), (*out.out, Return((made,))), types)
        found, *_ = run(core, (place, *packed(column, parts)))
        assert np.shape(found) == np.shape(wanted)
        np.testing.assert_array_equal(found, wanted)


def test_an_item_is_a_view():
    """Adjoints of what is packed are added to through it."""
    items = np.arange(4.0)
    types = {"items": Array("float64", 1), "starts": Array("int64", 1)}
    out = Emitter(types, set(types))
    made = out.let("made", item_of(out, VECTORS, "items", Const(1)), VECTORS.type)
    scope: dict[str, object] = {}
    exec(printer.function(Function("f", ("items", "starts"), (*out.out, Return((made,))), types)), scope)
    scope["f"](items, np.array([0, 1, 4]))[0] = 9.0  # type: ignore[operator]
    assert items[1] == 9.0


def test_places():
    core = Function("f", ("u", *NUMBERS.params, *VECTORS.params, "n"), (Return(()),), {})
    made = Rerolled(core, ("u",), (NUMBERS, VECTORS), (), (("n", 3),))
    assert made.packed == ("items", "items", "starts", "n")
    assert made.place("y") == (NUMBERS, 1)
    assert made.place("c") == (VECTORS, 2)
    assert made.place("u") is None
