"""Derivatives inside functions, custom gradients, checks: what is refused."""

from __future__ import annotations

import sys
from unittest import mock

import numpy as np

import tapec
from tests.errors import Refusals

cases = Refusals()
_runs: list[int] = []
refused, misuse = cases.refused, cases.misuse
VECTOR = np.array([1.0, 2.0, 3.0])


def square(x):
    return x * x


def listed(x):
    return [x, x * x]


@refused(1.0, 0)
def wrt_of_the_run(x, n):
    return tapec.grad(square, n)(x)


@refused(VECTOR)
def batch_made_inside(x):
    return np.sum(tapec.vmap(square)(x))


@refused(1.0)
def compiled_function_made_inside(x):
    return tapec.function(square)(x)


@refused(1.0)
def product_without_a_vector(x):
    return tapec.hvp(square)()


@refused(1.0)
def product_with_two_vectors(x):
    return tapec.hvp(square)(x, (x, x))


@refused(1.0)
def inner_argument_out_of_range(x):
    return tapec.grad(square, 2)(x)


@refused(1.0)
def inner_argument_by_a_wrong_name(x):
    return tapec.grad(square, "y")(x)


@refused(1.0)
def inner_source_of_integers(x):
    return tapec.grad(square)(3) * x


@refused(1.0)
def inner_function_of_lists(x):
    return tapec.grad(listed)(x)


@refused(VECTOR)
def inner_target_is_an_array(x):
    return tapec.grad(square)(x).sum()


@refused(VECTOR)
def inner_jacobian_of_integers(x):
    return tapec.jacobian(len)(x) * x[0] if x[0] > 5.0 else tapec.jacobian(lambda a: a.size)(x)[0]


@refused(VECTOR, call=tapec.jacobian)
def jacobian_of_random_numbers(x):
    return x * np.random.rand()


@misuse
def jacobian_by_a_list():
    tapec.jacobian(lambda p: p[0] * p[1])([VECTOR, 2.0])


@misuse
def pulls_back_into_mixed_structures():
    tapec.vjp(lambda p: p[0] * p[1], (1.0, 2))


@misuse
def a_tangent_with_a_hole():
    tapec.jvp(lambda x, p: x * p[0], (1.0, (1.0, None)), (1.0, (None, None)))


def seven_loops(x, a):
    s = 0.0
    for i in range(a):
        for j in range(i):
            for k in range(j):
                for l in range(k):
                    for m in range(l):
                        for n in range(m):
                            for o in range(n):
                                s += x[o] * x[a]
    return s


def fourteen_loops(x, a):
    s = 0.0
    for i in range(a):
        for j in range(i):
            for k in range(j):
                for l in range(k):
                    for m in range(l):
                        for n in range(m):
                            for o in range(n):
                                s += seven_loops(x, o) * x[a]
    return s


@refused(VECTOR, 2)
def more_loops_inside_each_other_than_python_compiles(x, a):
    s = 0.0
    for i in range(a):
        for j in range(i):
            for k in range(j):
                for l in range(k):
                    for m in range(l):
                        for n in range(m):
                            for o in range(n):
                                s += fourteen_loops(x, o) * x[a]
    return s


def own_slope(x, n):
    return x * x if n == 0 else tapec.grad(own_slope)(x * 1.1, n - 1) * x


@refused(1.0)
def derivative_of_a_recursion_within_itself(x):
    return own_slope(x, 2)


@misuse
def a_derivative_at_a_jump():
    tapec.check_grads(lambda x: np.floor(x), (1.0,))


@refused(VECTOR)
def checkpointed_loop_that_draws(x):
    s = x[0]
    for _ in tapec.checkpointed(range(9), slots=2):
        s = s * np.random.normal()
    return s


@refused(VECTOR)
def checkpointed_loop_with_a_growing_list(x):
    values = [x[0]]
    for _ in tapec.checkpointed(range(9), slots=2):
        values.append(values[-1] * x[1])
    return values[-1]


@refused(VECTOR)
def checkpointed_array_written_and_replaced(x):
    u = x.copy()
    for _ in tapec.checkpointed(range(9), slots=2):
        u[0] = u[1]
        u = 2.0 * u
    return u.sum()


@refused(VECTOR)
def checkpointed_array_written_later(x):
    u = x
    for _ in tapec.checkpointed(range(9), slots=2):
        u = 2.0 * u
    u[0] = 1.0
    return u.sum()


@refused(VECTOR, memory="1MB")
def unknown_memory(x):
    s = x[0]
    while s > 0.01:
        s = np.sin(s) * x[1]
    return s


@refused(1.0)
def tangents_that_are_no_tuple(x):
    return tapec.jvp(square, x, 1.0)[1]


@refused(VECTOR)
def a_tangent_of_another_rank(x):
    return tapec.jvp(square, (x,), (1.0,))[1].sum()


@refused(1.0)
def a_tangent_in_a_dict(x):
    return tapec.jvp(lambda p: p["a"], ({"a": x},), ({"a": 1.0},))[1]


@refused(1.0)
def tangent_of_an_integer(x):
    return x * tapec.jvp(int, (x,), (1.0,))[1]


@refused(1.0)
def option_of_a_pullback(x):
    return tapec.vjp(square, x, wrt=0)[0]


@refused(VECTOR)
def mixture_in_a_pullback(x):
    return tapec.vjp(sum, (x[0], 1))[0]


@refused(1.0)
def list_in_a_pullback(x):
    return tapec.vjp(sum, [x, x])[0]


