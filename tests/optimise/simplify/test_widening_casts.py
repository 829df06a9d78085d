"""Single precision becomes double where Python says so, and stays single where Numba does."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.simplify.widening_casts import widen_exactly
from tapec.syntax.core import Assign, Function, Name, Op, Return
from tapec.syntax.types import FLOAT64, INT64, Scalar

X = np.float32(0.1)


def square(x):
    return float(x) * float(x)


def squares(a):
    return np.sum(a.astype(np.float64) * a.astype(np.float64))


def test_the_cast_says_what_it_makes():
    body = (Assign("s", Op("cast.float64", (Name("x"),))), Assign("t", Op("cast.float64", (Name("n"),))))
    types = {"x": Scalar("float32"), "n": INT64, "s": FLOAT64, "t": FLOAT64}
    function = Function("f", ("x", "n"), (*body, Return((Name("s"), Name("t")))), types)
    text = printer.function(widen_exactly(function), quote=False)
    assert "s = np.float64(x)" in text and "t = float(n)" in text
    double = replace(function, types={**types, "x": FLOAT64})
    assert widen_exactly(double) is double


@pytest.mark.compiled
def test_a_float_of_pythons_is_double():
    assert square(X) != float(X * X)
    assert tapec.value_and_grad(square)(X)[0] == square(X)
    assert tapec.value_and_grad(squares)(np.full(1, X))[0] == square(X)


@pytest.mark.compiled
def test_a_float_of_compiled_code_is_what_numba_makes_of_it():
    compiled = numba.njit(square)
    assert tapec.value_and_grad(compiled)(X)[0] == compiled(X) == float(X * X)
