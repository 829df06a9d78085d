"""Squares of lengths without roots."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.contractions.squared_norms import square_norms
from tests.optimise.reading import check


def test_the_square_of_a_length_is_a_sum_of_squares():
    check(
        square_norms,
        before="""
        def f(x, y):
            h = np.hypot(x, y)
            s = h ** 2
            return s
        """,
        after="""
        def f(x, y):
            h = np.hypot(x, y)
            t = x * x
            t_1 = y * y
            s = t + t_1
            return s
        """,
    )


def test_in_a_loop_and_by_a_product():
    check(
        square_norms,
        before="""
        def f(x, y, n):
            for k in range(n):
                h = np.hypot(x, y)
                x = h * h
            return x
        """,
        after="""
        def f(x, y, n):
            for k in range(n):
                h = np.hypot(x, y)
                t = x * x
                t_1 = y * y
                x = t + t_1
            return x
        """,
    )


def test_a_length_of_what_has_changed_since_keeps_its_root():
    text = """
        def f(x, y):
            h = np.hypot(x, y)
            x = y
            s = h ** 2
            return s
        """
    check(square_norms, before=text, after=text)


def test_other_powers_keep_their_root():
    text = """
        def f(x, y):
            h = np.hypot(x, y)
            s = h ** 3
            return s
        """
    check(square_norms, before=text, after=text)


def test_powers_of_absolute_values_and_of_cube_roots():
    check(
        square_norms,
        before="""
        def f(x):
            h = np.abs(x)
            s = h ** 4
            r = np.cbrt(x)
            t = r ** 3
            u = r ** 2
            return s + t + u
        """,
        after="""
        def f(x):
            h = np.abs(x)
            t_1 = x * x
            s = t_1 * t_1
            r = np.cbrt(x)
            t = x
            u = r ** 2
            return s + t + u
        """,
    )


def test_the_square_of_a_root_is_nan_where_the_root_is():
    check(
        square_norms,
        before="""
        def f(x):
            r = np.sqrt(x)
            s = r ** 2
            return s
        """,
        after="""
        def f(x):
            r = np.sqrt(x)
            c = x >= 0
            t = 1.0 if c else np.nan
            s = x * t
            return s
        """,
    )


def test_the_length_of_a_length():
    check(
        square_norms,
        before="""
        def f(x, y, z):
            h = np.hypot(x, y)
            r = np.hypot(h, z)
            s = r ** 2
            return s
        """,
        after="""
        def f(x, y, z):
            h = np.hypot(x, y)
            r = np.hypot(h, z)
            t_1 = x * x
            t_2 = y * y
            t = t_1 + t_2
            t_3 = z * z
            s = t + t_3
            return s
        """,
    )


def test_an_array_of_roots_has_one_of_squares_beside_it():
    check(
        square_norms,
        before="""
        def f(a, n):
            a_1 = np.empty(n)
            for i in range(n):
                x = a[i]
                y = np.abs(x)
                a_1[i] = y
            s = 0.0
            for j in range(n):
                z = a_1[j]
                u = z ** 2
                s = s + u
            return s
        """,
        after="""
        def f(a, n):
            a_1 = np.empty(n)
            squares = np.empty(n)
            for i in range(n):
                x = a[i]
                y = np.abs(x)
                a_1[i] = y
                square = x * x
                squares[i] = square
            s = 0.0
            for j in range(n):
                z = a_1[j]
                u = squares[j]
                s += u
            return s
        """,
    )


@pytest.mark.compiled
def test_the_gradient_at_the_origin_is_zero():
    gradient = tapec.grad(lambda x, y: np.hypot(x, y) ** 2, (0, 1))
    assert gradient(0.0, 0.0) == (0.0, 0.0)
    assert gradient(3.0, -4.0) == (6.0, -8.0)


def test_among_other_factors_a_root_has_the_derivative_of_its_square():
    check(
        square_norms,
        before="""
        def f(x, w, b):
            r = np.hypot(x, b)
            t = w * r
            u = r / b
            s = t * u
            return s
        """,
        after="""
        def f(x, w, b):
            r = np.hypot(x, b)
            t = w * r
            u = r / b
            t_2 = x * x
            t_3 = b * b
            t_1 = t_2 + t_3
            t_4 = t_1 * w
            t_5 = t_4 / b
            t_6 = t * u
            s = t_6
            return s
        """,
    )
