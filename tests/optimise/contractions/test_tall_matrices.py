"""Matrices of many short rows that are kept in transpose, and nests of loops whose outer loop goes inside."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.contractions.tall_matrices import transpose_tall_matrices
from tests.optimise.reading import check, read
from tests.oracles import check as check_derivative
from tests.oracles import interpreted

PROGRAM = """
def f(X, W, a, a1, n, n1, m, s):
    n2 = X.shape[0]
    n3 = X.shape[1]
    for k in range(n1):
        C = np.{made}
        for i in range(n2):
            for j in range(n3):
                x = X[i, j]
                y = a[j]
                z = x - y
                C[i, j] = z
        {between}
        P = np.dot(C, W)
        for i1 in range(n2):
            t = 0.0
            for j1 in range(n3):
                u = P[i1, j1]
                v = u * u
                t1 = t + v
                t = t1
            {row}
    {after}
    return s
"""


def program(made: str = "empty((n2, n3))", between: str = "", row: str = "a1[i1] = t", after: str = "") -> str:
    text = PROGRAM.format(made=made, between=between, row=row, after=after)
    return "\n".join(line for line in text.splitlines() if line.strip()) + "\n"


def test_a_loop_gets_a_second_form():
    check(
        transpose_tall_matrices,
        program(),
        """
        def f(X, W, a, a1, n, n1, m, s):
            n2 = X.shape[0]
            n3 = X.shape[1]
            size_2 = 4 * n3
            t_1 = n2 >= size_2
            size_3 = W.shape[1]
            size_4 = 4 * size_3
            t_2 = n2 >= size_4
            t_3 = t_1 and t_2
            if t_3:
                n_1 = X.shape[0]
                n_2 = X.shape[1]
                X_columns = np.empty((n_2, n_1))
                for j_1 in range(n_2):
                    for i_1 in range(n_1):
                        t_4 = X[i_1, j_1]
                        X_columns[j_1, i_1] = t_4
                for k in range(n1):
                    C_columns = np.empty((n3, n2))
                    for j in range(n3):
                        for i in range(n2):
                            x = X_columns[j, i]
                            y = a[j]
                            z = x - y
                            C_columns[j, i] = z
                    t_5 = W.T
                    P_columns = np.dot(t_5, C_columns)
                    t_rows = np.empty(n2)
                    for i1 in range(n2):
                        t_rows[i1] = 0.0
                    for j1 in range(n3):
                        for i1_2 in range(n2):
                            t = t_rows[i1_2]
                            u = P_columns[j1, i1_2]
                            v = u * u
                            t1 = t + v
                            t_rows[i1_2] = t1
                    for i1_3 in range(n2):
                        t_6 = t_rows[i1_3]
                        a1[i1_3] = t_6
            else:
                for k_2 in range(n1):
                    C = np.empty((n2, n3))
                    for i_2 in range(n2):
                        for j_2 in range(n3):
                            x_2 = X[i_2, j_2]
                            y_2 = a[j_2]
                            z_2 = x_2 - y_2
                            C[i_2, j_2] = z_2
                    P = np.dot(C, W)
                    for i1_4 in range(n2):
                        t_7 = 0.0
                        for j1_2 in range(n3):
                            u_2 = P[i1_4, j1_2]
                            v_2 = u_2 * u_2
                            t1_2 = t_7 + v_2
                            t_7 = t1_2
                        a1[i1_4] = t_7
            return s
        """,
        again=False,
    )


@pytest.mark.parametrize(
    ("stays", "parts"),
    [
        # a view, a use as a whole, a name outside the loop
        ("C", {"between": "a2 = C[0, :]"}),
        ("C", {"between": "B = C + C"}),
        ("P", {"after": "s = P[0, 0]"}),
        # an element outside the nests
        ("C", {"between": "s = C[0, 0]"}),
        # the iterations of a nest need each other
        ("P", {"row": "a1[0] = t"}),
        ("P", {"row": "t2 = a1[i1 - 1]\n            a1[i1] = t2"}),
        # the loop changes what a nest reads
        ("C", {"row": "X[i1, 0] = t"}),
        # as many rows as columns
        ("C", {"made": "empty((n2, n2))"}),
        # three products with other matrices
        ("C", {"between": "A1 = np.dot(W, W)\n        A2 = np.dot(A1, W)\n        A3 = np.dot(A2, A1)"}),
    ],
)
def test_what_stays(stays, parts):
    changed = transpose_tall_matrices(read(program(**parts)))
    assert f"{stays}_columns" not in changed.types


def layers(x, m, w, v):
    """A product per iteration, with rows that are shifted, squared and summed, and one that is kept."""
    total = np.zeros(x.shape[0])
    for k in range(m.shape[0]):
        image = (x - m[k]) @ w[k].T
        hidden = np.tanh(image) @ v
        total += (image**2).sum(axis=1) + (hidden * hidden).sum(axis=1)
    return np.log(total + 1.0).sum()


def squares(x, m, w):
    """A sum over all elements of each product."""
    total = 0.0
    for k in range(m.shape[0]):
        image = (x - m[k]) @ w[k].T
        total += np.sin((image * image).sum())
    return total


def steps(x, y, w, rate):
    """A layer that is fitted; its rows are the examples."""
    w = w.copy()
    for _ in range(2):
        error = np.tanh(x @ w) - y
        w -= rate * (x.T @ error)
    return (w * w).sum()


@pytest.mark.slow
@pytest.mark.parametrize("rows", [0, 1, 3, 12, 70])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_derivatives_are_the_same(rng: np.random.Generator, rows: int, dtype: type):
    args = rng.normal(size=(rows, 3)), rng.normal(size=(4, 3)), rng.normal(size=(4, 2, 3)), rng.normal(size=(2, 2))
    args = tuple(arg.astype(dtype) for arg in args)
    tolerance = 1e-11 if dtype is np.float64 else 1e-4
    with interpreted():
        one, other = (tapec.value_and_grad(layers, (0, 1, 2, 3), opt_level=level)(*args) for level in (1, 2))
    assert one[0] == pytest.approx(other[0], rel=tolerance)
    for mine, wanted in zip(other[1], one[1], strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.slow
def test_nan_and_infinity_stay_where_they_are(rng: np.random.Generator):
    x = rng.normal(size=(40, 3))
    x[3, 1], x[5, 0], x[8, 2] = np.inf, np.nan, -np.inf
    args = x, rng.normal(size=(4, 3)), rng.normal(size=(4, 2, 3)), rng.normal(size=(2, 2))
    with interpreted(), np.errstate(all="ignore"):
        one, other = (tapec.value_and_grad(layers, (0, 1, 2, 3), opt_level=level)(*args) for level in (1, 2))
    for mine, wanted in zip(other[1], one[1], strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.slow
def test_sums_over_all_elements_stay_sums(rng: np.random.Generator):
    args = rng.normal(size=(20, 3)), rng.normal(size=(4, 3)), 0.2 * rng.normal(size=(4, 2, 3))
    with interpreted():
        check_derivative(squares, args)
    matrix = "f8[:, ::1]"
    source = tapec.emit(squares, (0, 1, 2), signature=f"{matrix}, {matrix}, f8[:, :, ::1]", opt_level=2)
    assert "_columns" in source and "total_1_rows" not in source


@pytest.mark.slow
def test_a_fit_is_differentiated(rng: np.random.Generator):
    args = rng.normal(size=(30, 3)), rng.normal(size=(30, 2)), rng.normal(size=(3, 2)), 0.01
    with interpreted():
        check_derivative(steps, args, wrt=(0, 1, 2, 3))


@pytest.mark.slow
def test_generated_loops_have_both_forms_and_strict_has_not():
    matrix = "f8[:, ::1]"
    signature = f"{matrix}, {matrix}, f8[:, :, ::1], {matrix}"
    assert "np.dot(v.T, " in tapec.emit(layers, (0, 1, 2, 3), signature=signature, opt_level=2)
    assert "_columns" not in tapec.emit(layers, (0, 1, 2, 3), signature=signature, strict=True, opt_level=2)


def rows_times_one_column(x, a, b, m, n):
    rows = (np.arange(2).reshape(-1, 1) + b[:3])[::1]
    column = np.outer(m[:, 3], 0.5)
    for _ in range(3):
        copied = np.empty(rows.shape)
        for i in range(rows.shape[0]):
            for j in range(3):
                copied[i, j] = rows[i, j]
        product = copied @ column
        x = product[0, 0]
    made = np.zeros((3, 4))
    k = 0
    made[k, 1:] = x
    m[:] = made
    b[...] = a[::1]
    order = np.argsort(a)
    a[:] = a[order]
    return b.sum()


@pytest.mark.slow
def test_statements_of_both_versions_are_told_apart():
    signature = "f8, f8[:], f8[:], f8[:,:], i8"
    text = tapec.emit(rows_times_one_column, wrt=("a", "b", "m"), signature=signature, opt_level=2)
    assert "def rows_times_one_column" in text
