"""Rules of whole-array operations, lowered where they are needed."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.backend import printer
from tapec.frontend.evaluator.values import NONE, Sym, Tup
from tapec.rules.linalg import PRIMITIVES
from tapec.syntax.core import Const, Function, Name, Return
from tapec.syntax.types import FLOAT64, Array
from tapec.transforms.emitter import Emitter
from tapec.transforms.primitives import lower_rule
from tests.optimise.comparison import run

MATRIX, VECTOR = Array("float64", 2), Array("float64", 1)
TYPES = {"A": MATRIX, "a": VECTOR, "A_bar": MATRIX, "a_bar": VECTOR, "y": VECTOR, "y_bar": VECTOR, "x": FLOAT64}


def scaled(a, factor, other):
    out = a * factor
    if other is not None:
        out = out + other
    return out


def both(pair, which):
    first, second = pair
    return (first, second) if which is None else first * second


def nothing(a):
    a[0] = 2.0


def lowered(function, *arguments) -> tuple[Emitter, list, object]:
    out = Emitter(dict(TYPES), set(TYPES))
    block, result = lower_rule(out, function, list(arguments))
    out.extend(block)
    return out, list(block), result


def test_what_a_rule_computes_is_written_on_the_names_of_the_program():
    out, block, result = lowered(scaled, Name("a"), Const(3.0), None)
    assert isinstance(result, Sym) and result.type == VECTOR
    made = Function("f", ("a",), (*block, Return((result.atom,))), out.types)
    assert run(made, (np.array([1.0, 2.0]),))[0].tolist() == [3.0, 6.0]
    # nothing of the operand that is None is there
    more = lowered(scaled, Name("a"), Const(3.0), Name("y"))[1]
    assert len(printer.function(Function("f", (), (*more, Return((Const(0),))), out.types))) > 0 and more != block


def test_names_are_new():
    out, block, _ = lowered(scaled, Name("a"), Name("x"), None)
    written = {name for name in out.types if name not in TYPES}
    assert written and written <= out.taken
    again, _ = lower_rule(out, scaled, [Name("a"), Name("x"), None])
    targets = lambda block: {stmt.target for stmt in block if hasattr(stmt, "target")}  # noqa: E731
    assert not targets(tuple(block)) & targets(again)


def test_operands_may_be_tuples():
    assert isinstance(lowered(both, (Name("a"), Name("y")), None)[2], Tup)
    assert isinstance(lowered(both, (Name("x"), Const(2.0)), Const(1))[2], Sym)


def test_a_rule_that_only_writes_returns_nothing():
    _, block, result = lowered(nothing, Name("a"))
    assert result == NONE and len(block) == 1


@pytest.mark.parametrize("active", [(True, True), (True, False), (False, True)])
def test_the_adjoint_of_a_product(active: tuple[bool, bool], rng):
    """By the matrix of the product."""
    bars = [Name(bar) if on else None for bar, on in zip(("A_bar", "a_bar"), active, strict=True)]
    out, block, _ = lowered(PRIMITIVES["np.dot"].adjoint, Name("y"), Name("A"), Name("a"), Name("y_bar"), *bars)
    made = Function("f", ("y", "A", "a", "y_bar", "A_bar", "a_bar"), (*block, Return((Const(0),))), out.types)
    A, a, y_bar = rng.normal(size=(2, 3)), rng.normal(size=3), rng.normal(size=2)
    *_, A_bar, a_bar = run(made, (A @ a, A, a, y_bar, np.ones((2, 3)), np.ones(3)))
    np.testing.assert_allclose(A_bar, 1.0 + active[0] * np.outer(y_bar, a), rtol=1e-14)
    np.testing.assert_allclose(a_bar, 1.0 + active[1] * (A.T @ y_bar), rtol=1e-14)