@refused(VECTOR)
def pullback_of_random_draws(x):
    return tapec.vjp(lambda y: y * np.random.normal(0.0, 1.0), x)[0].sum()


@refused(VECTOR)
def pullback_of_a_function_that_writes(x):
    def doubled(y):
        y *= 2.0
        return y * y

    return tapec.vjp(doubled, x * 1.0)[0].sum()


@refused(VECTOR)
def pullback_of_what_was_overwritten(x):
    y = x * 1.0
    value, pullback = tapec.vjp(square, y)
    y[0] = 2.0
    return pullback(value)[0].sum()


@refused(VECTOR)
def pullback_in_a_branch(x):
    value, pullback = tapec.vjp(square, x)
    return pullback(value)[0].sum() if x[0] > 0 else value.sum()


@refused(1.0)
def pullback_of_two_cotangents(x):
    return tapec.vjp(square, x)[1](1.0, 2.0)[0]


@refused(1.0)
def pullback_of_a_tuple(x):
    return tapec.vjp(square, x)[1]((1.0, 2.0))[0]


@refused(VECTOR)
def cotangent_of_another_rank(x):
    return tapec.vjp(square, x)[1](1.0)[0].sum()


@refused(1.0)
def pullback_of_an_integer(x):
    return tapec.vjp(int, x)[1](1)[0]


def written_through(a, b):
    a[0] = 3.0 * a[1]
    return (a * b).sum()


@refused(VECTOR.copy())
def inner_source_that_is_another_argument(x):
    return tapec.grad(written_through, wrt="b")(x, x).sum()


@refused(VECTOR.copy())
def inner_tangent_of_an_array_that_is_passed_twice(x):
    return tapec.jvp(written_through, (x, x), (np.ones(3), np.ones(3)))[1]


@refused(VECTOR.copy())
def inner_argument_that_is_read_from_outside(x):
    def f(a):
        a[0] = 3.0 * a[1]
        return (a * x).sum()

    return tapec.grad(f)(x).sum()


@refused(VECTOR.copy())
def inner_arguments_that_share_memory(x):
    return tapec.grad(written_through)(x[:2], x[1:]).sum()


@refused(VECTOR.copy())
def inner_argument_and_an_array_from_outside(x):
    def f(a):
        a[0] = 3.0 * a[1]
        return (a * x[1:]).sum()

    return tapec.grad(f)(x[:2]).sum()


@refused(VECTOR)
def inner_function_that_writes_to_views_from_outside(x):
    y = x * 2.0
    z = y[:2]

    def f(s):
        y[1] = s * s
        return (z * z).sum()

    return tapec.grad(f)(x[0])


@misuse
def vector_beside_a_tuple_of_sources():
    tapec.hvp(square, wrt=(0,))(1.0, 1.0)


@misuse
def vector_in_a_tuple():
    tapec.hvp(lambda x: np.sum(x * x))(VECTOR, (VECTOR,))


@misuse
def array_of_another_byte_order():
    tapec.grad(lambda x: np.sum(x * x))(VECTOR.astype(">f8"))


@misuse
def masked_array():
    tapec.grad(lambda x: np.sum(x * x))(np.ma.masked_array(VECTOR, [True, False, False]))


@refused(1.0)
def derivative_by_a_dict_that_is_changed(x):
    def f(d):
        d["a"] = 2.0 * d["a"]
        return d["a"]

    return tapec.grad(f)({"a": x})["a"]


@refused(VECTOR, call=tapec.sparse_jacobian)
def sparse_jacobian_of_random_numbers(x):
    return x * np.random.random()


@misuse
def sparse_jacobian_by_extra_arguments_that_are_not_given():
    tapec.sparse_jacobian(lambda *xs: xs[0] * 2.0, wrt=(0, 1))(VECTOR)


@misuse
def sparse_jacobian_written_into_another_matrix():
    derivative = tapec.sparse_jacobian(lambda x: x * x)
    derivative.fill(derivative(VECTOR[:2]), VECTOR)


@misuse
def sparse_jacobian_of_what_is_no_function_of_its_arguments():
    count = tapec.opaque(lambda: float(len(_runs)) if _runs.append(0) is None else 0.0, "f8")

    def f(x):
        y = x
        for _ in range(int(count())):
            y = y * x[0]
        return y

    tapec.sparse_jacobian(f)(VECTOR)


_sparse = tapec.sparse_hessian(lambda x: np.sum(x**3))


@refused(VECTOR)
def sparse_hessian_inside(x):
    return _sparse(x).sum()


@misuse
def sparse_hessian_within_a_limit():
    tapec.sparse_hessian(np.sum, memory="1MB")


@misuse
def sparse_jacobian_without_scipy():
    with mock.patch.dict(sys.modules, {"scipy.sparse": None}):
        tapec.sparse_jacobian(lambda x: x * 2.0)(VECTOR)


@refused(VECTOR, call=tapec.sparse_hessian)
def sparse_hessian_of_an_array(x):
    return x * x


def cubed(x):
    return x**3


@refused(1.0)
def gradient_of_three_arguments(x):
    return tapec.grad(cubed, 0, 1)(x)


@refused(1.0)
def options_by_position(x):
    return tapec.stop_gradient(x, 1) * x


@refused(1.0)
def argument_given_twice(x):
    return tapec.grad(cubed, 0, wrt=0)(x)


@refused(1.0)
def decorator_that_makes_a_derivative(x):
    return tapec.grad()(cubed)(x)
