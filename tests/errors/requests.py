"""What is asked of the API, and arguments: what is refused."""

from __future__ import annotations

import functools
from typing import Any

import numba
import numpy as np

import tapec
from tests.errors import Refusals

cases = Refusals()
refused, misuse = cases.refused, cases.misuse
VECTOR = np.array([1.0, 2.0, 3.0])
ENDLESS: list[Any] = [1.0]
ENDLESS.append(ENDLESS)


class Model:
    def loss(self, x):
        return x * x


class Node:
    def __init__(self, weight):
        self.weight, self.root = weight, self


def square(x):
    return x * x


def _raising(x):
    if x > 0.0:
        raise ValueError("positive")
    return x


def scaled(factor, x):
    return factor * x


@refused(1.0, wrt="y")
def unknown_parameter(x):
    return x


@refused(1.0, wrt=1)
def parameter_out_of_range(x):
    return x


@refused(1.0, 2.0, wrt=-1)
def position_from_an_unknown_end(*xs):
    return xs[0] * xs[1]


@refused(1.0, 2.0, wrt="xs")
def any_number_of_arguments(*xs):
    return xs[0] * xs[1]


@refused(1.0, wrt=1.5)
def strange_wrt(x):
    return x


@refused(1, wrt=0)
def integer_source(x):
    return x * 2.0


@refused({"values": np.ones(2), "places": (np.array([0, 1]), 2.0)})
def integers_in_a_source(table):
    return table["values"][table["places"][0][1]]


@refused(1.0, None, wrt=1)
def constant_source(x, y=None):
    return x * 2.0


@refused(VECTOR)
def target_is_an_array(x):
    return x * 2.0


@refused(VECTOR)
def target_is_a_tuple(x):
    return x[0], x[1]


@refused(VECTOR)
def target_is_an_integer(x):
    return len(x)


@refused(VECTOR)
def target_is_nothing(x):
    x[0] = 1.0


@refused(VECTOR)
def target_that_always_raises(x):
    if x.ndim < 2:
        raise ValueError("give a matrix")
    return x[0]


@refused(VECTOR)
def norm_of_another_order(x):
    return np.linalg.norm(np.outer(x, x), 3) + 1.0


@refused(VECTOR, call=tapec.jacobian)
def block_of_an_integer(x):
    return x * 2.0, len(x)


@refused(1.0 + 2.0j)
def complex_argument(x):
    return x


@refused("text", wrt=0)
def string_source(x):
    return 1.0


@refused(np.array(["a"]))
def array_of_words(x):
    return 1.0


@refused({1: 2.0})
def dict_with_numbers_as_keys(x):
    return x


@refused(object())
def object_argument(x):
    return x


@refused(Node(2.0))
def object_that_holds_itself(node):
    return node.root.weight


@refused(ENDLESS)
def list_that_holds_itself(x):
    return x[0]


@refused(1.0)
def keyword_only_parameter_without_default(x=1.0, *, scale):
    return x * scale


@refused(1.0, wrt=2)
def source_among_extra_arguments(*x):
    return x[0]


@refused(VECTOR, VECTOR[:2])
def overlapping_arguments(x, y):
    y[0] = 2.0
    return x.sum() * y[1]


@refused(np.lib.stride_tricks.as_strided(np.array([3.0]), (2,), (0,)))
def an_argument_that_overlaps_itself(x):
    x[0] = x[0] * x[1]
    return x[1] ** 2


@misuse
def the_same_array_as_two_sources():
    def f(x, y):
        x[0] = 2.0
        return x.sum() * y.sum()

    shared = VECTOR.copy()
    tapec.grad(f, wrt=(0, 1))(shared, shared)


@misuse
def source_that_a_partial_function_gives():
    tapec.grad(functools.partial(scaled, 2.0), wrt="factor")


@misuse
def source_beyond_what_a_partial_function_leaves():
    tapec.grad(functools.partial(scaled, 2.0), wrt=1)


@misuse
def signature_beside_arguments():
    tapec.explain(square, signature="f8", args=(1.0,))


@misuse
def arguments_of_no_type():
    tapec.explain(square, args=(object(),))


@misuse
def arguments_for_which_the_function_raises():
    tapec.explain(_raising, args=(1.0,))


@misuse
def unknown_option():
    tapec.grad(square, optimise=3)


