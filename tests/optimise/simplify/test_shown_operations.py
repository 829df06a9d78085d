"""How errors name an operation: made-up names as what they stand for."""

from __future__ import annotations

import pytest

from tapec.optimise.simplify.shown_operations import ShownOperations
from tapec.syntax.core import Assign, Const, For, Function, Name, Op
from tapec.syntax.types import FLOAT64, INT64, Array

VECTOR = Array("float64", 1, "C")
BODY = (
    Assign("t", Op("load", (Name("x"), Name("i")))),
    Assign("t_1", Op("-", (Name("t"), Const(1.0)))),
    Assign("t_2", Op("neg", (Name("t_1"),))),
    Assign("t_3", Op("*", (Name("t_2"), Name("t_1")))),
    Assign("t_4", Op("pop", (Name("kept"),))),
)
LOOP = For("i", Const(0), Const(3), Const(1), BODY)
TYPES = {"x": VECTOR, "i": INT64, **dict.fromkeys(("t", "t_1", "t_2", "t_3", "t_4"), FLOAT64)}


@pytest.mark.parametrize(
    "value, text",
    [
        (Op("np.log", (Name("t_1"),)), "np.log(x[i] - 1.0)"),
        (Op("/", (Name("t_1"), Name("t"))), "(x[i] - 1.0) / x[i]"),
        (Name("t_2"), "-(x[i] - 1.0)"),
        (Op("+", (Name("t_3"), Const(-2.0))), "((-(x[i] - 1.0)) * (x[i] - 1.0)) + -2.0"),
        (Op("*", (Name("t_4"), Name("t_4"))), "t_4 * t_4"),
        (Op("max", (Name("x"), Const(0.0))), "max(x, 0.0)"),
        (Op("cast.float64", (Name("i"),)), "float64(i)"),
        (Op("transpose", (Name("x"),)), "x.T"),
    ],
)
def test_text(value, text):
    assert ShownOperations(Function("f", ("x",), (LOOP,), TYPES)).text(value) == text


def test_what_would_be_long_has_its_name():
    body = [Assign("t_1", Op("*", (Name("x"), Const(0.123456789))))]
    body += [Assign(f"t_{k + 1}", Op("*", (Name(f"t_{k}"), Name(f"t_{k}")))) for k in range(1, 6)]
    found = ShownOperations(Function("f", ("x",), tuple(body), {}))
    assert found.text(Name("t_2")) == "(x * 0.123456789) * (x * 0.123456789)"
    assert found.text(Name("t_4")) == "t_3 * t_3"
