"""Matrices whose columns loops walk down are kept as rows."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.buffers.column_layout import store_by_columns
from tests import oracles
from tests.optimise.reading import check, read

COLUMNS = """
def f(A, n, n1, s):
    Q = np.{made}
    for i1 in range(n):
        for j1 in range(n1):
            x = A[i1, j1]
            Q[i1, j1] = x
    for k in range(n1):
        a = Q[:, k]
        a1 = Q[k, :]
        n2 = Q.shape[0]
        for j in range(k):
            z = a1[j]
            for i in range(n2):
                y = Q[i, j]
                a[i] += y
    {after}
    return s
"""


def test_columns():
    check(
        store_by_columns,
        COLUMNS.format(made="empty((n, n1))", after="s += s"),
        """
        def f(A, n, n1, s):
            Q_columns = np.empty((n1, n))
            for i1 in range(n):
                for j1 in range(n1):
                    x = A[i1, j1]
                    Q_columns[j1, i1] = x
            for k in range(n1):
                a = Q_columns[k, :]
                a1 = Q_columns[:, k]
                n2 = Q_columns.shape[1]
                for j in range(k):
                    z = a1[j]
                    for i in range(n2):
                        y = Q_columns[j, i]
                        a[i] += y
            s += s
            return s
        """,
    )


@pytest.mark.parametrize(
    ("made", "after"),
    [
        # used as a whole, by another name, through a view that is more than a column
        ("empty((n, n1))", "B = np.dot(Q, A)"),
        ("empty((n, n1))", "B = Q"),
        ("empty((n, n1))", "B = Q[1:, :]"),
        ("empty((n, n1))", "B = Q[:, None]"),
        ("empty((n, n1))", "a = A[:, 0]"),
        ("empty((n, n1))", "a = Q[0, :]"),
        # few elements
        ("empty((4, 4))", "s += s"),
    ],
)
def test_what_stays(made, after):
    function = read(COLUMNS.format(made=made, after=after))
    assert store_by_columns(function) == function


def test_rows_walked_as_deep_stay():
    function = read(
        """
        def f(n, n1, s):
            Q = np.zeros((n, n1))
            for k in range(n):
                for i in range(n):
                    x = Q[i, k]
                for j in range(n1):
                    Q[k, j] = s
            return s
        """
    )
    assert store_by_columns(function) == function


def test_coordinates_of_points():
    # as deep as the loop along rows, which are short; what is returned has its rows again
    check(
        store_by_columns,
        """
        def f(P, n, n1, m):
            Q = np.empty((n, n1))
            for i in range(n):
                for j in range(n1):
                    x = P[i, j]
                    Q[i, j] = x
            R = np.zeros((n, n1))
            for k in range(n):
                for i1 in range(k):
                    y = Q[i1, 0]
                    R[i1, 0] += y
                    z = Q[i1, 1]
                    R[i1, 1] += z
            return m, R
        """,
        """
        def f(P, n, n1, m):
            Q_columns = np.empty((n1, n))
            for i in range(n):
                for j in range(n1):
                    x = P[i, j]
                    Q_columns[j, i] = x
            R_columns = np.zeros((n1, n))
            for k in range(n):
                for i1 in range(k):
                    y = Q_columns[0, i1]
                    R_columns[0, i1] += y
                    z = Q_columns[1, i1]
                    R_columns[1, i1] += z
            n_1 = R_columns.shape[1]
            n_2 = R_columns.shape[0]
            R = np.empty((n_1, n_2))
            for i_1 in range(n_1):
                for j_1 in range(n_2):
                    t = R_columns[j_1, i_1]
                    R[i_1, j_1] = t
            return m, R
        """,
    )


RETURNED = """
def f(P, n, n1, m, s):
    R = np.zeros((n, n1))
    for k in range(n):
        for i in range(n):
            {body}
    {after}
    return {results}
"""


@pytest.mark.parametrize(
    ("body", "after", "results"),
    [
        # each element is met once; the loop down the column has others inside; returned twice; used otherwise
        ("R[i, k] += s", "s += s", "R"),
        ("R[i, 0] += s\n            for j in range(n1):\n                P[j, j] = s", "s += s", "R"),
        ("R[i, 0] += s", "s += s", "R, R"),
        ("R[i, 0] += s", "S = R", "R, S"),
        ("R[i, 0] += s", "s += np.dot(R, P)[0, 0]", "R, s"),
    ],
)
def test_what_is_returned_as_it_is(body, after, results):
    if ";" in body:
        first, _ = body.split(";")
        body = f"{first}\n            for j in range(n1):\n                P[j, j] = s"
    function = read(RETURNED.format(body=body, after=after, results=results))
    assert store_by_columns(function) == function


def orthogonal(a):
    q = a.copy()
    for j in range(q.shape[1]):
        column = q[:, j]
        column /= np.sqrt((column * column).sum())
        for k in range(j + 1, q.shape[1]):
            q[:, k] -= (column * q[:, k]).sum() * column
    return q[0, 0] + q[-1, -1] ** 2


@pytest.mark.slow
def test_derivatives_are_the_same():
    a = np.random.default_rng(1).normal(size=(5, 3))
    with oracles.interpreted():
        value, gradient = tapec.value_and_grad(orthogonal)(a)
        plain, wanted = tapec.value_and_grad(orthogonal, opt_level=1)(a)
    assert value == pytest.approx(plain, rel=1e-14)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-11, atol=1e-13)
    assert "q_columns" in tapec.emit(orthogonal, signature="f8[:, ::1]", opt_level=2)