@misuse
def wrong_level():
    tapec.grad(square, opt_level=3)


@misuse
def wrong_math():
    tapec.grad(square, math="exact")


@misuse
def implicit_root_of_nothing():
    tapec.implicit_root(square, 1.0)


@misuse
def implicit_root_without_parameters():
    tapec.implicit_root(square, square)


@misuse
def implicit_root_by_no_parameter():
    tapec.implicit_root(lambda x, a: x - a, square, wrt=1)


@misuse
def implicit_root_with_another_linear_solve():
    tapec.implicit_root(lambda x, a: x - a, square, linear="full")


@misuse
def loop_until_convergence_of_nothing():
    tapec.converged(1.0)


@misuse
def loop_until_convergence_without_parameters():
    tapec.converged(square)


@misuse
def fixed_point_of_nothing():
    tapec.fixed_point(1.0, square)


@misuse
def wrong_debug():
    tapec.grad(square, debug="inf")


@misuse
def strict_by_number():
    tapec.grad(square, strict=1)


@misuse
def memory_without_unit():
    tapec.grad(square, memory="500")


@misuse
def limited_tape():
    tapec.GradientTape(memory="500MB")


@misuse
def source_of_a_bound_method():
    tapec.emit(Model().loss)


@misuse
def not_a_function():
    tapec.grad(3.0)


@misuse
def source_is_not_known():
    namespace = {}
    exec("def f(x):\n    return [x for _ in range(2)][0]\n", namespace)
    tapec.grad(namespace["f"])(1.0)


@misuse
def tangents_are_no_tuple():
    tapec.jvp(square, 1.0, 1.0)


@misuse
def too_few_tangents():
    tapec.jvp(square, (1.0,), ())


@misuse
def tangent_of_another_structure():
    tapec.jvp(lambda t: t[0], ((1.0, 2.0),), ((1.0,),))


@misuse
def tangent_of_another_shape():
    tapec.jvp(np.sum, (VECTOR,), (np.ones(2),)) if False else tapec.jvp(lambda x: x.sum(), (VECTOR,), (np.ones(2),))


@misuse
def tangent_of_a_number_is_an_array():
    tapec.jvp(square, (1.0,), (np.ones(2),))


@misuse
def cotangent_of_another_structure():
    _, pullback = tapec.vjp(lambda x: (x, x), 1.0)
    pullback(1.0)


@misuse
def pullback_after_a_change_of_what_was_read():
    factors = [2.0, 3.0]
    _, pullback = tapec.vjp(lambda x: [x * factor for factor in factors], 1.0)
    factors.append(4.0)
    pullback([1.0, 1.0])


@misuse
def unknown_mode():
    tapec.jacobian(square, mode="sideways")


@misuse
def checks_no_tuple():
    tapec.check_grads(square, 1.0)


@misuse
def checks_no_order():
    tapec.check_grads(square, (1.0,), order=0)


@misuse
def checks_no_floats():
    tapec.check_grads(square, (1,))


@misuse
def an_argument_to_check_that_is_not_there():
    tapec.check_grads(square, (1.0,), wrt="y")


@misuse
def an_argument_to_check_that_cannot_be_moved():
    tapec.check_grads(lambda x, p: x * p[0] * p[1], (1.0, (2.0, 3)), wrt="p")


@misuse
def emits_a_large_table():
    table = np.zeros(5000)
    tapec.emit(lambda x: x * table[1], signature="f8")


@misuse
def annotation_is_missing():
    tapec.emit(square)


@misuse
def unreadable_signature():
    tapec.emit(square, signature="f8[")


@misuse
def unknown_type_in_a_signature():
    tapec.emit(square, signature="f9")


@misuse
def signature_of_no_type():
    tapec.emit(square, signature="3")


@misuse
def signature_of_a_number():
    tapec.emit(square, signature=(numba.optional(numba.float64),))


@misuse
def cotangent_with_other_keys():
    _, pull = tapec.vjp(tapec.grad(lambda d: d["a"] * d["b"]), {"a": 1.0, "b": 2.0})
    pull({"a": 1.0, "c": 2.0})


@misuse
def source_that_takes_arguments_by_name_alone():
    tapec.grad(lambda x, **named: x, 1)


@misuse
def source_by_name_that_has_its_argument():
    def f(x, *rest, k):
        return x * k

    tapec.grad(functools.partial(f, k=2.0), "k")
