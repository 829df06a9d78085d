"""New statements: names that nobody else has, formulas one operation at a time, loops over elements."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.backend import printer
from tapec.errors import TapecError
from tapec.syntax.core import Block, Const, Function, Name, Op, Return
from tapec.syntax.types import BOOL, FLOAT64, INT64, Array, Scalar, Stack
from tapec.transforms.emitter import Emitter, renumbered
from tests.optimise.comparison import run
from tests.optimise.reading import check, read

FLOAT32 = Scalar("float32")
TYPES = {
    "x": FLOAT64,
    "n": INT64,
    "c": BOOL,
    "w": FLOAT32,
    "a": Array("float64", 1),
    "b": Array("float64", 2, "F"),
    "s": Stack(FLOAT64),
}


@pytest.fixture
def out() -> Emitter:
    types = dict(TYPES)
    return Emitter(types, set(types))


def text(out: Emitter, *results: Name) -> list[str]:
    body: Block = (*out.out, Return(results))
    return [line.strip() for line in printer.function(Function("f", (), body, out.types), False).splitlines()[1:-1]]


def test_names_are_new_in_blocks_inside_as_well(out: Emitter):
    assert [out.fresh("x", FLOAT64), out.child().fresh("x", FLOAT64), out.fresh("x", INT64)] == ["x_1", "x_2", "x_3"]
    # nor are they words of Python, or modules that generated code uses
    assert {"np", "lambda", "range"}.isdisjoint(out.fresh(base, INT64) for base in ("np", "lambda", "range"))
    assert out.types["x_3"] == INT64


def test_formulas_are_flat(out: Emitter):
    value = out.atom(Op("*", (Op("+", (Name("x"), Const(1))), Op("load", (Name("a"), Name("n"))))))
    assert text(out) == ["t = x + 1", "t_1 = a[n]", "t_2 = t * t_1"]
    assert out.types["t_2"] == FLOAT64 and value == Name("t_2")


@pytest.mark.parametrize(
    ("expr", "type_"),
    [
        (Const(True), BOOL),
        (Const(2), INT64),
        (Const(2.0), FLOAT64),
        (Op("+", (Name("n"), Name("c"))), INT64),
        (Op("/", (Name("n"), Name("n"))), FLOAT64),
        (Op("<", (Name("x"), Name("n"))), BOOL),
        (Op("*", (Name("w"), Name("w"))), FLOAT32),
        (Op("*", (Name("w"), Name("x"))), FLOAT64),
        (Op("load", (Name("b"), Const(0), Const(1))), FLOAT64),
        (Op("pop", (Name("s"),)), FLOAT64),
    ],
)
def test_types_are_those_of_numba(out: Emitter, expr, type_):
    assert out.type_of(expr) == type_


def test_an_operation_that_numba_does_not_have_is_refused(out: Emitter):
    with pytest.raises(TapecError, match=r"the derivative needs `<<` of \(float64, int64\)"):
        out.type_of(Op("<<", (Name("x"), Name("n"))))


@pytest.mark.parametrize(
    ("atom", "type_", "made"),
    [
        (Name("x"), FLOAT64, []),
        (Const(2), FLOAT64, []),
        (Const(2.0), FLOAT32, ["t = np.float32(2.0)"]),
        (Name("x"), FLOAT32, ["t = np.float32(x)"]),
        (Name("n"), FLOAT64, ["t = float(n)"]),
        (Name("c"), INT64, ["t = int(c)"]),
    ],
)
def test_numbers_are_converted_where_they_have_another_type(out: Emitter, atom, type_, made):
    assert out.type_of(out.cast(atom, type_)) == type_
    assert text(out) == made


def test_a_number_is_added_to_one_of_its_own_type(out: Emitter):
    out.accumulate("w", Op("*", (Name("x"), Name("x"))))
    assert text(out) == ["t = x * x", "t_1 = np.float32(t)", "w += t_1"]


@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (1, 1)])
def test_zeros_have_the_shape_and_the_order(out: Emitter, shape: tuple[int, int]):
    name = out.zeros_like("zero", "b")
    made, *_ = run(Function("f", ("b",), (*out.out, Return((Name(name),))), out.types), (np.ones(shape, order="F"),))
    assert made.shape == shape and not made.any()
    assert made.flags.f_contiguous and out.types[name] == Array("float64", 2, "F")


def test_extents_that_are_known_are_not_asked_for(out: Emitter):
    out.zeros_like("zero", "b", [Const(2), None])
    assert text(out)[0] == "size = b.shape[1]"


@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (1, 1)])
def test_elements(out: Emitter, shape: tuple[int, int]):
    out.types["d"] = out.types["e"] = Array("float64", 2)
    out.copy_elements("d", "b")
    out.add_elements("d", "b")
    out.add_elements("d", "e")
    core = Function("f", ("d", "b", "e"), (*out.out, Return(())), out.types)
    b, e = np.arange(float(np.prod(shape))).reshape(shape), np.full(shape, 10.0)
    np.testing.assert_array_equal(run(core, (np.empty(shape), b, e))[-3], 2.0 * b + e)


def test_renumbered():
    """Names end in numbers of their own; those from outside stay."""
    check(
        renumbered,
        before="""
        def f(x_2, n):
            t_7 = x_2 + y_3
            t_9_bar = t_7 * t_7
            for i_4 in range(n):
                t_9_bar = t_9_bar + y_3
            x_8 = t_9_bar
            return x_8
        """,
        after="""
        def f(x_2, n):
            t = x_2 + y_3
            t_bar = t * t
            for i in range(n):
                t_bar += y_3
            x = t_bar
            return x
        """,
    )
    assert renumbered(read("def f(x):\n    y_1 = x\n    return y_1")).types == {"x": FLOAT64, "y": FLOAT64}
