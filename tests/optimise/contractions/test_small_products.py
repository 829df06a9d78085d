"""Products of small arrays, written out."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.contractions.small_products import write_out_products
from tests.optimise.reading import check
from tests.oracles import check as check_derivative
from tests.oracles import interpreted


def test_a_product_of_small_vectors_is_a_loop():
    check(
        write_out_products,
        before="""
        def f(n):
            a = np.empty(3)
            a_1 = np.zeros(3)
            x = np.dot(a, a_1)
            return x
        """,
        after="""
        def f(n):
            a = np.empty(3)
            a_1 = np.zeros(3)
            x = 0.0
            for k in range(3):
                t = a[k]
                t_1 = a_1[k]
                t_2 = t * t_1
                x += t_2
            return x
        """,
    )


def test_the_extent_of_a_vector_follows_from_the_other_factor():
    check(
        write_out_products,
        before="""
        def f(a, n):
            a_1 = np.zeros(3)
            x = np.dot(a, a_1)
            return x
        """,
        after="""
        def f(a, n):
            a_1 = np.zeros(3)
            size = a.shape[0]
            t = size != 3
            if t:
                raise ValueError("incompatible array sizes for np.dot(a, b) (vector * vector)")
            x = 0.0
            for k in range(3):
                t_1 = a[k]
                t_2 = a_1[k]
                t_3 = t_1 * t_2
                x += t_3
            return x
        """,
    )


def rotated(points, x):
    matrix = np.array([[np.cos(x), -np.sin(x), 0.0], [np.sin(x), np.cos(x), 0.0], [0.0, 0.0, 1.0]])
    total = 0.0
    for i in range(points.shape[0]):
        moved = matrix @ points[i]
        total += moved[0] * moved[2] + (points[i] @ matrix)[1]
    return total


@pytest.mark.slow
def test_rows_are_multiplied_by_a_small_matrix(rng):
    points = rng.normal(size=(4, 3))
    with interpreted():
        check_derivative(rotated, (points, 0.3))
        for level in (1, 2):
            with pytest.raises(ValueError):
                tapec.grad(rotated, (0, 1), opt_level=level)(points[:, :2], 0.3)
    assert "= np.dot" not in tapec.emit(rotated, (0, 1), signature="f8[:, ::1], f8", opt_level=2)


def test_a_product_of_vectors_is_a_sum_where_it_is_taken_once():
    check(
        write_out_products,
        before="""
        def f(a, a_1):
            x = np.dot(a, a_1)
            return x
        """,
        after="""
        def f(a, a_1):
            size = a.shape[0]
            size_1 = a_1.shape[0]
            t = size_1 != size
            if t:
                raise ValueError("incompatible array sizes for np.dot(a, b) (vector * vector)")
            x = 0.0
            for k in range(size):
                t_1 = a[k]
                t_2 = a_1[k]
                t_3 = t_1 * t_2
                x += t_3
            return x
        """,
    )


def test_products_of_vectors_become_loops_in_loops_too():
    check(
        write_out_products,
        before="""
        def f(a, n):
            s = 0.0
            for i in range(n):
                a_1 = a[i]
                x = np.dot(a_1, a_1)
                s += x
            return s
        """,
        after="""
        def f(a, n):
            s = 0.0
            for i in range(n):
                a_1 = a[i]
                size = a_1.shape[0]
                size_1 = a_1.shape[0]
                t = size_1 != size
                if t:
                    raise ValueError("incompatible array sizes for np.dot(a, b) (vector * vector)")
                x = 0.0
                for k in range(size):
                    t_1 = a_1[k]
                    t_2 = a_1[k]
                    t_3 = t_1 * t_2
                    x += t_3
                s += x
            return s
        """,
    )


def test_the_adjoint_of_a_product_of_vectors_is_made_with_it(rng):
    def angle(x, y):
        return np.dot(x, y) / np.sqrt(x @ x)

    with interpreted():
        check_derivative(angle, (rng.normal(size=5), rng.normal(size=5)))
        with pytest.raises(ValueError, match="incompatible array sizes"):
            tapec.grad(angle)(np.ones(3), np.ones(4))
    text = tapec.emit(angle, (0, 1), signature="f8[::1], f8[::1]", opt_level=2)
    assert "= np.dot(" not in text and text.count("for k in range(n)") == 2


SIDE_BY_SIDE = """
def f(M, a, n):
    s = 0.0
    for i in range(n):
        a_1 = {factors}
        x = a_1[0]
        s += x
    return s
"""
WRITTEN_OUT = """
def f(M, a, n):
    s = 0.0
    for i in range(n):
        size = a.shape[0]
        size_1 = M.shape[{made}]
        size_2 = M.shape[{summed}]
        t = {asked}
        if t:
            raise ValueError("incompatible array sizes for np.dot(a, b) ({kinds})")
        a_1 = np.empty(size_1)
        for i_1 in range(size_1):
            s_1 = 0.0
            for k in range(size_2):
                t_1 = a[k]
                t_2 = M[{index}]
                t_3 = t_2 * t_1
                s_1 += t_3
            a_1[i_1] = s_1
        x = a_1[0]
        s += x
    return s
