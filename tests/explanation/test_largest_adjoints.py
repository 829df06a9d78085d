"""The largest adjoints of each line, by `tapec.explain(..., args=...)`, and what is said of them."""

from __future__ import annotations

import inspect
import math
import re

import numpy as np
import pytest

import tapec
from tapec.errors import UsageError
from tests.cli.running import succeeds
from tests.typed import interpreted


@pytest.fixture(autouse=True)
def by_python():
    with interpreted():
        yield


def sizes(function, *args, wrt=0, **options):
    """The largest adjoint and the mark of each line, by how the line begins; of sources by their names."""
    told = tapec.explain(function, wrt, args=args, **options)
    return {one.text.partition(" =")[0]: (one.largest, one.mark) for one in told.adjoints}


def test_lines_of_loops_and_arrays():
    def f(x, n):
        y = x * 2.0
        total = 0.0
        for i in range(n):
            off = y[i] * 0.0
            gain = off * 4.0
            total += gain + y[i] * y[i]
        return total

    found = sizes(f, np.array([1.0, -3.0]), 2)
    assert found["x"] == (24.0, "")
    assert found["y"] == (24.0, "")
    assert found["off"] == (0.0, "all are zero")
    assert found["gain"] == (4.0, "")
    assert found["total += gain + y[i] * y[i]"] == (6.0, "")


def test_overflow_and_nan_where_they_are_born():
    def f(x):
        gap = x[0] - x[1]
        root = np.sqrt(gap)
        scaled = root * 3.0
        return scaled

    found = sizes(f, np.ones(2))
    assert found["scaled"] == (3.0, "")
    assert found["root"] == (math.inf, "overflow")
    assert found["gap"] == (math.inf, "overflow")

    def g(x):
        low = x * 1.0
        other = np.sin(low)
        return other * np.inf * 0.0

    found = sizes(g, 1.0)
    assert found["return other * np.inf * 0.0"][1] == "nan"


def test_a_line_that_does_not_run():
    def f(x):
        y = x * x
        if y < 0.0:
            y = y * 5.0
        return y

    found = tapec.explain(f, args=(2.0,)).adjoints
    assert [one.mark for one in found if one.text == "y = y * 5.0"] == ["does not run"]


def test_products_and_solutions_of_whole_arrays():
    def f(a, x):
        q = np.linalg.solve(a, x)
        b = a @ x
        return np.sum(q) + 5.0 * np.sum(b)

    found = sizes(f, np.eye(2) * 2.0, np.array([1.0, 3.0]), wrt=(0, 1))
    assert found["q"][0] == pytest.approx(0.75)
    assert found["b"][0] == pytest.approx(15.0)
    assert found["a"][0] == pytest.approx(14.25) and found["x"][0] == pytest.approx(10.5)


def test_arguments_are_left_as_they_are():
    def f(x):
        x[0] = x[0] * 2.0
        return x[0]

    given = np.ones(1)
    assert sizes(f, given)["x[0]"] == (2.0, "")
    assert given[0] == 1.0


def test_what_raises_and_two_ways_to_say_the_types():
    def f(x, n):
        if n < 0:
            raise ValueError("no such n")
        return x * n

    with pytest.raises(UsageError, match="no such n"):
        tapec.explain(f, args=(1.0, -1))
    with pytest.raises(UsageError, match="give one of them"):
        tapec.explain(f, signature="f8, i8", args=(1.0, 1))


def test_the_texts(tmp_path):
    def f(x):
        y = x * 0.0
        return y * 2.0

    told = tapec.explain(f, args=(1.0,))
    line = inspect.getsourcelines(f)[1] + 1
    row = f"  line {line}          0  all are zero  y = x * 0.0"
    assert [one.split() for one in str(told).splitlines() if "y = x" in one] == [row.split()]
    path = tmp_path / "small.py"
    path.write_text("def f(x):\n    y = x * 0.0\n    return y * 2.0\n")
    printed = succeeds("explain", f"{path}:f", "--args", "1.0")
    assert re.search(r"line 2 +0 +all are zero +y = x", printed) and "Largest adjoints" in printed
