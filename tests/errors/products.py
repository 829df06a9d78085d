"""Products with Jacobians and Hessians, linear maps, batches, and what is returned beside a number: what is refused."""

from __future__ import annotations

import functools

import numpy as np
import scipy.special

import tapec
from tapec.sparse_source import with_fixed_pattern
from tests.errors import Refusals

cases = Refusals()
refused, misuse = cases.refused, cases.misuse
VECTOR = np.array([1.0, 2.0, 3.0])


def square(x):
    return x * x


def product(x, y):
    return x * y


@misuse
def tangent_of_an_array_is_a_number():
    tapec.jvp_fun(square)(VECTOR, 1.0)


@misuse
def tangent_of_fewer_items():
    tapec.jvp_fun(lambda p: p[0] * p[1])((1.0, 2.0), (1.0,))


@misuse
def complex_tangent_of_a_real_number():
    tapec.jvp_fun(square)(1.0, 1j)


@misuse
def cotangent_with_other_keys():
    tapec.vjp_fun(lambda p: p)({"a": 1.0}, {"b": 1.0})


@misuse
def an_argument_that_moves_twice():
    tapec.jvp_fun(product, wrt=(0, "x"))


@misuse
def an_argument_with_two_vectors():
    tapec.hvp(product, wrt=(0, "x"))


@misuse
def a_vector_for_two_arguments_in_the_order_of_scipy():
    tapec.hessp(product, wrt=(0, 1))


@refused(1.0)
def a_product_with_arguments_by_name(x):
    return tapec.gnvp(square)(x=x, v=x)


@refused(1.0)
def a_tangent_too_few(x):
    return tapec.jvp_fun(product, wrt=(0, 1))(x, y=x)[1]


@refused(1.0)
def an_inner_argument_with_two_tangents(x):
    return tapec.jvp_fun(product, wrt=(0, -2))(x, x, x, x)[1]


@refused(1.0)
def an_inner_argument_with_two_vectors(x):
    return tapec.hvp(product, wrt=(0, 0))(x, x, (x, x))[0]


@refused(1.0)
def a_tangent_of_no_argument(x):
    return tapec.jvp_fun(product, wrt="z")(x, x, x)[1]


@refused(1.0)
def a_tangent_of_an_argument_that_is_left_out(x):
    return tapec.jvp_fun(lambda x, y=2.0: x * y, wrt=1)(x, x)[1]


@refused(1.0)
def a_pullback_without_a_cotangent(x):
    return tapec.vjp_fun(square)(x=x)[1]


@refused(1.0)
def a_cotangent_of_another_structure(x):
    return tapec.vjp_fun(square)(x, (x, x))[1]


@refused(1.0)
def a_cotangent_that_is_a_function(x):
    return tapec.vjp_fun(square)(x, square)[1]


@misuse
def a_linear_map_of_integers():
    tapec.linearize(square, 1)


@misuse
def a_tangent_of_an_integer():
    tapec.linearize(product, 1.0, 2)[1](1.0, 1)


@misuse
def a_complex_linear_map_as_a_matrix():
    tapec.linearize(square, np.ones(2, complex))[1].matvec(np.ones(2))


@misuse
def batches_of_a_partial_function():
    tapec.vmap(functools.partial(product, 1.0))


@misuse
def batches_of_any_number_of_arguments():
    tapec.vmap(lambda *x: x[0])


@misuse
def axes_for_other_arguments():
    tapec.vmap(product, in_axes=(0,))


@misuse
def axes_for_no_argument():
    tapec.vmap(product, in_axes=None)


@misuse
def results_along_two_axes():
    tapec.vmap(product, out_axes=(0, 1))


@misuse
def the_keyword_of_jax():
    tapec.grad(product, argnums=1)


@refused(1.0)
def the_keyword_of_jax_in_differentiated_code(x):
    return tapec.grad(product, argnums=1)(x, x)


@misuse
def what_is_beside_in_another_transform():
    tapec.jvp_fun(square, has_aux=True)


@refused(1.0)
def what_is_beside_in_another_transform_in_differentiated_code(x):
    return tapec.jvp_fun(square, has_aux=True)(x, x)[1]


@refused(1.0)
def several_directions_in_differentiated_code(x):
    return tapec.jvp_fun(square, directions=True)(x, np.ones(2))[1][0]


@misuse
def several_directions_of_a_complex_result():
    tapec.jvp_fun(lambda x: x * 1j, directions=True)(1.0, np.ones(2))


@refused(1.0)
def nothing_beside_the_blocks_in_differentiated_code(x):
    return tapec.jacobian(square, has_aux=True)(x)[0]


@refused(1.0, has_aux=True)
def nothing_beside_the_number(x):
    return x * x


@refused(1.0)
def nothing_beside_the_number_in_differentiated_code(x):
    return tapec.grad(square, has_aux=True)(x)[0]


@misuse
def nothing_beside_the_value():
    tapec.vjp(square, 1.0, has_aux=True)


@misuse
def a_result_of_which_a_part_has_two_types():
    def pair(x):
        if x[0] > 0.0:
            found = x, 1.0
        else:
            found = x[0], 2.0
        return found

    tapec.vjp(pair, np.ones(2))


@misuse
def an_expansion_of_no_order():
    tapec.taylor(square, 1.0, 1.0, 0)


@misuse
def an_expansion_with_more_coefficients_than_its_order():
    tapec.taylor(square, 1.0, [1.0, 0.0, 0.0], 2)


@misuse
def an_expansion_with_too_few_directions():
    tapec.taylor(product, (1.0, 2.0), (1.0,), 2)


@misuse
def an_explanation_of_a_pullback():
    tapec.explain(square, signature="f8", mode="vjp")


@misuse
def a_fixed_pattern_of_a_structure():
    with_fixed_pattern(lambda x: x[0] * x[1], 0, ((1.0, 2.0),), "sparse_jacobian", {})


@misuse
def a_gradient_of_some_order():
    tapec.emit(square, signature="f8", mode="hvp", order=2)


@refused(np.eye(2), np.eye(2), call=tapec.taylor_fun, order=2)
def an_expansion_of_a_pseudoinverse(x):
    return np.linalg.pinv(x)


@refused(1.5, 0.5, 1.0, call=tapec.taylor_fun, order=8)
def an_expansion_that_does_not_close(x, order):
    return scipy.special.jv(order, x)


@tapec.custom_gradient
def own_square(x):
    return x * x, lambda y_bar: 2.0 * x * y_bar


@refused(1.5, 1.0, call=tapec.taylor_fun, order=2)
def an_expansion_of_a_custom_gradient(x):
    return own_square(x)


def countdown(x, n):
    return x if n == 0 else x * countdown(x, n - 1)


@refused(1.5, 3, 1.0, call=tapec.taylor_fun, order=2)
def an_expansion_of_a_recursive_function(x, n):
    return countdown(x, n)


@refused(1.5)
def an_expansion_along_a_curve_in_differentiated_code(x):
    return tapec.taylor_fun(square, order=2, series=True)(x, (1.0, 0.5))[2]


@refused(1.5, 2)
def an_expansion_of_an_unknown_order_in_differentiated_code(x, order):
    return tapec.taylor(square, x, 1.0, order)[2]
