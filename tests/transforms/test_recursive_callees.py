"""Recursive functions and their derivatives, which a program calls by name."""

from __future__ import annotations

import math

import pytest

import tapec
from tapec.syntax.core import Assign, Call, Const, Function, Name, Op, Return
from tapec.syntax.types import FLOAT64, INT64
from tapec.transforms.recursive_callees import called, with_lists
from tests import oracles

TYPES = {"x": FLOAT64, "n": INT64, "t": FLOAT64, "y": FLOAT64}
HALVED = Function(
    "halved",
    ("x", "n"),
    (
        Call(("t",), "halved", (Name("x"), Name("n"))),
        Assign("y", Op("*", (Name("t"), Const(0.5)))),
        Return((Name("y"),)),
    ),
    TYPES,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("halved", ["halved"]),
        ("halved_adjoint", ["halved_adjoint", "halved"]),
        ("halved_tangent", ["halved_tangent"]),
        ("halved_adjoint_tangent", ["halved_adjoint_tangent", "halved_tangent"]),
        ("halved_lanes4", ["halved_lanes4"]),
        ("halved_reverse", ["halved_reverse"]),
        ("other.function", []),
    ],
)
def test_what_is_called_is_made_with_all_that_it_calls(name: str, expected: list[str]):
    made = called((Call((), name, ()),), (HALVED,), frozenset())
    assert [one.name for one in made] == expected
    calls = {stmt.function for one in made for stmt in one.body if isinstance(stmt, Call)}
    assert calls <= set(expected)


def test_of_functions_that_nobody_calls_none_is_made():
    assert called((Assign("y", Const(1.0)),), (HALVED,), frozenset()) == []


def test_lists_are_asked_for_by_name():
    handed = with_lists((HALVED,), frozenset(), HALVED.body)
    assert handed is not None and {"halved_forward", "halved_reverse"} == handed.functions.keys()


def power(x, n):
    if n <= 0:
        return x
    return math.sin(x) * power(0.5 * x, n - 1)


def power_adjoint(x, n):
    if n <= 0:
        return x
    return math.cos(x) + power_adjoint(0.3 * x, n - 1)


def both(x):
    """A recursive function is called as the derivative of another one would be."""
    return power(x, 2) * power_adjoint(x, 2)


def inside(x, n):
    """Variables are called like derivatives of the function around them."""
    if n <= 0:
        return x
    inside_tangent = math.sin(x)
    inside_adjoint = inside_tangent * 2.0
    inside_forward = inside_adjoint + x
    return inside_forward * inside(0.5 * x, n - 1)


def outside(x, power_adjoint):
    power_tangent = x + power_adjoint
    value = power(x * power_tangent, 2)
    power_forward = power_tangent * value
    power_reverse = power_forward * power_adjoint
    return power_reverse * x


@pytest.mark.parametrize(("f", "args"), [(both, (0.7,)), (inside, (0.7, 2)), (outside, (0.7, 0.4))])
def test_names_of_derivatives_are_nobody_elses(f, args):
    x, *rest = args
    step = 1e-6
    slope = (f(x + step, *rest) - f(x - step, *rest)) / (2.0 * step)
    with oracles.interpreted():
        gradient = tapec.grad(f)
        assert gradient(*args) == pytest.approx(slope, rel=1e-8)
        assert tapec.jvp(f, args, (1.0, *(0.0 if isinstance(one, float) else None for one in rest)))[1] == (
            pytest.approx(gradient(*args), rel=1e-13)
        )
        assert tapec.vjp(f, *args)[1](1.0)[0] == pytest.approx(gradient(*args), rel=1e-13)
        curved = (gradient(x + step, *rest) - gradient(x - step, *rest)) / (2.0 * step)
        assert tapec.hvp(f)(*args, 1.0) == pytest.approx(curved, rel=1e-7)


def swapped(x, a, n):
    """What it is given it overwrites."""
    if n > 0:
        a[n - 1] = a[n] * x
        swapped(x * 0.5, a, n - 1)


def caller(x, a):
    swapped(x, a, 2)
    return a[0] * a[1]


def test_what_a_function_writes_is_its_callers():
    # of a derivative the part of a forward sweep runs with copies of what was overwritten
    text = tapec.emit(caller, signature="f8, f8[::1]", opt_level=0)
    assert "def swapped_adjoint(" in text and "a_kept = a.copy()" in text
