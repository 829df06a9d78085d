"""Floats that are never below a bound, and sums of squares: compared with what programs compute."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tapec.analyses.lower_bounds import LowerBounds, sums_of_squares
from tapec.syntax.core import Name
from tapec.syntax.types import Scalar
from tests.optimise.comparison import run
from tests.optimise.reading import read

# what is computed of numbers that may be anything, and its bound
BOUNDS = [
    ("x", None),
    ("2.5", 2.5),
    ("-2.5", None),
    ("x * x", 0.0),
    ("x * y", None),
    ("x ** 2", 0.0),
    ("x ** 3", None),
    ("x ** 2.0", None),
    ("abs(x)", 0.0),
    ("np.exp(x)", 0.0),
    ("np.cosh(x)", 1.0),
    ("np.hypot(x, y)", 0.0),
    ("np.sin(x)", None),
    ("max(x, 1.5)", 1.5),
    ("min(x, 1.5)", None),
    ("min(np.exp(x), 1.5)", 0.0),
    ("np.exp(x) + 2.0", 2.0),
    ("np.exp(x) - 2.0", None),
    ("-2.0 + 3.0", None),
    ("(x * x + 2.0) * (y * y + 3.0)", 6.0),
    ("x * x / 4.0", 0.0),
    ("np.sqrt(x * x + 4.0)", 2.0),
    ("np.sqrt(x)", None),
    ("(x * x if c else 2.0)", 0.0),
    ("(x if c else 2.0)", None),
]


@pytest.mark.parametrize(("value", "bound"), BOUNDS)
def test_bounds(value, bound):
    function = read(f"def f(x, y, c):\n    z = {value}\n    return z")
    assert LowerBounds(function).of(Name("z")) == bound
    for x, y, c in ((0.0, 0.0, True), (-3.0, 0.5, False), (1e-200, -1e-200, True), (np.nan, 1.0, True)):
        result = run(function, (x, y, c))[0]
        assert bound is None or not result < bound


LOOP = """
def f(x, y, n):
    s = {first}
    for i in range(n):
        t = {value}
        s = s + t
    z = s + 1.0
    return z
"""


@pytest.mark.parametrize(
    ("first", "value", "never"),
    [
        ("0.0", "x * x", True),
        ("0.0", "x * y", False),
        ("-1.0", "x * x", False),
        ("x", "x * x", False),
        ("0.0", "s", True),
        ("0.0", "s - x", False),
    ],
)
def test_loop_carried_sums(first, value, never):
    assert LowerBounds(read(LOOP.format(first=first, value=value))).is_zero_never(Name("z")) == never


@pytest.mark.parametrize("name", ["x", "i", "v", "k"])
def test_nothing_is_known_of_parameters_counters_and_what_is_loaded(name):
    text = "def f(x, a, n):\n    for i in range(n):\n        v = a[i]\n        k = i * i\n    return x"
    assert LowerBounds(read(text)).of(Name(name)) is None


def test_a_product_of_single_precision_may_be_zero_where_one_of_doubles_is_not():
    text = "def f(x):\n    s = x * x\n    t = s + 1e-30\n    u = t * t\n    z = t * u\n    v = t * 1e-20\n    return z"
    double = read(text)
    single = replace(double, types={**double.types, **dict.fromkeys("stuvz", Scalar("float32"))})
    assert LowerBounds(double).is_zero_never(Name("v"))
    assert not LowerBounds(single).is_zero_never(Name("v"))
    assert LowerBounds(single).is_zero_never(Name("t"))


SQUARES = [
    ("x * x", True),
    ("x ** 2", True),
    ("np.square(x)", True),
    ("0.0", True),
    ("1.0", False),
    ("x", False),
    ("x * y", False),
    ("abs(x)", False),
    ("x ** 4", False),
    ("2.0 * (x * x)", True),
    ("-2.0 * (x * x)", False),
    ("x * x / 3.0", True),
    ("x * x / y", False),
    ("x * x + y * y", True),
    ("x * x - y * y", False),
    ("x * x + 1e-9", False),
]


@pytest.mark.parametrize(("value", "is_one"), SQUARES)
def test_sums_of_squares(value, is_one):
    text = f"def f(x, y):\n    z = {value}\n    return z"
    assert ("z" in sums_of_squares(read(text))) == is_one


@pytest.mark.parametrize(
    ("first", "value", "is_one"),
    [("0.0", "x * x", True), ("x", "x * x", False), ("0.0", "x * y", False), ("0.0", "abs(x)", False)],
)
def test_what_a_loop_carries_is_one_if_all_its_values_are(first, value, is_one):
    assert ("s" in sums_of_squares(read(LOOP.format(first=first, value=value)))) == is_one
