"""Temporaries are called after what they hold; `coalesce` prints them so."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.simplify.variable_names import coalesce
from tests.optimise.reading import check


def test_each_says_what_it_holds():
    check(
        coalesce,
        before="""
        def f(a, A, B, x, n):
            t_1 = a[0]
            t_2 = x ** 2
            t_3 = t_1 * t_2
            t_5 = a.shape[0]
            t_6 = A.shape[1]
            for i in range(t_5):
                t_7 = a[i - 1]
                t_8 = A[i, n]
                a[i] = t_7 * t_8
            t_9 = a[n - 1]
            t_10 = n - 1
            t_11 = np.sqrt(x)
            return t_1, t_2, t_3, t_6, t_9, t_10, t_11
        """,
        after="""
        def f(a, A, B, x, n):
            a0 = a[0]
            x_squared = x ** 2
            product = a0 * x_squared
            a_size = a.shape[0]
            A_cols = A.shape[1]
            for i in range(a_size):
                a_previous = a[i - 1]
                A_in = A[i, n]
                a[i] = a_previous * A_in
            a_last = a[n - 1]
            n_less_one = n - 1
            root = np.sqrt(x)
            return a0, x_squared, product, A_cols, a_last, n_less_one, root
        """,
        words="a A B x n",
    )


def test_adjoints_and_tangents():
    check(
        coalesce,
        before="""
        def f(x, y, x_bar, y_dot):
            t_1 = x * x_bar
            t_2 = t_1 + y
            t_3 = y_dot - y
            t_4 = -t_3
            return t_2, t_4
        """,
        after="""
        def f(x, y, x_bar, y_dot):
            adjoint = x * x_bar
            adjoint_1 = adjoint + y
            tangent = y_dot - y
            tangent_1 = -tangent
            return adjoint_1, tangent_1
        """,
        words="x y",
    )


@pytest.mark.parametrize(("words", "name"), [("x", "product"), ("x product", "tmp")])
def test_no_name_is_a_version_of_a_variable_of_the_users(words: str, name: str):
    check(
        coalesce,
        before="""
        def f(x):
            t_1 = x * x
            return t_1
        """,
        after=f"""
        def f(x):
            {name} = x * x
            return {name}
        """,
        words=words,
    )


def test_what_is_kept_and_taken_back_is_called_after_what_was_kept():
    check(
        coalesce,
        before="""
        def f(x, n):
            t_1_stack = stack()
            for i in range(n):
                t_1 = x * i
                t_1_stack.append(t_1)
            y = 0.0
            for j in range(n):
                t_2 = t_1_stack.pop()
                y = y + t_2
            return y
        """,
        after="""
        def f(x, n):
            product_stack = [0.0][:0]
            for i in range(n):
                product = x * i
                product_stack.append(product)
            y = 0.0
            for j in range(n):
                product_1 = product_stack.pop()
                y += product_1
            return y
        """,
        words="x y n",
        again=False,
    )


def test_functions_with_options_and_without_a_noun():
    """Options are part of an operation's name in core."""

    def f(x):
        place = np.searchsorted(np.array([0.0, 1.0]), x[0], side="right") * x[0]
        return np.hypot(x[0], x[1]) * np.hypot(x[0], x[1]) * place

    text = tapec.emit(f, signature="f8[::1]", opt_level=1)
    compile(text, "generated", "exec")
    assert "hypot_value = np.hypot(" in text
