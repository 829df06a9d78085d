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


@pytest.mark.compiled
def test_the_gradient_at_the_origin_is_zero():
    gradient = tapec.grad(lambda x, y: np.hypot(x, y) ** 2, (0, 1))
    assert gradient(0.0, 0.0) == (0.0, 0.0)
    assert gradient(3.0, -4.0) == (6.0, -8.0)
