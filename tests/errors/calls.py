"""Calls and recursion: what is refused."""

from __future__ import annotations

import functools
import operator
from collections import namedtuple

import numpy as np
import scipy.special
import scipy.stats
from numba import guvectorize, vectorize

import tapec
from tests.errors import Refusals

cases = Refusals()
refused = cases.refused
VECTOR = np.array([1.0, 2.0, 3.0])
MATRIX = np.ones((3, 4))
Pair = namedtuple("Pair", ["a", "b"])


def scaled(x, factor, *, offset=0.0):
    return x * factor + offset


@functools.singledispatch
def area(shape):
    return shape * shape


class Shape:
    @functools.singledispatchmethod
    def area(self, shape):
        return shape * shape


@refused(1.0)
def dispatches_by_class(x):
    return area(x)


@refused(1.0, Shape())
def method_that_dispatches(x, shape):
    return shape.area(x)


@refused(1.0)
def no_source_and_no_rule(x):
    return operator.index(x)


@refused(1.0)
def order_of_a_bessel_function(x):
    return scipy.special.jv(x, 2.0)


@refused(1.0)
def keyword_of_a_special_function(x):
    return scipy.special.expit(x, signature="d->d")


@refused(1.0 + 2.0j)
def special_function_of_a_complex_number(x):
    return abs(scipy.special.gamma(x))


@refused(1.0)
def type_of_an_opaque_function(x):
    return x * tapec.opaque(pow, "number")(3.0, 2.0)


@refused(1.0)
def opaque_function_that_does_not_take_ones(x):
    return x * tapec.opaque(len)(3.0)


@refused(1.0)
def opaque_function_of_a_source(x):
    return tapec.opaque(pow)(x, 2.0)


@refused(1.0)
def unknown_opaque_function(x):
    return tapec.opaque(x)(x)


@refused(VECTOR)
def numpys_own_source(x):
    return np.mgrid[0:3].sum() * x[0]


@refused(VECTOR)
def refused_with_a_reason(x):
    return np.roots(x)


@refused(VECTOR)
def function_without_a_rule(x):
    return np.histogram2d(x, x)[0].sum()


@refused(VECTOR)
def unknown_method(x):
    return x.tobytes()


@refused(1.0)
def calls_a_number(x):
    return x(2.0)


@refused(1.0)
def known_function_of_unknown_values(x):
    return x * np.finfo(x).eps


@refused(1.0)
def keyword_of_a_rule(x):
    return np.sin(x, signature="d->d")


@refused(1.0)
def arguments_of_a_rule(x):
    return np.arctan2(x)


@refused(1.0)
def arguments_of_a_named_tuple(x):
    return Pair(x).a


@refused(1.0)
def star_of_a_number(x):
    return scaled(*x)


@refused(1.0)
def double_star_of_a_number(x):
    return scaled(x, **x)


@refused(1.0)
def too_many_arguments(x):
    return scaled(x, 2.0, 3.0)


@refused(1.0)
def unknown_keyword(x):
    return scaled(x, factr=2.0)


@refused(1.0)
def two_values_for_a_parameter(x):
    return scaled(x, 2.0, factor=3.0)


@refused(1.0)
def missing_argument(x):
    return scaled(x)


@refused(VECTOR)
def out_is_no_array(x):
    y = (x, x)
    np.dot(x, x, out=y)
    return x[0]


@refused(1.0)
def unknown_dtype(x):
    return x * np.zeros(3, dtype="U3")[0]


@refused(1.0)
def shape_of_floats(x):
    return np.zeros(x)[0] * x


@refused(1.0)
def like_a_function(x):
    return x * np.zeros_like(len)[0]


@refused(1.0)
def ragged_rows(x):
    return np.array([[x, 2.0], [x]])[0, 0]


@refused(MATRIX)
def reshape_with_an_order(x):
    return x.reshape((4, 3), order="A")[0, 0]


@refused(1.0)
def reshape_of_a_number(x):
    return np.reshape(x, (1,))[0]


