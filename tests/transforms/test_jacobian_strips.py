"""Strips of unit vectors: each direction has one lane, and what it gives has one place."""

from __future__ import annotations

from itertools import product as places

import numpy as np
import pytest

from tapec.syntax.core import Atom, Const, Function, Name, Op, Return, Store
from tapec.syntax.types import FLOAT64, Array, Scalar
from tapec.transforms.emitter import Emitter
from tapec.transforms.jacobian_blocks import APART, TOGETHER, allocated
from tapec.transforms.jacobian_strips import Strips, combined, product, unravelled
from tests.optimise.comparison import run

TYPES = {
    "x": FLOAT64,
    "y": Scalar("float32"),
    "a": Array("float64", 1),
    "b": Array("float64", 2),
    "f": Array("float64", 2, "F"),
}
ARRAYS = ("a", "b", "f")


def emitter() -> Emitter:
    types = dict(TYPES)
    return Emitter(types, set(types))


def called(out: Emitter, *results: Atom) -> Function:
    return Function("f", ARRAYS, (*out.out, Return(results)), out.types)


def arrays(size: int, shape: tuple[int, int]) -> tuple[np.ndarray, ...]:
    return np.ones(size), np.ones(shape), np.ones(shape, order="F")


def logged(items: list[str], examples: str | None, sizes: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """The tangents of all items in each strip, one strip after the other."""
    out = emitter()
    strips = Strips(out, [Name(one) for one in items], examples)
    log = [Name(out.fresh("log", Array("float64", 4))) for _ in items]
    at = out.fresh("at", Scalar("int64"))
    out.assign(at, Const(0))
    for item, name in zip(items, log, strict=True):
        shape = [*out.extents(Name(item))][:: -1 if item == "f" else 1]
        made = Op("zeros", (Const("float64"), Const(30), *shape, Const(strips.width)))
        out.assign(name.id, made)
        out.types[name.id] = Array("float64", len(shape) + 2)

    def body(inner: Emitter, seeds: list[Name], first: Atom) -> None:
        for seed, name in zip(seeds, log, strict=True):

            def keep(deep: Emitter, index: tuple[Atom, ...], seed=seed, name=name) -> None:
                deep.add(Store(name.id, (Name(at), *index), deep.let("t", Op("load", (seed, *index)), FLOAT64)))

            inner.nest(inner.extents(seed), keep)
        inner.assign(at, Op("+", (Name(at), Const(1))))

    strips.each(out, body)
    *found, count = run(called(out, *log, Name(at)), sizes)[: len(items) + 1]
    return tuple(np.concatenate([one[k] for k in range(count)] or [one[0]], axis=-1) for one in found)


@pytest.mark.parametrize("items", [["a"], ["b"], ["f"], ["x", "a"], ["b", "y", "f", "a"]], ids="".join)
@pytest.mark.parametrize(("size", "shape"), [(0, (0, 3)), (1, (1, 1)), (8, (2, 3)), (11, (3, 4))])
def test_each_direction_has_a_lane(items, size, shape):
    sizes = arrays(size, shape)
    found = logged(items, None, sizes)
    spaces = [np.shape(sizes[ARRAYS.index(one)]) if one in ARRAYS else () for one in items]
    number = 0
    for one, space, item in zip(found, spaces, items, strict=True):
        wanted = np.zeros(one.shape)
        for index in places(*map(range, space)):
            wanted[(*(index[::-1] if item == "f" else index), number)] = 1.0
            number += 1
        np.testing.assert_array_equal(one, wanted)


def test_examples_that_are_served_together_have_the_same_directions():
    (found,) = logged(["b"], TOGETHER, arrays(0, (3, 10)))
    wanted = np.zeros(found.shape)
    for j in range(10):
        wanted[:, j, j] = 1.0
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("count", "single", "width"), [(1, True, 1), (4, True, 4), (5, True, 8), (9, False, 8)])
def test_few_directions_of_known_extents_have_one_strip(count, single, width):
    out = emitter()
    made = out.let("made", Op("zeros", (Const("float64"), Const(count))), Array("float64", 1))
    strips = Strips(out, [made], None)
    assert (strips.single, strips.width) == (single, width)
    assert not Strips(out, [made], APART).single
    assert not Strips(out, [Name("a")], None).single


def of_square(items: list[str], examples: str | None, rows: bool, sizes: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    """Blocks that are filled with the strips' own unit vectors: of the identity, in rows or columns."""
    out = emitter()
    strips = Strips(out, [Name(one) for one in items], examples)
    blocks = [allocated(out, "block", Name(one), Name(one), "float64", examples is not None) for one in items]

    def body(inner: Emitter, seeds: list[Name], first: Atom) -> None:
        for k, (seed, block, item) in enumerate(zip(seeds, blocks, items, strict=True)):
            strips.fill(inner, k, first, block, seed, inner.extents(Name(item)), rows)

    strips.each(out, body)
    return list(run(called(out, *blocks), sizes)[: len(items)])


@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("examples", [None, APART, TOGETHER])
@pytest.mark.parametrize(("size", "shape"), [(0, (0, 3)), (1, (1, 1)), (9, (2, 3)), (3, (3, 4))])
def test_blocks_of_the_identity(rows, examples, size, shape):
    items = ["b"] if examples else ["a", "b"]
    for item, found in zip(items, of_square(items, examples, rows, arrays(size, shape)), strict=True):
        space = (size,) if item == "a" else shape
        wanted = np.zeros((*space, *space))
        for index in places(*map(range, space)):
            wanted[(*index, *index)] = 1.0
        np.testing.assert_array_equal(found, np.einsum("ijik->ijk", wanted) if examples else wanted)


@pytest.mark.parametrize("extent", [1, 3, 6])
def test_a_single_strip_as_a_block(extent: int):
    """Lanes first, of which those that serve no direction are left out."""
    out = emitter()
    made = out.let("made", Op("zeros", (Const("float64"), Const(extent))), Array("float64", 1))
    strips = Strips(out, [made], None)
    found = strips.whole(out, Name("b"))
    block = np.arange(2.0 * strips.width).reshape(strips.width, 2)
    whole, *_ = run(called(out, found), (np.ones(1), block, block))
    np.testing.assert_array_equal(whole, block[:extent])


def test_sizes_are_computed_once_if_they_are_known():
    out = emitter()
    assert combined(out, "max", Const(2), Const(5)) == Const(5)
    assert product(out, [Const(2), Const(3), Const(1)]) == Const(6)
    assert combined(out, "+", Const(0), Name("k")) == combined(out, "*", Name("k"), Const(1)) == Name("k")
    assert unravelled(out, Const(7), [Const(2), Const(4)]) == (Const(1), Const(3))
    assert unravelled(out, Const(0), []) == ()
    assert not out.out
    combined(out, "-", Const(0), Name("k"))
    assert len(out.out) == 1


@pytest.mark.parametrize("shape", [(1, 1), (2, 3, 4), (5,)])
def test_unravelled_as_numpy_does(shape):
    out = emitter()
    index = unravelled(out, Name("place"), [Const(extent) for extent in shape])
    core = Function("f", ("place",), (*out.out, Return(index)), {**out.types, "place": Scalar("int64")})
    for place in range(int(np.prod(shape))):
        assert run(core, (place,))[: len(shape)] == np.unravel_index(place, shape)
