"""Marks for differentiation leave the values, and zeros that are strong, behind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tapec.backend import printer
from tapec.optimise.simplify.strip_marks import strip_marks
from tapec.syntax.core import Assign, Call, Function, Name, Return
from tapec.syntax.custom_rule import Custom
from tapec.syntax.types import FLOAT64, Scalar
from tests.optimise.comparison import run
from tests.optimise.reading import check, read

STRONG = """
def f(x, y):
    z = strong(x, y)
    return z
"""


@pytest.mark.parametrize("mark", ["stop_gradient(x)", "known(x, y)"])
def test_the_value_stays(mark):
    check(
        strip_marks,
        before=f"""
        def f(c, x, y):
            if c:
                z = {mark}
            else:
                z = y
            return z
        """,
        after="""
        def f(c, x, y):
            if c:
                z = x
            else:
                z = y
            return z
        """,
    )


def test_a_strong_zero_is_a_choice():
    check(
        strip_marks,
        before=STRONG,
        after="""
        def f(x, y):
            t = x != 0.0
            t_1 = x * y
            z = t_1 if t else 0.0
            return z
        """,
    )


@pytest.mark.parametrize("x", [0.0, -0.0, 2.0, np.nan])
@pytest.mark.parametrize("y", [np.inf, np.nan, 3.0])
def test_a_zero_times_anything_is_zero(x, y):
    (result, *_) = run(strip_marks(read(STRONG)), (x, y))
    assert np.array_equal(result, 0.0 if x == 0.0 else x * y, equal_nan=True)


def test_a_zero_is_of_the_type_of_the_product():
    function = read(STRONG)
    single = replace(function, types=dict.fromkeys(function.types, Scalar("float32")))
    changed = strip_marks(single)
    text = printer.function(changed, quote=False)
    assert {changed.types["z"], changed.types["t_1"]} == {Scalar("float32")} and text.count("np.float32(0.0)") == 2


def test_an_operation_of_several_results_is_a_copy_of_each():
    custom = Call(("z", "w"), Custom("rule", None), tuple(map(Name, ("x", "y", "u"))))  # type: ignore[arg-type]
    function = Function("f", ("x", "y", "u"), (custom, Return((Name("z"), Name("w")))), dict.fromkeys("xyuzw", FLOAT64))
    assert strip_marks(function).body[:-1] == (Assign("z", Name("x")), Assign("w", Name("y")))


def test_other_operations_and_calls_stay():
    text = """
        def f(a, n, x):
            for i in range(n):
                y = x * x
                a[i] = y
            return y
        """
    check(strip_marks, text, text)
