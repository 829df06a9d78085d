"""Calls: arguments of every form, closures, decorators, and what the API does with functions."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from numba import njit

import tapec
from tests.oracles import Case, Cases, arr, check
from tests.sampling import sampled

cases = Cases()

GRAVITY = 9.81
WEIGHTS = np.array([0.5, 1.5, 2.5])
SHAPE = (2, 3)


def keywords_and_defaults(x, y=2.0, *, scale=3.0, flag=True, extra=None):
    if extra is not None:
        x = x * extra
    if flag is True:
        x = x * scale
    return x * y


@cases((1.2, 0.7))
def keyword_arguments(x, z):
    a = keywords_and_defaults(x)
    b = keywords_and_defaults(x, scale=z)
    c = keywords_and_defaults(y=z, x=x, extra=z, flag=False)
    return a * b + c


def starred(first, *rest):
    s = first
    for v in rest:
        s = s * v + 1.0
    return s * len(rest)


@cases((1.2, 0.7, 0.9), compiled="reverse")
def star_arguments(x, y, z):
    pair = (y, z)
    return starred(x, *pair) + starred(x, y, z, x) + starred(z, *(x, x))


@cases((1.2, 0.7))
def nested_functions_and_lambdas(x, y):
    square = lambda v: v * v  # noqa: E731

    def inside(v, k=2):
        return square(v) * y + k * x

    return inside(x) + inside(square(y), k=3)


@cases((1.2,), compiled="both")
def functions_as_arguments(x):
    def twice(g, v):
        return g(g(v))

    return twice(math.sin, x) + twice(lambda v: v * x, 2.0) + twice(scaled_by_module, x)


def scaled_by_module(v):
    return v * GRAVITY + WEIGHTS[2]


@cases((arr(3),))
def module_constants(a):
    out = np.zeros(SHAPE)
    for i in range(3):
        out[1, i] = a[i] * WEIGHTS[i] * GRAVITY
    return scaled_by_module(out.sum()) * np.pi * math.e


@cases((arr(3), None), (arr(3), 2.0))
def none_argument(a, scale=None):
    if scale is None:
        return a.sum()
    if not scale:
        return a[0]
    return (a * scale).sum()


def counters_of_an_outer_function(a):
    total = 0.0

    def add(v):
        nonlocal total
        total += v * v

    for v in a:
        add(v)
    return total


def test_a_variable_of_an_outer_function_is_set_by_an_inner_one():
    np.testing.assert_array_equal(tapec.grad(counters_of_an_outer_function)(np.arange(3.0)), [0.0, 2.0, 4.0])


@njit(fastmath=True)
def with_fastmath(x):
    return x * x


@njit("float64(float64)", error_model="numpy", inline="always")
def with_signature(x):
    return 1.0 / x


@numba.jit(nopython=True, nogil=True, boundscheck=True)
def with_options(x):
    return math.sin(x)


@njit(["float64(float64)", "float32(float32)"], cache=False)
def with_signatures(x):
    return math.cos(x)


def plain(x):
    return x * 3.0


applied = njit(plain)
my_jit = njit(fastmath={"reassoc"}, parallel=False)


@my_jit
def with_alias(x, k=2):
    return x * k


@cases((1.2,), compiled="reverse")
def calls_to_decorated_functions(x):
    return with_fastmath(x) + with_signature(x) * with_options(x) + with_signatures(x) * applied(x) + with_alias(x, k=3)


class Model:
    """A user's object with a method written as a plain function of numbers."""

    @staticmethod
    def loss(x, y):
        """The loss."""
        return x * y * y


@pytest.mark.parametrize("case", sampled(cases, 3), ids=str)
def test_calls(case: Case):
    case.check()


@pytest.mark.parametrize("f", [with_fastmath, with_signature, with_options, applied], ids=lambda f: f.__name__)
def test_dispatchers_are_differentiated_themselves(f):
    check(f, (1.2,))


def test_closures_over_numbers_and_arrays():
    def make(scale, weights):
        def f(x):
            s = 0.0
            for i in range(weights.size):
                s += weights[i] * x**i
            return s * scale

        return f

    for scale in (2.0, 3.0):
        check(make(scale, arr(3)), (1.2,))


def test_lambda_is_differentiated():
    check(lambda x, y: x * x * y, (1.2, 0.3))


def test_static_method_is_differentiated():
    check(Model.loss, (1.2, 0.3))


def test_wrt_by_name_position_and_tuple():
    assert tapec.grad(Model.loss, wrt="y")(2.0, 3.0) == pytest.approx(12.0)
    assert tapec.grad(Model.loss)(2.0, 3.0) == pytest.approx(9.0)
    assert tapec.grad(Model.loss, wrt=("y", "x"))(2.0, 3.0) == pytest.approx((12.0, 9.0))
    assert tapec.grad(Model.loss, wrt=(1,))(2.0, 3.0) == pytest.approx((12.0,))


def test_gradient_keeps_name_and_docstring():
    gradient = tapec.grad(Model.loss)
    assert gradient.__name__ == "loss"
    assert gradient.__doc__ == "The gradient of `loss` with respect to `x`.\n\nloss: The loss."


def test_gradient_is_callable_from_compiled_code():
    gradient = tapec.grad(Model.loss)

    @njit
    def step(x, y):
        return x - 0.1 * gradient(x, y)

    assert step(2.0, 3.0) == pytest.approx(1.1)
