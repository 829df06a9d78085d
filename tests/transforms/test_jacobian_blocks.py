"""Blocks of derivatives: each run's numbers in their row or column, whatever the shapes are."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tapec.backend import printer
from tapec.syntax.core import Const, Function, Name, Op, Push, Return
from tapec.syntax.types import FLOAT64, INT64, Array, Scalar, Stack
from tapec.transforms.emitter import Emitter
from tapec.transforms.jacobian_blocks import (
    APART,
    TOGETHER,
    Row,
    allocated,
    directions,
    fill,
    fill_rows,
    halves,
    prepared,
)
from tapec.transforms.reverse import reverse
from tapec.transforms.ssa import to_ssa
from tests.optimise.comparison import run
from tests.optimise.reading import read

TYPES = {"x": FLOAT64, "a": Array("float64", 1), "b": Array("float64", 2), "w": Scalar("float32"), "k": INT64}
SHAPES = [(0, 2), (1, 1), (2, 3)]


def emitter() -> Emitter:
    types = dict(TYPES)
    return Emitter(types, set(types))


def made(out: Emitter, params: tuple[str, ...], *results: Name | Const) -> Function:
    return Function("f", params, (*out.out, Return(results)), out.types)


@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (2, 3)], ids=str)
def test_loops_go_over_all_places_in_order(shape):
    out = emitter()
    seen = out.let("seen", Op("stack", (Const("int64"),)), Stack(INT64))
    def visit(inner: Emitter, index):
        for one in index:
            inner.add(Push(seen.id, one))

    out.nest([Const(extent) for extent in shape], visit)
    found = run(made(out, (), seen), ())[: sum(map(len, product(*map(range, shape)))) or None]
    assert list(found) == [k for place in product(*map(range, shape)) for k in place]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("examples", [None, TOGETHER])
def test_directions_are_the_unit_vectors(shape, examples):
    """Of examples that are served together, the same one for each."""
    out = emitter()
    units = out.let("units", Op("stack", (Const("float64"), Const(2), Const("C"))), Stack(Array("float64", 2)))
    def body(inner: Emitter, unit, index):
        inner.add(Push(units.id, inner.let("u", Op("copy", (unit,)), Array("float64", 2))))

    directions(out, "unit", Name("b"), read("def f(x):\n    return x"), body, examples)
    found = run(made(out, ("b",), units), (np.ones(shape),))[:-1]
    rows, columns = shape
    wanted = []
    for j in range(columns) if examples else range(rows * columns):
        unit = np.zeros(shape)
        unit[(slice(None), j) if examples else divmod(j, columns)] = 1.0
        wanted.append(unit)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_number_has_one_direction():
    out = emitter()
    found = []
    directions(out, "unit", Name("w"), read("def f(x):\n    return x"), lambda _, *unit: found.append(unit))
    ((unit, index),) = found
    assert index == () and out.types[unit.id] == TYPES["w"] and run(made(out, (), unit), ())[0] == 1.0


@pytest.mark.parametrize(
    ("value", "source", "batch", "shape"),
    [("x", "x", False, ()), ("a", "x", False, (4,)), ("a", "b", False, (4, 4, 3)), ("a", "b", True, (4, 3))],
)
def test_blocks_have_the_shapes_of_both(value, source, batch, shape):
    out = emitter()
    block = allocated(out, "block", Name(value), Name(source), "float64", batch)
    if not shape:
        assert not out.out and out.types[block.id] == FLOAT64
        return
    found, *_ = run(made(out, ("a", "b"), block), (np.zeros(4), np.zeros((4, 3))))
    assert found.shape == shape and out.types[block.id] == Array("float64", len(shape), "C")


def test_numbers_have_no_extents():
    out = emitter()
    assert out.extents(Const(1.0)) == out.extents(Name("x")) == []
    assert len(out.extents(Name("b"))) == 2


def test_a_block_of_two_numbers():
    out = emitter()
    out.types["block"], out.types["alone"] = Array("float64", 1), Scalar("float32")
    fill(out, Name("block"), Name("x"), lambda rest: rest)
    fill(out, Name("alone"), Name("x"), lambda rest: rest)
    text = printer.function(made(out, ("x", "block")), False)
    assert "block[0] = x" in text and "alone = t" in text


PROGRAM = """
def f(A, x):
    n_1 = A.shape[0]
    n_2 = A.shape[1]
    A_y = np.zeros((n_1, n_2))
    for i in range(n_1):
        for j in range(n_2):
            s = A[i, j]
            y = sin(s)
            z = y * s
            A_y[i, j] = z
    return A_y
"""


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("examples", [None, APART, TOGETHER])
@pytest.mark.parametrize("split", [False, True])
def test_rows_are_those_of_the_jacobian(shape, examples, split):
    """Of a function of each element, so that examples do not depend on one another."""
    core = to_ssa(read(PROGRAM))
    swept = reverse(core, ("A",))
    row = halves(swept, frozenset()) if split else Row.of(swept)
    assert row is not None
    types = dict(core.types)
    out = Emitter(types, set(types))
    block = allocated(out, "block", Name("A"), Name("A"), "float64", examples is not None)
    fill_rows(out, Name("A"), row, [block], frozenset(), examples)
    a = np.linspace(0.1, 0.9, np.prod(shape)).reshape(shape)
    found, *_ = run(replace(made(out, ("A", "x"), block)), (a, 2.0))
    slopes = np.sin(a) + a * np.cos(a)
    wanted = np.zeros((*shape, *shape))
    for i, j in product(*map(range, shape)):
        wanted[i, j, i, j] = slopes[i, j]
    if examples:
        wanted = np.einsum("ijik->ijk", wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_what_runs_once_stands_before():
    core = read("def f(x):\n    y = sin(x)\n    z = y * y\n    return z")
    row = halves(reverse(core, ("x",)), frozenset())
    assert row is not None and row.before is not None
    out = Emitter(dict(row.run.types), set(row.run.types))
    begun = prepared(out, row, frozenset())
    text = printer.function(made(out, ("x",)), False)
    assert "np.sin" in text and set(begun.first) == {*row.kept, *row.state}
    count = len(out.out)
    begun.run(out, row.run, dict(zip(row.seeds, begun.values, strict=True)))
    assert "np.sin" not in printer.function(Function("g", (), (*out.out[count:], Return(())), out.types), False)


def test_lists_are_no_state_of_a_row():
    core = to_ssa(read("""
        def f(x, n):
            y = x
            while True:
                c = y > 3.0
                if c:
                    break
                else:
                    y_1 = y * y
                    y = y_1
            return y
        """))
    assert halves(reverse(core, ("x",)), frozenset()) is None