@refused(MATRIX)
def two_unknown_extents(x):
    return x.reshape(-1, -1)[0, 0]


@refused(1.0)
def transpose_of_a_number(x):
    return np.transpose(x)


@refused(MATRIX, 1)
def axes_of_the_run(x, k):
    return x.transpose(k, 0)[0, 0]


@refused(MATRIX, 1)
def swapped_axes_of_the_run(x, k):
    return x.swapaxes(k, 0)[0, 0]


@refused(MATRIX, 1)
def expanded_axis_of_the_run(x, k):
    return np.expand_dims(x, k)[0, 0, 0]


@refused(MATRIX)
def reshape_without_a_copy(x):
    return x.reshape(12, copy=False)[0]


@refused(MATRIX, "F")
def order_of_the_run(x, order):
    return np.asarray(x, order=order)[0, 0]


@refused(MATRIX, True)
def copy_or_not_of_the_run(x, again):
    return x.astype(np.float64, copy=again)[0, 0]


@refused(VECTOR)
def inert_function_of_a_function(x):
    return x[np.argsort(len)[0]]


@refused(VECTOR)
def keyword_of_an_inert_function(x):
    return x[np.searchsorted(x, x, sorter=(x, x))[0]]


@refused(np.ones((2, 3, 4)))
def no_such_operation(x):
    return np.linalg.matrix_rank(x)[0] * x[0, 0, 0]


def endless(x, t):
    return x if x > 3.0 else endless(x * 2.0, (x, t))


@refused(1.0)
def recursion_with_tuples(x):
    return endless(x, (x, x))


def filled(a, n):
    if n == 0:
        return [a]
    return filled(a * 2.0, n - 1)


@refused(VECTOR)
def recursion_that_returns_lists(x):
    return filled(x, 3)[0].sum()


def unsettled(x, n):
    if n == 0:
        return 1
    if n == 1:
        return (x, x)
    return unsettled(x, n - 1)


@refused(1.0, 3)
def recursion_without_one_type(x, n):
    return unsettled(x, n)


@refused(VECTOR)
def recursion_that_reads_a_variable_around_it(x):
    scale = x[0] * 2.0

    def shrink(k):
        return 1.0 if k == 0 else scale * shrink(k - 1)

    return shrink(3)


def _first(x, n):
    return x if n <= 0 else _first(0.5 * x, n - 1) * _second(x, n - 1)


def _second(x, n):
    return 2.0 * x if n <= 0 else _first(0.3 * x, n - 1) + _second(np.sin(x), n - 1)


@refused(VECTOR)
def functions_that_call_each_other_and_themselves(x):
    return _first(x[0], 3)


def _with_whole_numbers(x, n):
    return 1.0 * x if n <= 0 else _with_whole_numbers(1, n - 1) + _with_whole_numbers(0.5 * x, n - 1)


@refused(VECTOR)
def recursion_that_comes_back_to_other_types(x):
    return _with_whole_numbers(x[0], 3)


@refused(VECTOR)
def recursion_without_an_end(x):
    def doubled(k):
        return 2.0 * doubled(k - 1)

    return doubled(3) if x[0] > 9.0 else x[0]


@refused(VECTOR)
def recursion_by_new_closures(x):
    def make(scale):
        def shrink(k):
            return 1.0 if k < 1 else shrink(k - 2) + make(scale * 2.0)(k - 1)

        return shrink

    return make(1.0)(3) * x[0]


@refused(VECTOR)
def recursion_that_fills_a_list_around_it(x):
    found = [x[0]]

    def add(k):
        if k > 0:
            found.append(x[k])
            add(k - 1)

    add(2)
    return found[-1]


@refused(VECTOR)
def first_argument_by_name(x):
    return len(obj=x) * x[0]


@refused(np.ones(3))
def argument_that_is_not_read(x):
    return np.ones_like(x, other=2).sum() * x[0]


@refused(np.ones(3))
def axis_of_a_size(x):
    return np.size(x, 0, 1) * x[0]


