"""Algebraic identities: what an operation becomes has every bit of its value."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest

from tapec.optimise.simplify.identities import fold, nonnegative
from tapec.syntax.core import Const, Expr, Name, Op
from tapec.syntax.types import BOOL, FLOAT64, INT64, Array

TYPES = {"i": INT64, "k": INT64, "x": FLOAT64, "c": BOOL, "A": Array("float64", 2), "a": Array("float64", 1)}
VALUES = {
    "i": np.array([0, 1, -1, 7, -7, 2**62, 2**63 - 1, -(2**63)]),
    "x": np.array([0.0, -0.0, 1.5, -2.0, 5e-324, 1e308, np.inf, -np.inf, np.nan]),
    "c": np.array([False, True]),
}
PYTHON = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "neg": operator.neg, "max": np.maximum, "min": np.minimum,
    "not": np.logical_not, "and": np.logical_and, "or": np.logical_or,
}  # fmt: skip
NUMBERS = {
    "i": [Const(v) for v in (0, 1, -1, 3, 2**62, -(2**62), 2**63 - 1)],
    "x": [Const(v) for v in (0.0, -0.0, 1.0, -1.0, 2.0, 1)],
    "c": [Const(False), Const(True)],
}
SIGNS = {
    "i": ("+", "-", "*", "//", "max", "min", "<", "<=", "==", "!="),
    "x": ("+", "-", "*", "/", "<", ">="),
    "c": ("and", "or"),
}


class Known:
    """The facts of a program of a few definitions."""

    def __init__(self, **made: Expr) -> None:
        self.made = made

    def type_of(self, atom):
        if isinstance(atom, Const):
            return {bool: BOOL, int: INT64, float: FLOAT64}[type(atom.value)]
        made = self.made.get(atom.id)
        if made is None:
            return TYPES.get(atom.id)
        types = [self.type_of(arg) for arg in made.args]
        return FLOAT64 if FLOAT64 in types else types[0]

    def definition(self, atom):
        return self.made.get(atom.id) if isinstance(atom, Name) else None


def value(expr: Expr, known: Known, env):
    """What an expression is for each of some numbers of NumPy's, which wrap round as machine numbers do."""
    if isinstance(expr, Const):
        return np.asarray(expr.value)
    if isinstance(expr, Name):
        return env[expr.id] if expr.id in env else value(known.made[expr.id], known, env)
    return PYTHON[expr.fn](*(value(arg, known, env) for arg in expr.args))


def same_bits(one, other) -> bool:
    one, other = np.broadcast_arrays(one, other)
    nan = (one != one) & (other != other)
    signs = np.signbit(one.astype(float)) == np.signbit(other.astype(float))
    return one.dtype == other.dtype and bool(np.all(nan | ((one == other) & signs)))


def operations(name: str, first: Expr):
    """Operations with a number on either side of an operand, with one operand twice, and of that alone."""
    for sign in SIGNS[name]:
        yield Op(sign, (first, first))
        for number in NUMBERS[name]:
            yield from (Op(sign, (first, number)), Op(sign, (number, first)))
    yield Op("not" if name == "c" else "neg", (first,))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["i", "x", "c"])
def test_what_an_operation_becomes_is_the_same_for_every_number(name):
    inner = [made for made in operations(name, Name(name)) if made.fn in ("+", "-", "*", "neg", "not", "and", "or")]
    programs = [(op, Known()) for op in operations(name, Name(name))]
    programs += [(op, Known(t=made)) for made in inner for op in operations(name, Name("t"))]
    changed = 0
    for op, known in programs:
        folded = fold(op, known)
        if folded != op:
            changed += 1
            env = {name: VALUES[name]}
            assert same_bits(value(folded, known, env), value(op, known, env)), (op, known.made, folded)
    assert changed > 10


def test_constants_are_folded_as_machines_compute_them():
    most = 2**63 - 1
    for sign, one, other in itertools.product(("+", "-", "*"), (most, -most, 2, 0), (most, 3, -2)):
        folded = fold(Op(sign, (Const(one), Const(other))), Known())
        with np.errstate(over="ignore"):
            assert folded == Const(int(PYTHON[sign](np.int64(one), np.int64(other))))
    assert fold(Op("*", (Const(1e308), Const(10.0))), Known()) == Op("*", (Const(1e308), Const(10.0)))


def test_a_zero_is_left_out_of_a_sum_in_adjoints_alone():
    for op in (Op("+", (Const(0.0), Name("x"))), Op("+", (Name("x"), Const(0.0)))):
        assert (fold(op, Known()), fold(op, Known(), adjoint=True)) == (op, Name("x"))
    times_zero = Op("*", (Const(0.0), Name("x")))
    assert fold(times_zero, Known(), adjoint=True) == times_zero


def test_a_conversion_to_the_type_of_its_operand_is_the_operand():
    assert fold(Op("cast.float64", (Name("x"),)), Known()) == Name("x")
    assert fold(Op("cast.float64", (Const(3),)), Known()) == Const(3.0)
    for stays in (Op("cast.int64", (Name("x"),)), Op("cast.float32", (Name("x"),)), Op("cast.int64", (Const(0.5),))):
        assert fold(stays, Known()) == stays


def test_extents_of_what_the_program_makes():
    known = Known(
        b=Op("empty", (Const("float64"), Name("i"), Const(3))),
        d=Op("transpose", (Name("A"),)),
        e=Op("copy", (Name("A"),)),
        p=Op("np.dot", (Name("A"), Name("A"))),
        q=Op("np.dot", (Name("a"), Name("A"))),
        v=Op("view", (Name("A"), Name("i"))),
    )

    def extent(array: str, axis: int) -> Expr:
        return fold(Op("dim", (Name(array), Const(axis))), known)

    def rows(array: str, axis: int) -> Expr:
        return Op("dim", (Name(array), Const(axis)))

    assert [extent("b", 0), extent("b", 1)] == [Name("i"), Const(3)]
    assert [extent("d", 0), extent("e", 1), extent("p", 0), extent("p", 1)] == [rows("A", k) for k in (1, 1, 0, 1)]
    assert [extent("q", 0), extent("v", 0)] == [rows("A", 1), rows("v", 0)]


@pytest.mark.parametrize(
    ("made", "answer"),
    [
        (Op("dim", (Name("a"), Const(0))), True),
        (Op("max", (Name("i"), Const(0))), True),
        (Op("%", (Name("i"), Const(5))), True),
        (Op("//", (Op("dim", (Name("a"), Const(0))), Const(2))), True),
        (Op("min", (Name("i"), Const(5))), False),
        (Op("-", (Const(5), Name("i"))), False),
        (Op("%", (Name("i"), Const(-5))), False),
        (Op("%", (Name("i"), Name("k"))), False),
        (Op("+", (Name("i"), Const(5))), False),
        (Name("i"), False),
    ],
    ids=str,
)
def test_which_integers_are_not_below_zero(made, answer):
    assert nonnegative(made, Known()) is answer
    largest = fold(Op("max", (Const(0), Name("n"))), Known(n=made) if isinstance(made, Op) else Known())
    assert (largest == Name("n")) is answer