"""


def test_a_matrix_that_is_the_same_in_all_iterations_is_multiplied_in_loops():
    of_matrix = {"made": 0, "summed": 1, "asked": "size != size_2", "kinds": "matrix * vector", "index": "i_1, k"}
    check(write_out_products, SIDE_BY_SIDE.format(factors="np.dot(M, a)"), WRITTEN_OUT.format(**of_matrix))
    of_vector = {"made": 1, "summed": 0, "asked": "size_2 != size", "kinds": "vector * matrix", "index": "k, i_1"}
    check(write_out_products, SIDE_BY_SIDE.format(factors="np.dot(a, M)"), WRITTEN_OUT.format(**of_vector))


def test_where_iterations_need_one_another_loops_go_along_rows():
    check(
        write_out_products,
        before="""
        def f(M, a, n):
            a_1 = a
            for i in range(n):
                a_2 = np.dot(a_1, M)
                a_1 = a_2
            return a_1
        """,
        after="""
        def f(M, a, n):
            a_1 = a
            for i in range(n):
                size = a_1.shape[0]
                size_1 = M.shape[1]
                size_2 = M.shape[0]
                t = size_2 != size
                if t:
                    raise ValueError("incompatible array sizes for np.dot(a, b) (vector * matrix)")
                a_2 = np.zeros(size_1)
                for k in range(size_2):
                    t_1 = a_1[k]
                    for i_1 in range(size_1):
                        t_2 = M[k, i_1]
                        t_3 = t_2 * t_1
                        a_2[i_1] += t_3
                a_1 = a_2
            return a_1
        """,
    )


def test_products_outside_of_loops_and_of_matrices_that_change_are_left_to_blas():
    for text in (
        """
        def f(M, a):
            a_1 = np.dot(M, a)
            return a_1
        """,
        """
        def f(M, a, n):
            M_1 = M
            for i in range(n):
                a_1 = np.dot(M_1, a)
                M_2 = M_1.T
                M_1 = M_2
            return a_1
        """,
    ):
        check(write_out_products, text, text.replace("\n        ", "\n"))


def seen(turn, centre, points):
    total = 0.0
    for i in range(points.shape[0]):
        p = turn.T @ (points[i] - centre)
        q = turn @ p
        total += p[0] / (1.0 + p[1] * p[1]) + np.sin(q[0])
    return total


def remembered(w, u, x):
    state = np.zeros(w.shape[0])
    total = 0.0
    for t in range(x.shape[0]):
        state = np.tanh(w @ state + x[t] @ u)
        total += state @ state
    return total


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "shapes", "misfit"),
    [
        (seen, ((3, 2), (3,), (5, 3)), ((2, 2), (3,), (5, 3))),
        (remembered, ((4, 4), (3, 4), (5, 3)), ((4, 4), (2, 4), (5, 3))),
    ],
)
def test_vectors_in_loops_are_multiplied_without_blas(rng, f, shapes, misfit):
    with interpreted():
        check_derivative(f, tuple(rng.normal(size=shape) for shape in shapes))
        with pytest.raises(ValueError, match="incompatible array sizes"):
            tapec.grad(f, (0, 1, 2))(*(np.ones(shape) for shape in misfit))
    signature = ", ".join("f8[::1]" if len(shape) == 1 else "f8[:, ::1]" for shape in shapes)
    # but for what the iterations have kept
    text = tapec.emit(f, (0, 1, 2), signature=signature, opt_level=2).replace("np.dot(a, b)", "")
    assert [line for line in text.splitlines() if "np.dot" in line and "_kept" not in line] == []


def chain(angles):
    turn = np.eye(3)
    total = 0.0
    for i in range(angles.shape[0]):
        c, s = np.cos(angles[i]), np.sin(angles[i])
        turn = turn @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.1, 1.0]])
        total += turn[0, 1] * turn[2, 2] + turn[2, 0]
    return total


@pytest.mark.slow
def test_a_matrix_that_is_multiplied_again_and_again_keeps_its_extents(rng):
    with interpreted():
        check_derivative(chain, (rng.normal(size=4),))
    text = tapec.emit(chain, signature="f8[::1]", opt_level=2)
    assert "np.dot" not in text and "stack" not in text


def turned(x, way):
    m = np.array([[np.cos(x), -np.sin(x)], [np.sin(x), np.cos(x)]])
    v = np.array([x, 1.0]) if way > 0 else np.array([2.0, x * x])
    return (m @ m @ v).sum() + np.dot(v, m @ v)


def test_matrices_of_numbers():
    text = tapec.emit(turned, signature="f8, i8", opt_level=2)
    assert "np.empty" not in text
    for way in (0, 1):
        check_derivative(turned, (0.7, way), (0,))
