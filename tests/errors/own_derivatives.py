"""Derivatives of one's own, and functions that are called as they are: what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

import tapec
from tapec import custom_gradient, custom_jvp
from tests.errors import Refusals

cases = Refusals()
refused, misuse = cases.refused, cases.misuse
VECTOR = np.array([1.0, 2.0, 3.0])
reversed_sums = tapec.opaque(lambda dy: np.cumsum(dy[::-1])[::-1])
sums = tapec.opaque(np.cumsum)


def number(f: Any) -> Any:
    """The derivative of a function at 1.0."""
    return tapec.grad(lambda x: f(x))(1.0)


# what is no function with a rule


@misuse
def custom_gradient_of_a_number():
    custom_gradient(3.0)


@misuse
def custom_gradient_with_keywords():
    @custom_gradient
    def f(x, **options):
        return x, lambda bar: bar


@misuse
def custom_gradient_with_keywords_in_differentiated_code():
    def loss(x):
        @custom_gradient
        def f(x, **options):
            return x, lambda bar: bar

        return f(x)

    number(loss)


@misuse
def custom_gradient_without_a_gradient():
    @custom_gradient
    def f(x):
        return x * x

    f(1.0)


@misuse
def compiled_custom_gradient_without_a_gradient():
    @custom_gradient
    def f(x):
        return x * x

    number(f)


@misuse
def custom_jvp_without_a_rule():
    @custom_jvp
    def f(x):
        return x * x

    number(f)


@misuse
def custom_gradient_with_a_gradient_on_each_way():
    @custom_gradient
    def f(x):
        if x > 0.0:
            return x * x, lambda bar: 2.0 * x * bar
        return -x * x, lambda bar: -2.0 * x * bar

    number(f)


@misuse
def tangents_that_are_no_function():
    @custom_jvp
    def f(x):
        return x * x

    f.defjvp(3.0)


@misuse
def tangents_for_another_function():
    @custom_jvp
    def f(x):
        return x * x

    def loss(x):
        f.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
        return f(x)

    number(loss)


@misuse
def tangents_without_the_value():
    @custom_jvp
    def f(x):
        return x * x

    @f.defjvp
    def rule(primals, tangents):
        return 2.0 * primals[0] * tangents[0]

    number(f)


# what rules return


@misuse
def custom_gradient_of_text():
    @custom_gradient
    def f(x):
        return "text", lambda bar: bar

    number(lambda x: x if f(x) == "text" else 0.0)


@misuse
def custom_gradient_with_too_many_results():
    @custom_gradient
    def f(x):
        def pull(bar):
            return bar, bar

        return x * x, pull

    number(f)


@misuse
def custom_gradient_of_another_rank():
    @custom_gradient
    def f(x):
        def pull(bar):
            return 2.0

        return x * x, pull

    tapec.grad(lambda x: f(x).sum())(VECTOR)


@misuse
def custom_gradient_of_another_kind():
    @custom_gradient
    def f(x):
        def pull(bar):
            return np.ones(3) * bar

        return x * x, pull

    number(f)


@misuse
def custom_gradient_of_another_structure():
    @custom_gradient
    def f(pair):
        def pull(bar):
            return bar * pair[1]

        return pair[0] * pair[1], pull

    number(lambda x: f((x, x)))


@misuse
def tangent_of_another_structure():
    @custom_jvp
    def f(x):
        return {"twice": 2.0 * x}, lambda dot: {"thrice": 2.0 * dot}

    tapec.jvp(lambda x: f(x)["twice"], (1.0,), (1.0,))


@misuse
def custom_gradient_that_forgets_the_variables():
    w = tapec.Variable(2.0)

    @custom_gradient
    def f(x):
        return x * w, lambda bar, variables=None: bar * w

    with tapec.GradientTape() as tape:
        y = f(w * 3.0)
    tape.gradient(y, w)


# what rules do not tell


@misuse
def custom_gradient_that_reads_what_has_a_derivative():
    def loss(x):
        @custom_gradient
        def f(z):
            return z * x, lambda bar: bar * x

        return f(x)

    number(loss)


@misuse
def tangents_by_an_option():
    @custom_gradient
    def f(x, *, scale=1.0):
        return x * scale, lambda bar: bar * scale

    tapec.jvp(lambda x: f(x, scale=x), (1.0,), (1.0,))


@misuse
def custom_gradient_that_writes_into_its_argument():
    @custom_gradient
    def f(x):
        x[0] = 0.0
        return np.sum(x), lambda bar: np.ones(x.shape) * bar

    tapec.grad(lambda x: f(2.0 * x))(VECTOR)


@misuse
def gradient_that_writes_into_what_it_reads():
    @custom_gradient
    def f(x):
        kept = np.exp(x)

        def pull(bar):
            kept[0] = 0.0
            return bar * kept

        return np.exp(x), pull

    tapec.grad(lambda x: np.sum(f(x)))(VECTOR)


@misuse
def custom_gradient_that_reads_a_generator():
    @custom_gradient
    def f(x):
        numbers = iter((x, 2.0))

        def pull(bar):
            return bar * next(numbers)

        return x * x, pull

    number(f)


@misuse
def custom_gradient_by_its_own_gradient():
    @custom_gradient
    def f(x):
        return np.exp(x), lambda bar: bar * tapec.grad(f)(x)

    number(f)


# one mode alone


@misuse
def tangents_of_a_gradient_that_is_not_linear():
    @custom_gradient
    def clipped(x):
        return 3.0 * x, lambda bar: min(max(bar, -1.0), 1.0)

    tapec.jvp(clipped, (1.0,), (1.0,))


@misuse
def tangents_of_a_gradient_that_is_called_as_it_is():
    @custom_gradient
    def f(x):
        return sums(x), lambda bar: reversed_sums(bar)

    tapec.jvp(f, (VECTOR,), (VECTOR,))


@misuse
def adjoints_of_a_tangent_that_is_called_as_it_is():
    @custom_jvp
    def f(x):
        return sums(x), lambda dot: sums(dot)

    tapec.grad(lambda x: np.sum(f(x)))(VECTOR)


@misuse
def second_derivative_of_a_gradient_that_is_called_as_it_is():
    @custom_gradient
    def f(x):
        return sums(x), lambda bar: reversed_sums(bar)

    tapec.hessian(lambda x: np.sum(f(x) ** 2))(VECTOR)


# functions that are called as they are


@misuse
def a_derivative_for_a_function_that_has_one():
    tapec.register(np.sin, lambda dy, y, x: dy)


@misuse
def a_derivative_that_is_no_function():
    tapec.register(reversed_sums, 1.0)


@misuse
def a_derivative_of_nothing():
    tapec.register(reversed_sums.function, lambda dy: dy)


@misuse
def a_number_that_is_called_as_it_is():
    tapec.opaque(1.0)


@misuse
def a_type_that_is_none():
    number(lambda x: x * tapec.opaque(len, ("f8", "number"))(VECTOR)[0])


@misuse
def an_object_that_is_called_as_it_is_and_returns_text():
    number(lambda x: x + tapec.opaque(str)(2.0))


@misuse
def a_complex_number_for_what_is_called_as_it_is():
    number(lambda x: x * tapec.opaque(abs)(2.0j * x))
