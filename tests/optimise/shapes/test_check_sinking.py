"""Divisions by zero that are counted in a loop, and raised behind it."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import tapec
from tapec.analyses.lower_bounds import LowerBounds
from tapec.optimise.shapes.check_sinking import sink_checks
from tapec.syntax.core import Name
from tests.optimise.reading import check, read


def test_checks_of_a_nest_are_counted_through_branches():
    check(
        sink_checks,
        before="""
        def f(a, n):
            for i in range(n):
                for j in range(i):
                    x = a[j]
                    c = x == 0.0
                    if c:
                        raise ZeroDivisionError()
                    y = 1.0 / x
                    c_1 = y > 2.0
                    if c_1:
                        z = a[i]
                        c_2 = z == 0.0
                        if c_2:
                            raise ZeroDivisionError()
                        w = y / z
                        a[j] = w
            return a
        """,
        after="""
        def f(a, n):
            zeros = 0
            for i in range(n):
                zeros_1 = zeros
                for j in range(i):
                    x = a[j]
                    c = x == 0.0
                    zeros_2 = zeros_1 + c
                    y = 1.0 / x
                    c_1 = y > 2.0
                    if c_1:
                        z = a[i]
                        c_2 = z == 0.0
                        zeros_3 = zeros_2 + c_2
                        w = y / z
                        a[j] = w
                        zeros_4 = zeros_3
                    else:
                        zeros_4 = zeros_2
                    zeros_1 = zeros_4
                zeros = zeros_1
            t = zeros > 0
            if t:
                raise ZeroDivisionError()
            return a
        """,
    )


LOOP = """
def f(a, b, n, k):
    for i in range(n):
        x = b[i]
        c = x == 0.0
        if c:
            raise ZeroDivisionError()
        y = a[i] / x
{rest}
    return a
"""


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param(["j = np.int64(y)", "a[j] = 1.0"], id="an index follows"),
        pytest.param(["a[i] = y", "z = a[0]", "j = np.int64(z)", "a[j] = 1.0"], id="an index follows through memory"),
        pytest.param(["print(y)"], id="output"),
        pytest.param(["c_1 = y > 1.0", "if c_1:", "    raise ValueError()"], id="another exception follows"),
    ],
)
def test_refused(rest: list[str]):
    text = LOOP.format(rest="\n".join(f"        {line}" for line in rest))
    check(sink_checks, before=text, after=text)


@pytest.mark.parametrize(
    ("value", "never"),
    [
        ("x * x + 0.5", True),
        ("math.sqrt(x ** 2 + 0.5)", True),
        ("np.cosh(x) + abs(y)", True),
        ("max(x, 0.1) * 2.0", True),
        ("x * x", False),
        ("np.exp(x)", False),
        ("x * y + 0.5", False),
        ("max(x, 0.0)", False),
        ("abs(x) - 0.5", False),
    ],
)
def test_bounds_of_floats(value: str, never: bool):
    assert LowerBounds(read(f"def f(x, y):\n    z = {value}\n    return z")).is_zero_never(Name("z")) == never


def test_a_sum_of_squares_is_never_negative():
    loop = "    for i in range(n):\n        y = a[i]\n        x += y * y\n"
    bounds = LowerBounds(read(f"def f(a, n):\n    x = 0.0\n{loop}    z = x + 0.1\n    return z"))
    assert bounds.of(Name("x")) == 0.0 and bounds.is_zero_never(Name("z"))


@numba.njit
def quotients(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        if a[i] > 0.0:
            total += np.exp(a[i] / b[i])
    return total


@numba.njit
def looked_up(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[int(a[i] / b[i])]
    return total


@pytest.mark.slow
@pytest.mark.compiled
def test_it_raises_where_numba_does():
    a, b = np.array([0.5, -1.0, 1.5]), np.array([2.0, 0.0, 4.0])
    derivative = tapec.value_and_grad(quotients)
    assert derivative(a, b)[0] == pytest.approx(quotients(a, b))
    assert "zeros +=" in tapec.emit(quotients, signature="float64[::1], float64[::1]", opt_level=2)
    a[1] = 1.0
    for one in (quotients, derivative):
        with pytest.raises(ZeroDivisionError):
            one(a, b)
    within = tapec.emit(looked_up, signature="float64[::1], float64[::1]", opt_level=2)
    assert "zeros +" not in within and "ZeroDivisionError" in within