@refused(np.ones(3))
def strict_zip(x):
    return sum([a * b for a, b in zip((x[0], x[1]), (x[0],), strict=True)])


@refused(np.ones((2, 2)))
def elements_in_memory_order(x):
    return x.T.ravel("K")[1]


@refused(VECTOR)
def padding_by_the_mean(x):
    return np.pad(x, 1, mode="average")[0]


@refused(VECTOR)
def einsum_of_another_rank(x):
    return np.einsum("ij->i", x)[0]


@refused(VECTOR)
def a_reduction_of_an_elementwise_function(x):
    return np.subtract.resolve_dtypes(x)[0]


@refused(VECTOR)
def running_differences_of_integers(x):
    return x[np.subtract.accumulate(np.arange(3))[0]]


@refused(1.0)
def errors_that_raise(x):
    with np.errstate(divide="raise"):
        return 1.0 / x


@refused(1.0)
def the_order_of_a_set(x):
    for k in {"a", "b"}:
        x = x * len(k)
    return x


@refused(1.0)
def any_of_calls(x):
    def large(value):
        return value > 1.0

    return x if any(large(value) for value in (x, x * x)) else x * x


@vectorize
def larger(x, y):
    return x if x > y else y


@vectorize(["float32(float32)"])
def single(x):
    return x * x


@vectorize
def both(x):
    return x, x


@guvectorize("(n)->(n)")
def reversed_rows(x, out):
    out[:] = x[::-1]


@refused(VECTOR)
def out_of_a_vectorised_function(x):
    return larger(x, 2.0, out=x)[0]


@refused(VECTOR)
def arguments_of_a_vectorised_function(x):
    return larger(x)[0]


@refused(VECTOR)
def no_signature_that_fits(x):
    return single(x)[0]


@refused(VECTOR)
def vectorised_tuples(x):
    return both(x)[0]


@refused(VECTOR)
def a_generalised_function(x):
    return reversed_rows(x)[0]


MATRIX = np.array([[2.0, 1.0], [1.0, 3.0]])


@refused(VECTOR)
def where_without_out(x):
    return np.sin(x, where=x > 0.5)[0]


@refused(VECTOR)
def out_twice(x):
    y = np.empty(3)
    return np.sin(x, y, out=y)[0]


@refused(VECTOR)
def casting_of_a_ufunc(x):
    return np.sin(x, casting="unsafe")[0]


@refused(VECTOR)
def integers_of_a_ufunc(x):
    return np.add(x, 1.0, dtype=np.int64)[0]


@refused(VECTOR)
def whole_numbers_out(x):
    return np.sin(x, out=np.empty(3, np.int64))[0]


@refused(VECTOR)
def density_of_another_distribution(x):
    return scipy.stats.alpha.logpdf(x, 2.0)[0]


@refused(VECTOR)
def distribution_without_a_shape(x):
    return scipy.stats.gamma.logpdf(x)[0]


@refused(VECTOR)
def least_rank_of_the_run(x):
    return np.array(x, ndmin=int(x[0]))[0]


@refused(VECTOR)
def text_among_columns(x):
    return np.r_["-1", x][0]


@refused(VECTOR)
def range_without_an_end(x):
    return np.r_[1:, x][0]


@refused(VECTOR)
def axes_that_are_the_same(x):
    return np.expand_dims(x, (0, 0))[0, 0, 0]


@refused(VECTOR)
def unstacked_by_another_keyword(x):
    return np.unstack(x, dtype=float)[0]


@refused(MATRIX)
def a_system_without_a_right_side(x):
    return np.linalg.solve(x)[0, 0]


@refused(MATRIX)
def a_system_with_two_matrices(x):
    return np.linalg.solve(x, x, a=x)[0, 0]


with_types = np.vectorize(scaled, otypes=[float])


@refused(VECTOR)
def a_vectorized_function_with_types(x):
    return np.sum(with_types(x, 2.0))
