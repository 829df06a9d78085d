"""`linearize`: the map, its transpose, and both as matrices that SciPy takes."""

from __future__ import annotations

import doctest
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse.linalg

import tapec
import tapec.linear_map
from tapec.errors import UsageError

pytestmark = pytest.mark.generated

X = np.array([[1.0, 2.0], [3.0, 4.0]])


@dataclass
class Model:
    w: np.ndarray
    b: float


def f(x, a, n):
    return a * x**2, np.sum(x) * a * n, n


def dense(x, a, n):
    by_x = np.vstack([np.diag(2.0 * a * x.ravel()), np.full((1, 4), a * n)])
    return np.hstack([by_x, np.append(x.ravel() ** 2, np.sum(x) * n)[:, None]])


@pytest.mark.slow
def test_the_map_and_its_transpose():
    value, push = tapec.linearize(f, X, 2.0, 3)
    np.testing.assert_array_equal(value[0], 2.0 * X**2)
    assert value[1:] == (60.0, 3) and push.shape == (5, 5) and push.T.shape == (5, 5) and push.dtype == np.float64
    tangent = push(np.ones((2, 2)), None, None)
    np.testing.assert_allclose(tangent[0], 4.0 * X)
    x_bar, a_bar, n_bar = push.T((np.ones((2, 2)), 2.0, 0))
    np.testing.assert_allclose(x_bar, 4.0 * X + 12.0)
    assert np.isclose(a_bar, np.sum(X**2) + 60.0) and n_bar is None
    assert push.T.T is push


def test_matrices():
    _, push = tapec.linearize(f, X, 2.0, 3)
    wanted = dense(X, 2.0, 3)
    np.testing.assert_allclose(push.matmat(np.eye(5)), wanted)
    np.testing.assert_allclose(push.rmatmat(np.eye(5)), wanted.T)
    np.testing.assert_allclose(push.T.matvec(np.arange(5.0)), wanted.T @ np.arange(5.0))
    np.testing.assert_allclose(push.matvec(np.arange(5.0)[:, None]), wanted @ np.arange(5.0))
    operator = scipy.sparse.linalg.aslinearoperator(push)
    np.testing.assert_allclose((operator.T @ operator) @ np.ones(5), wanted.T @ wanted @ np.ones(5))
    for bad in (np.ones(4), np.ones((5, 2)), 1.0):
        with pytest.raises(ValueError, match=r"where \(5,\) is needed"):
            push.matvec(bad)


def test_conjugate_gradients_with_a_hessian():
    def loss(x):
        return np.sum((x - 1.0) ** 4) + x @ x

    x = np.arange(5.0)
    gradient, hessian = tapec.linearize(tapec.grad(loss), x)
    step, failed = scipy.sparse.linalg.cg(hessian, -gradient, rtol=1e-12)
    assert not failed
    np.testing.assert_allclose(step, np.linalg.solve(tapec.hessian(loss)(x), -gradient))


def test_the_arguments_are_copied():
    x = X.copy()
    _, push = tapec.linearize(lambda x: x**2, x)
    x[:] = 0.0
    np.testing.assert_allclose(push(np.ones((2, 2))), 2.0 * X)
    np.testing.assert_allclose(push.T(np.ones((2, 2)))[0], 2.0 * X)


def test_what_is_overwritten():
    def in_place(x):
        x *= x
        return x * 1.0

    x = np.array([1.0, 2.0])
    _, push = tapec.linearize(in_place, x)
    np.testing.assert_array_equal(x, [1.0, 2.0])
    for _ in range(2):
        np.testing.assert_allclose(push(np.ones(2)), [2.0, 4.0])
        np.testing.assert_allclose(push.T(np.ones(2))[0], [2.0, 4.0])


def test_structures():
    value, push = tapec.linearize(lambda p, c: (p.w * p.b * c, p), Model(np.arange(3.0), 2.0), 3.0)
    assert type(value[1]) is Model and push.shape == (7, 5)
    tangent, moved = push(Model(np.ones(3), 1.0), None)
    np.testing.assert_allclose(tangent, [6.0, 9.0, 12.0])
    assert moved.b == 1.0
    np.testing.assert_allclose(push.matvec(np.ones(5)), [6.0, 11.0, 16.0, 1.0, 1.0, 1.0, 1.0])
    (adjoint, c_bar) = push.T((np.ones(3), Model(np.zeros(3), 1.0)))
    assert type(adjoint) is Model and adjoint.b == 10.0 and c_bar == 6.0


def test_refusals():
    with pytest.raises(UsageError, match="no argument is a float"):
        tapec.linearize(lambda n: n * 1.0, 3)
    _, push = tapec.linearize(f, X, 2.0, 3)
    with pytest.raises(UsageError, match="3 primals but 1 tangents"):
        push(X)
    with pytest.raises(UsageError, match="is no float"):
        push(X, 1.0, 1)
    _, push = tapec.linearize(lambda z: z * z, np.ones(2, complex))
    np.testing.assert_allclose(push(np.array([1j, 1.0])), [2j, 2.0])
    with pytest.raises(UsageError, match="no matrix"):
        push.matvec(np.ones(2))


@pytest.mark.slow
@pytest.mark.compiled
def test_docstrings():
    assert doctest.testmod(tapec.linear_map).failed == 0
