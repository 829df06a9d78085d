"""Functions that one does not own: `register`, options and tuples of functions that are called as they are."""

from __future__ import annotations

import ctypes
import inspect
import math
import re
from typing import Any

import numba
import numpy as np
import pytest
import scipy.special as sp

import tapec
from tapec.errors import GradientMismatch, NotDifferentiable, NoTranspose, TapecError, UnsupportedFunction
from tests.tape.custom_derivatives.test_own_derivatives import X, agree
from tests.typed import interpreted


class Callable:
    """No function, and nothing that may be read."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def from_c(name: str) -> Any:
    made = ctypes.CDLL(None)[name]
    made.restype, made.argtypes = ctypes.c_double, [ctypes.c_double]
    return made


@pytest.mark.slow
def test_either_rule_is_enough():
    cosine, sine = from_c("cos"), from_c("sin")
    tapec.register(cosine, lambda dy, y, x: -dy * math.sin(x))
    tapec.register(sine, jvp=lambda dx, y, x: dx * math.cos(x))
    agree(lambda x: cosine(x) * sine(x) * x, lambda x: math.cos(x) * math.sin(x) * x, 0.4)
    exponential = Callable(np.exp)
    # by the result, whose derivative is the rule again: to any order
    tapec.register(exponential, lambda dy, y, x: dy * y)
    agree(lambda x: np.sum(exponential(x) * x), lambda x: np.sum(np.exp(x) * x), X)
    with interpreted():
        assert tapec.grad(tapec.grad(tapec.grad(lambda x: exponential(x))))(0.3) == pytest.approx(math.exp(0.3))


def test_both_rules():
    doubled = Callable(lambda x: 2.0 * x)
    tapec.register(doubled, lambda dy, y, x: 2.0 * dy, jvp=lambda dx, y, x: 3.0 * dx)
    with interpreted():
        assert tapec.grad(lambda x: doubled(x))(1.0) == 2.0
        assert tapec.jvp(lambda x: doubled(x), (1.0,), (1.0,))[1] == 3.0
        with pytest.raises(GradientMismatch, match="reverse mode gives"):
            tapec.check_grads(lambda x: doubled(x), (1.0,))


def test_the_function_itself_is_differentiated():
    def plain(x):
        return x * x

    jitted = numba.njit(lambda x: x * x)
    for function in (plain, jitted):
        tapec.register(function, lambda dy, y, x: 10.0 * dy)
        with interpreted():
            assert tapec.grad(function)(2.0) == tapec.grad(lambda x, f=function: f(x))(2.0) == 10.0
            assert tapec.jvp(function, (2.0,), (1.0,)) == (4.0, 10.0)


def test_several_arguments_and_options():
    def powers(x, y, n=2, *, scale=1.0):
        return x**n * y * scale

    def adjoints(d, r, x, y, n, *, scale):
        return d * n * x ** (n - 1) * y * scale, d * x**n * scale, None

    def tangent(t, r, x, y, n, *, scale):
        return t[0] * n * x ** (n - 1) * y * scale + t[1] * x**n * scale

    by_adjoints, by_tangents = Callable(powers), Callable(powers)
    # what they take by which name their signature says
    for one in (by_adjoints, by_tangents):
        one.__signature__ = inspect.signature(powers)
    tapec.register(by_adjoints, adjoints)
    tapec.register(by_tangents, jvp=tangent)
    for function in (by_adjoints, by_tangents):
        agree(lambda x, f=function: f(x, x * x), lambda x: x**4, 0.7)
        agree(lambda x, f=function: f(x, y=x * x, n=3, scale=2.0), lambda x: 2.0 * x**5, 0.7)


@pytest.mark.slow
def test_several_results():
    by_adjoints, by_tangents = (Callable(lambda x: (np.sin(x), np.cos(x))) for _ in range(2))
    tapec.register(by_adjoints, lambda d, y, x: d[0] * y[1] - d[1] * y[0])
    tapec.register(by_tangents, jvp=lambda dx, y, x: (dx * y[1], -dx * y[0]))
    for function in (by_adjoints, by_tangents):

        def loss(x, function=function):
            a, b = function(x)
            return np.sum(a * b * x)

        agree(loss, lambda x: np.sum(np.sin(x) * np.cos(x) * x), X)


@pytest.mark.slow
@pytest.mark.compiled
def test_tuples_and_options_in_compiled_code():
    told = tapec.opaque(lambda x, how, *, k=1.0: (x * 2.0, x.sum() * k, len(how)), ("f8[:]", "f8", "i8"))
    tried = tapec.opaque(lambda x, axis=None: (np.sum(x, axis=axis), float(x.size)))
    pair = tapec.opaque(numba.njit(lambda x: (2.0 * x, x * x)))

    @tapec.custom_gradient
    def doubled(x):
        a, b, n = told(x, "four", k=2.0)
        c, d = tried(x.reshape((1, 3)), axis=0)
        return a * b * n + 0.0 * c * d, lambda dy: 8.0 * (b * dy + 2.0 * np.sum(x * dy))

    @tapec.custom_gradient
    def cubed(x):
        a, b = pair(x)
        return a * b, lambda dy: 6.0 * x * x * dy

    def loss(x):
        s = 0.0
        for i in range(x.shape[0]):
            s += cubed(x[i])
        return s + np.sum(doubled(x))

    wanted = 6.0 * X * X + 32.0 * np.sum(X)
    np.testing.assert_allclose(tapec.grad(loss)(X), wanted, rtol=1e-13)
    v = tapec.Variable(X)
    with tapec.GradientTape() as tape:
        y = loss(v)
    np.testing.assert_allclose(tape.gradient(y, v), wanted, rtol=1e-13)


def test_explain_says_what_python_runs():
    told = tapec.explain(lambda x: np.sum(sums(x)), signature="f8[:]")
    (said,) = (limit for limit in told.limits if "object mode" in limit)
    assert said.startswith("functions that Python runs, called through Numba's object mode: `cumsum` (line ")


def test_results_that_are_not_what_they_were_said_to_be():
    short = tapec.opaque(lambda x: (x, 1.0), ("f8[:]", "f8", "i8"))
    with pytest.raises(TypeError, match="returned 2 values, not 3"), interpreted():
        tapec.grad(lambda x: np.sum(x) * short(np.ones(2))[1])(X)


# each hint that names a way out, and the way out that it names

WEIGHTS = tapec.opaque(np.cumsum)
clipped = tapec.custom_gradient(lambda x: (3.0 * x, lambda dy: min(max(dy, -1.0), 1.0)))


def airy(x):
    return tapec.custom_gradient(lambda z: (sp.airy(z)[0], lambda dy: dy * sp.airy(z)[1]))(x)


@tapec.custom_gradient
def sums(x):
    return WEIGHTS(x), lambda dy: WEIGHTS(dy[::-1].copy())[::-1]


@tapec.custom_jvp
def tangents_of_sums(x):
    return WEIGHTS(x), lambda dx: WEIGHTS(dx)


def registered_airy():
    made = Callable(lambda x: float(sp.airy(x)[0]))
    tapec.register(made, lambda dy, y, x: dy * sp.airy(x)[1], "f8")
    return lambda x: made(x)


def with_tangents():
    made = tapec.custom_gradient(lambda x: (3.0 * x, lambda dy: min(max(dy, -1.0), 1.0)))
    made.defjvp(lambda primals, tangents: (0.0, 3.0 * tangents[0]))
    return made


HINTS = {
    # what is refused, the class, what the hint says, and the derivative by the way out with its value
    "no source, no rule": (
        lambda: tapec.grad(lambda x: sp.mathieu_cem(2, 0.5, x)[0])(1.0),
        *(UnsupportedFunction, "wrap it in tapec.custom_gradient"),
        *(lambda: tapec.grad(airy)(1.0), sp.airy(1.0)[1]),
    ),
    "a rule for a function of others": (
        lambda: tapec.grad(lambda x: sp.mathieu_cem(2, 0.5, x)[0])(1.0),
        *(UnsupportedFunction, "give it a derivative by tapec.register"),
        *(lambda: tapec.grad(registered_airy())(1.0), sp.airy(1.0)[1]),
    ),
    "called as it is": (
        lambda: tapec.grad(lambda x: np.sum(WEIGHTS(x)))(X),
        *(NotDifferentiable, "give it a derivative by tapec.custom_gradient"),
        *(lambda: tapec.grad(lambda x: np.sum(sums(x)))(X), np.array([3.0, 2.0, 1.0])),
    ),
    "called as it is, stopped": (
        lambda: tapec.grad(lambda x: np.sum(x * WEIGHTS(x)))(X),
        *(NotDifferentiable, "or pass it `tapec.stop_gradient(x)`"),
        *(lambda: tapec.grad(lambda x: np.sum(x * WEIGHTS(tapec.stop_gradient(x))))(X), np.cumsum(X)),
    ),
    "forward mode by defjvp": (
        lambda: tapec.jvp(clipped, (1.0,), (1.0,)),
        *(NoTranspose, "its `defjvp`"),
        *(lambda: tapec.jvp(with_tangents(), (1.0,), (1.0,))[1], 3.0),
    ),
    "forward mode by custom_jvp": (
        lambda: tapec.jvp(sums, (X,), (X,)),
        *(NoTranspose, "tapec.custom_jvp"),
        *(lambda: tapec.jvp(tangents_of_sums, (X,), (X,))[1], np.cumsum(X)),
    ),
    "reverse mode by custom_gradient": (
        lambda: tapec.grad(lambda x: np.sum(tangents_of_sums(x)))(X),
        *(NoTranspose, "tapec.custom_gradient"),
        *(lambda: tapec.grad(lambda x: np.sum(sums(x)))(X), np.array([3.0, 2.0, 1.0])),
    ),
    "the type of a result": (
        lambda: tapec.grad(lambda x: x * tapec.opaque(len)(np.ones(2)[0]))(1.0),
        *(UnsupportedFunction, "say its type: tapec.opaque(len"),
        *(lambda: tapec.grad(lambda x: x * tapec.opaque(len, "i8")(np.ones(2)))(1.0), 2.0),
    ),
}


@pytest.mark.parametrize("name", HINTS)
def test_every_hint_is_a_way_out(name):
    refused, error, said, way_out, wanted = HINTS[name]
    with interpreted():
        with pytest.raises(error, match=re.escape(said)) as told:
            refused()
        assert isinstance(told.value, TapecError) and said in told.value.hint
        np.testing.assert_allclose(way_out(), wanted, rtol=1e-12)
