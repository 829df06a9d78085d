"""Coordinates of points that loops over pairs read are copied to columns."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.buffers.coordinate_columns import copy_coordinates
from tests import oracles
from tests.optimise.reading import check, read

PAIRS = """
def f({params}):
    {before}
    for i in range(n):
        for j in range({stop}):
            x = P[{row}, {column}]
            y = P[i, 0]
            s += x * y
            {after}
    return s
"""
USUAL = {
    "params": "P, n, k, s", "before": "z = 0.0", "stop": "i", "row": "j", "column": "2", "after": "z = s",
}  # fmt: skip


def test_columns_are_copied_before_the_loops():
    check(
        copy_coordinates,
        PAIRS.format(**USUAL),
        """
        def f(P, n, k, s):
            n_1 = P.shape[0]
            n_2 = P.shape[1]
            n_3 = min(n_2, 3)
            P_columns = np.empty((n_3, n_1))
            for i_1 in range(n_1):
                for j_1 in range(n_3):
                    t = P[i_1, j_1]
                    P_columns[j_1, i_1] = t
            z = 0.0
            for i in range(n):
                for j in range(i):
                    x = P_columns[2, j]
                    y = P_columns[0, i]
                    s += x * y
                    z = s
            return s
        """,
        again=False,
    )


@pytest.mark.parametrize(
    "changed",
    [
        # the column is no literal, is counted from the end, or one of many; the row is that of the loop around
        {"column": "k"},
        {"column": "-1"},
        {"column": "4"},
        {"row": "k"},
        # written into, also by another name; not a parameter
        {"after": "P[j, 1] = s"},
        {"before": "Q = P", "after": "Q[j, 1] = s"},
        {"params": "Q, n, k, s", "before": "P = np.zeros((n, n))"},
        # most of what the loop does is behind a question
        {"after": "c = s > 1.0\n            if c:\n" + 3 * "                s = s / x\n"},
        # another loop is the innermost one
        {"after": "for k in range(n):\n                z = s"},
    ],
)
def test_what_stays(changed):
    function = read(PAIRS.format(**(USUAL | changed)))
    assert copy_coordinates(function) == function


def potential(pos, mass):
    e = 0.0
    for i in range(pos.shape[0]):
        for j in range(i):
            r2 = 0.01
            for k in range(3):
                d = pos[i, k] - pos[j, k]
                r2 += d * d
            e -= mass[i] * mass[j] / np.sqrt(r2)
    return e


def in_plane(pos, mass):
    e = 0.0
    for i in range(pos.shape[0]):
        for j in range(pos.shape[0]):
            e += mass[j] * pos[j, 0] * (pos[i, 1] - pos[j, 1]) ** 2
            if pos.shape[1] > 2:
                e += pos[j, 2] * pos[i, 2]
    return e


@pytest.mark.parametrize("f", [potential, in_plane])
def test_derivatives_are_the_same(f, rng: np.random.Generator):
    with oracles.interpreted():
        fast, plain = (tapec.value_and_grad(f, (0, 1), opt_level=level) for level in (2, 0))
        for rows in (0, 1, 2, 7):
            # four columns, of which one is not met; in either order, and with steps
            pos, mass = rng.normal(size=(rows, 4)), rng.uniform(1, 2, rows)
            for given in (pos, np.asfortranarray(pos), np.repeat(pos, 2, axis=0)[::2]):
                for one, other in zip(fast(given, mass)[1], plain(given, mass)[1], strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)
        # a column that the program asks for behind a question need not be there
        pair = rng.normal(size=(5, 2)), rng.uniform(1, 2, 5)
        for one, other in zip(tapec.grad(in_plane, (0, 1))(*pair), tapec.grad(in_plane, (0, 1), opt_level=0)(*pair)):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)
    assert "pos_columns" in tapec.emit(f, (0, 1), signature="f8[:, ::1], f8[::1]", opt_level=2)


@pytest.mark.slow
def test_columns_that_are_missing_are_out_of_bounds_as_before(rng: np.random.Generator):
    with pytest.raises(IndexError):
        tapec.grad(potential, boundscheck=True)(rng.normal(size=(5, 2)), rng.uniform(1, 2, 5))


def test_explained():
    told = str(tapec.explain(potential, (0, 1), signature="f8[:, ::1], f8[::1]"))
    assert "columns of `pos` are copied" in told
