"""Derivatives inside differentiated functions, of functions that write into an array which they are given twice."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.errors import ArgumentOverlap
from tests.sampling import sampled

X = np.array([1.0, 2.0, 3.0, 4.0])
MATRIX = np.arange(1.0, 13.0).reshape(3, 4) / 5.0

pytestmark = pytest.mark.generated


def written(a, b):
    a[0] = 3.0 * a[1]
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i] * b[i] * b[i]
    return s


def elementwise(a, b):
    a[0] = 3.0 * a[1] * b[2]
    return a * b


def read(a, b):
    return (a * b * b).sum()


def rebound(a, b):
    a = a * 2.0
    b[0] = 3.0
    return (a * b).sum()


def slope(f, *args):
    v, g = tapec.value_and_grad(f)(*args)
    return v + (g * g).sum()


def in_a_loop(f, *args):
    s = 0.0
    for _ in range(2):
        v, g = tapec.value_and_grad(f)(*args)
        s += v * g[1]
    return s


def tangent(f, *args):
    v, d = tapec.jvp(f, args, (np.ones(4), None)[: len(args)])
    return v * d


def hessian(f, *args):
    return (tapec.hessian(f)(*args) ** 2).sum()


def product(f, *args):
    return (tapec.hvp(f)(*args, np.ones(4)) ** 2).sum()


def second(f, *args):
    return (tapec.grad(lambda x: slope(f, *(x for _ in args)))(args[0]) ** 2).sum()


def differences(f, x, h=1e-5):
    return np.array([(f(x + step) - f(x - step)) / (2.0 * h) for step in h * np.eye(x.size)])


def check(f, reference):
    value, gradient = tapec.value_and_grad(f)(X.copy())
    np.testing.assert_allclose(value, reference(X.copy()))
    np.testing.assert_allclose(gradient, differences(reference, X), rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("derived", sampled([slope, in_a_loop, tangent, hessian, product, second], 6))
def test_an_array_that_is_passed_twice_is_one(derived):
    check(lambda x: derived(written, x, x), lambda x: derived(lambda a: written(a, a), x))


@pytest.mark.slow
def test_the_second_argument_may_be_the_one_that_is_written():
    check(lambda x: slope(rebound, x, x), lambda x: slope(lambda a: rebound(a, a), x))


def third_written(a, b, c):
    c[0] = 3.0 * c[1]
    return (a * b * c).sum()


def test_an_array_may_be_passed_three_times():
    check(lambda x: slope(third_written, x, x, x), lambda x: slope(lambda a: third_written(a, a, a), x))


@pytest.mark.slow
def test_an_array_that_is_passed_twice_by_name_is_one():
    check(
        lambda x: tapec.grad(written)(a=x, b=x)[1],
        lambda x: tapec.grad(lambda a: written(a, a))(x)[1],
    )


@pytest.mark.slow
def test_jacobians_by_an_array_that_is_passed_twice():
    check(
        lambda x: (tapec.jacobian(elementwise)(x, x) ** 2).sum(),
        lambda x: (tapec.jacobian(lambda a: elementwise(a, a))(x) ** 2).sum(),
    )


@pytest.mark.slow
def test_a_complex_array_that_is_passed_twice():
    def f(a, b):
        a[0] = a[1] * b[2]
        return abs((a * b).sum())

    def twice(x):
        z = x + 1j * x[::-1]
        return (abs(tapec.grad(f)(z, z)) ** 2).sum()

    check(twice, lambda x: (abs(tapec.grad(lambda a: f(a, a))(x + 1j * x[::-1])) ** 2).sum())


def only_read(x):
    return slope(read, x, x)


def buffers_change_places(x):
    s, a, b = 0.0, x, 2.0 * x
    for _ in range(3):
        v, g = tapec.value_and_grad(written)(a, b)
        s += v * g[1]
        a, b = b, a
    return s


def halves(x):
    return slope(written, x[:2], x[2:])


def chosen(x):
    y = 2.0 * x
    return tapec.value_and_grad(written)(x if x[0] > 0.5 else y, y)[0]


@pytest.mark.parametrize("f", sampled([only_read, buffers_change_places, halves, chosen], 4))
def test_arrays_that_share_nothing_that_is_written_stay_as_they_are(f):
    check(f, lambda x: f(x.copy()))


@pytest.mark.slow
def test_elements_in_turn_are_apart():
    check(lambda x: slope(written, x[::2], x[1::2]), lambda x: slope(written, x[::2].copy(), x[1::2].copy()))


def columns(m):
    return slope(written, m[:, 0], m[:, 1])


def copied_columns(m):
    return slope(written, m[:, 0].copy(), m[:, 1].copy())


@pytest.mark.slow
def test_columns_of_a_matrix_are_apart():
    value, gradient = tapec.value_and_grad(columns)(MATRIX.copy())
    wanted, by_copies = tapec.value_and_grad(copied_columns)(MATRIX.copy())
    np.testing.assert_allclose(value, wanted)
    np.testing.assert_allclose(gradient, by_copies)


def overlapping(x):
    return tapec.value_and_grad(written)(x[:3], x[1:])[0]


def chosen_array(x):
    y = 2.0 * x
    return tapec.value_and_grad(written)(x if x[0] > 5.0 else y, y)[0]


def one_array_later(x):
    s, a, b = 0.0, x, 2.0 * x
    for _ in range(2):
        s += tapec.value_and_grad(written)(a, b)[0]
        a = b
    return s


def both_tangents(x):
    return tapec.jvp(written, (x[:3], x[1:]), (np.ones(3), None))[1]


def rows_of_one_number(m, i, j):
    return tapec.grad(written)(m[i], m[j]).sum()


@pytest.mark.parametrize("f", sampled([overlapping, chosen_array, one_array_later, both_tangents], 2))
def test_arrays_that_the_run_finds_to_share_memory_are_refused(f):
    with pytest.raises(ValueError, match="share memory, and one of them is written"):
        tapec.value_and_grad(f)(X.copy())


def test_rows_are_refused_where_they_are_one():
    gradient = tapec.grad(rows_of_one_number)
    np.testing.assert_allclose(gradient(MATRIX.copy(), 0, 1)[1], MATRIX[1] * [6.0, 2.0, 2.0, 2.0])
    with pytest.raises(ValueError, match="share memory"):
        gradient(MATRIX.copy(), 1, 1)


def recursive(a, b, k):
    if k == 0:
        return a[0] * b[1]
    a[0] = a[0] * b[1]
    return recursive(a, b, k - 1)


def refused_inside(x, y):
    return recursive(x, x, 2) + y[0]


@pytest.mark.slow
@pytest.mark.compiled
def test_what_the_program_passes_on_is_refused_also_if_its_own_arguments_are_one():
    x = X.copy()
    for f in (refused_inside, lambda x, y: overlapping(x) + y[0]):
        with pytest.raises(ArgumentOverlap, match="share memory"):
            tapec.grad(f)(x, x)


@pytest.mark.slow
def test_separate_memory_is_not_asked_for():
    def apart(x):
        return tapec.grad(written)(x, x + 1.0).sum() + tapec.grad(read)(x, x[:]).sum()

    gradient = tapec.grad(apart)
    gradient(X.copy())
    assert "tapec_runtime.meet" not in gradient.source()
