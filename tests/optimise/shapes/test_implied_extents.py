"""Slices whose extent follows from the elements that are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import tapec
from tapec.optimise.shapes.implied_extents import implied_extents
from tests.optimise.reading import check
from tests.oracles import check as check_derivative
from tests.oracles import interpreted


def changed(before: str, after: str) -> None:
    # run again, the pass would check again
    check(implied_extents, before, after, again=False)


def same(text: str) -> None:
    """The pass leaves a function as it is."""
    check(implied_extents, text, text)


def test_an_element_behind_a_slice_tells_its_extent():
    changed(
        before="""
        def f(a):
            a_1 = a[3:6]
            n_9 = a_1.shape[0]
            t = a[10]
            return t
        """,
        after="""
        def f(a):
            a_1 = a[3:6]
            size = a_1.shape[0]
            t_1 = size != 3
            if t_1:
                raise IndexError("index 10 is out of bounds")
            n_9 = 3
            t = a[10]
            return t
        """,
    )


def test_the_last_element_of_a_slice_tells_its_extent():
    changed(
        before="""
        def f(a, n_9):
            for i in range(n_9):
                a_1 = a[:2]
                a_1[1] = 0.5
                for j in range(n_9):
                    k = a_1.shape[0]
            return n_9
        """,
        after="""
        def f(a, n_9):
            for i in range(n_9):
                a_1 = a[:2]
                size = a_1.shape[0]
                t = size != 2
                if t:
                    raise IndexError("index 1 is out of bounds")
                a_1[1] = 0.5
                for j in range(n_9):
                    k = 2
            return n_9
        """,
    )


def test_an_element_that_only_a_branch_asks_for_tells_nothing():
    same("""
        def f(a, c):
            a_1 = a[:2]
            n = a_1.shape[0]
            if c:
                t = a[7]
            return n
        """)


def test_an_element_before_the_end_of_a_slice_tells_nothing():
    same("""
        def f(a):
            a_1 = a[1:4]
            n = a_1.shape[0]
            t = a[2]
            u = a_1[1]
            return n
        """)


def test_bounds_from_the_back_tell_nothing():
    same("""
        def f(a):
            a_1 = a[1:-1]
            n = a_1.shape[0]
            t = a[8]
            return n
        """)


def test_a_name_that_is_set_twice_tells_nothing():
    same("""
        def f(a, c):
            if c:
                a_1 = a[:2]
            else:
                a_1 = a[:1]
            n = a_1.shape[0]
            t = a[8]
            return n
        """)


def camera(cams, points):
    total = 0.0
    for i in range(len(points)):
        cam = cams[i]
        axis = cam[:3] * 2.0
        total += np.dot(axis, points[i] - cam[3:6]) * cam[6]
    return total


def test_no_array_is_left_in_an_iteration():
    text = tapec.emit(camera, wrt=(0, 1), signature="f8[:, ::1], f8[:, ::1]", opt_level=2)
    assert "np.empty" not in text


@pytest.mark.parametrize("iterations", [0, 3])
@pytest.mark.parametrize("width", [1, 3])
def test_the_derivative_is_right(iterations, width):
    rng = np.random.default_rng(2)
    check_derivative(camera, (rng.normal(size=(iterations, 7)), rng.normal(size=(iterations, width))), (0, 1))


@pytest.mark.slow
@pytest.mark.compiled
def test_an_array_that_ends_before_the_element_is_an_error():
    gradient = tapec.grad(camera, wrt=(0, 1))
    with pytest.raises(IndexError, match="index 6 is out of bounds"):
        gradient(np.ones((2, 5)), np.ones((2, 2)))
    # no iteration asks for it
    gradient(np.ones((0, 5)), np.ones((0, 2)))


def test_the_users_own_error_comes_first():
    def checked(x):
        middle = x[1:4]
        if x.shape[0] < 7:
            raise ValueError("too short")
        return np.sum(middle * middle) * x[6]

    with interpreted(), pytest.raises(ValueError, match="too short"):
        tapec.grad(checked)(np.ones(5))


@pytest.mark.compiled
def test_arrays_that_do_not_fit_are_refused_as_before():
    with pytest.raises(ValueError, match="broadcast"):
        tapec.grad(camera, wrt=(0, 1))(np.ones((2, 7)), np.ones((2, 2)))


@pytest.mark.slow
@pytest.mark.compiled
def test_the_primal_agrees():
    rng = np.random.default_rng(2)
    args = rng.normal(size=(4, 7)), rng.normal(size=(4, 3))
    value, _ = tapec.value_and_grad(camera, wrt=(0, 1))(*args)
    assert value == pytest.approx(njit(camera)(*args), rel=1e-13)
