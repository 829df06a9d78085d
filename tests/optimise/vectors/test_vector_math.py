"""Elementary functions in loops that LLVM may vectorise are the runtime's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import float32, float64, int64

import tapec
from tapec.optimise.vector_operations import VECTORISED
from tapec.optimise.vectors.vector_math import vectorise_functions
from tapec.options import Options
from tapec.pipeline import build
from tapec.rules import rule_for
from tests.optimise.reading import check, read


def test_a_straight_loop():
    check(
        vectorise_functions,
        """
        def f(a, x):
            s = 0.0
            for i in range(9):
                t = np.exp(x)
                if x < t:
                    t = math.log(t)
                s += t
            return s
        """,
        """
        def f(a, x):
            s = 0.0
            for i in range(9):
                t = tapec_runtime.exp(x)
                if x < t:
                    t = tapec_runtime.log(t)
                s += t
            return s
        """,
    )


@pytest.mark.parametrize(
    "inside",
    [
        # an inner loop, a stack, an exception: LLVM does not vectorise these
        "s += math.exp(x)\n                for j in range(i):\n                    s += x",
        "s += math.exp(x)\n                x_stack.append(s)",
        "s += math.exp(x)\n                raise ValueError('no')",
        # multiplications and roots; integers; functions that the runtime lacks
        "s = x ** 2.0",
        "s = x ** 0.5",
        "s = x ** n",
        "s = np.exp(n)",
        "s = math.gamma(x)",
        "s = tapec_runtime.polygamma(1, x)",
    ],
)
def test_what_stays(inside):
    function = read(
        f"""
        def f(x, n, x_stack):
            s = math.exp(x)
            for i in range(9):
                {inside}
            return s
        """
    )
    assert vectorise_functions(function) == function


def test_powers_of_floats():
    check(
        vectorise_functions,
        """
        def f(x, y):
            for i in range(9):
                s = x ** y
                t = x ** 1.7
            return s
        """,
        """
        def f(x, y):
            for i in range(9):
                s = tapec_runtime.power(x, y)
                t = tapec_runtime.power(x, 1.7)
            return s
        """,
    )


def test_powers_that_llvm_would_leave_to_the_c_library():
    check(
        vectorise_functions,
        """
        def f(x, y, n):
            for i in range(9):
                s = x ** 3.0
                t = x ** 1.5
                t_1 = y ** -2.5
                t_2 = x ** -3.0
                t_3 = x ** 3
            return s
        """,
        """
        def f(x, y, n):
            for i in range(9):
                s = x ** 3
                t_4 = abs(x)
                t_5 = x ** 0.5
                t = t_5 * t_4
                t_6 = abs(y)
                t_7 = y ** -0.5
                t_8 = t_7 / t_6
                t_1 = t_8 / t_6
                t_2 = tapec_runtime.power(x, -3.0)
                t_3 = x ** 3
            return s
        """,
    )


def powers(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] ** 1.5 + x[i] ** -1.5 + x[i] ** 2.5 + x[i] ** -2.5 + x[i] ** 3.0 + x[i] ** 4.0
    return total


@pytest.mark.slow
@pytest.mark.compiled
def test_powers_of_halves_are_accurate_and_know_the_ends_of_the_range():
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, 1e-320, 1e-206, 1e-125, 1e125, 1e206, 1e300]
    gradient = tapec.value_and_grad(powers)
    with np.errstate(all="ignore"):
        for x in edges:
            value, (slope,) = gradient(np.full(9, x))[0], gradient(np.full(9, x))[1][:1]
            exponents = np.array([1.5, -1.5, 2.5, -2.5, 3.0, 4.0])
            np.testing.assert_allclose(value, 9 * np.sum(np.power(x, exponents)), rtol=1e-14)
            np.testing.assert_allclose(slope, np.sum(exponents * np.power(x, exponents - 1.0)), rtol=1e-14)


def test_every_operation_has_a_rule():
    assert all(rule_for(fn) is not None for fn in VECTORISED)


def losses(x, w):
    s = 0.0
    for i in range(x.shape[0]):
        s += math.log1p(math.exp(x[i] * w[i])) + math.tanh(x[i]) ** 2
        s += np.sin(w[i]) * math.erf(x[i]) + abs(x[i]) ** w[i]
        s += math.lgamma(w[i])
    return s


@pytest.mark.slow
@pytest.mark.parametrize("kind", [float64, float32])
@pytest.mark.compiled
def test_gradients_agree_with_the_c_librarys(kind):
    from tapec.backend.jit import compile_function
    from tapec.backend.signature import arguments

    rng = np.random.default_rng(0)
    dtype = np.float64 if kind == float64 else np.float32
    x, w = rng.normal(size=37).astype(dtype), rng.normal(size=37).astype(dtype)
    types = arguments((kind[::1], kind[::1]), ["x", "w"])
    fast, plain = (
        compile_function(build(losses, types, "value_and_grad", (0, 1), Options(math=math_)))(x, w)
        for math_ in ("fast", "libm")
    )
    tolerance = 1e-13 if kind == float64 else 1e-5
    assert fast[0] == pytest.approx(plain[0], rel=tolerance)
    for mine, theirs in zip(fast[1], plain[1], strict=True):
        assert mine.dtype == dtype
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)


def test_the_option_turns_it_off():
    from tapec.backend.signature import arguments

    def total(x, n):
        s = 0.0
        for i in range(n):
            s += math.exp(x[i])
        return s

    types = arguments((float64[::1], int64), ["x", "n"])
    texts = {
        (level, math_): build(total, types, "grad", 0, Options(level=level, math=math_)).text
        for level in (1, 2)
        for math_ in ("fast", "libm")
    }
    assert [key for key, text in texts.items() if "tapec_runtime.exp" in text] == [(2, "fast")]


def test_sums_of_expressions_of_several_arrays_compare_extents_once():
    def waves(x, y):
        return (np.exp(x) * np.sin(y)).sum()

    text = tapec.emit(waves, wrt=(0, 1), signature="f8[::1], f8[::1]", opt_level=2)
    loops = text.split("for i in range(")
    (loop, *_) = (one for one in loops if "tapec_runtime.exp(" in one)
    assert "raise" not in loop.split("# reverse sweep")[0]
    assert "tapec_runtime.sin(" in loop
