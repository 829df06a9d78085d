"""Systems that share the factors of a matrix."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.contractions.factorisation_reuse import reuse_factorisations
from tests import oracles
from tests.optimise.reading import read
from tests.oracles import arr
from tests.sampling import sampled

PROGRAM = """
def f(A, ab, C, n):
    {first}
    ax = np.linalg.solve(A, ab)
    {between}
    ay = np.linalg.solve({matrix}, ax)
    return ay
"""
AS_IT_IS = {"first": "pass", "between": "pass", "matrix": "A"}


def calls(other: dict[str, str]) -> list[str]:
    """The functions of the runtime that two systems become."""
    function = reuse_factorisations(read(PROGRAM.format(**(AS_IT_IS | other))))
    text = str(function.body)
    return [word.split("'")[0] for word in text.split("tapec_runtime.")[1:]]


@pytest.mark.parametrize("other", [{}, {"between": "ab[0] = 1.0"}, {"between": "C[0, 0] = 1.0"}], ids=str)
def test_factors_are_shared(other: dict[str, str]):
    assert calls(other) == ["factorised", "solved", "solved"]


def test_a_transpose_has_the_same_factors():
    assert calls({"first": "T = A.T", "matrix": "T"}) == ["factorised", "solved", "solved_transposed"]


def test_factors_of_cholesky_are_triangular():
    other = {"first": "L = np.linalg.cholesky(A)", "matrix": "L"}
    assert calls(other) == ["factorised", "solved", "factorised_lower", "solved"]
    changed = other | {"between": "L[0, 1] = 1.0"}
    assert calls(changed) == ["factorised", "solved", "factorised", "solved"]


@pytest.mark.parametrize("other", [{"between": "A[0, 0] = 1.0"}, {"matrix": "C"}], ids=str)
def test_other_matrices_have_factors_of_their_own(other: dict[str, str]):
    assert calls(other) == ["factorised", "solved", "factorised", "solved"]


def crank_nicolson(u, a, b):
    for _ in range(3):
        u = np.linalg.solve(a, b @ u)
    return np.sum(u * u)


def changed_in_the_loop(u, a, b):
    a = a.copy()
    for k in range(3):
        u = np.linalg.solve(a, b @ u)
        u = u + np.linalg.solve(a.T, u)
        a[0, 0] += 0.5 * u[1]
        if k == 1:
            a = a + 0.1 * b
        u = u - np.linalg.solve(a, u)
    return np.sum(u * u)


def of_one_branch(u, a, b):
    a = a.copy()
    if u[0] > 0.0:
        u = np.linalg.solve(a, u)
        a[1, 0] = u[1]
    v = np.linalg.solve(a, u)
    return np.sum(v * np.linalg.solve(a, b))


def likelihood(u, a, b):
    s = a @ a.T + b @ b.T
    lower = np.linalg.cholesky(s)
    z = np.linalg.solve(lower, u)
    w = np.linalg.solve(lower.T, z)
    return z @ z + np.sum(np.log(np.diag(lower))) + w[0] + np.sum(np.linalg.solve(lower, b)[0])


def until_small(u, a, b):
    while np.sum(u * u) > 0.05:
        u = np.linalg.solve(a, u)
    return u @ (b @ u)


PROGRAMS = [of_one_branch, crank_nicolson, changed_in_the_loop, likelihood, until_small]


@pytest.mark.slow
@pytest.mark.parametrize("f", sampled(PROGRAMS, 3))
def test_programs(f):
    a = arr(3, 3) * 0.4 + 3.0 * np.eye(3)
    oracles.check(f, (arr(3), a, arr(3, 3) * 0.5), forward_level=0)


def test_a_loop_factorises_once():
    text = tapec.emit(crank_nicolson, wrt=(0, 1, 2), signature="f8[::1], f8[:,::1], f8[:,::1]", opt_level=2)
    # once in each form of the gradient, outside of its loops
    for form in text.split("@numba.njit")[1:]:
        made = [line for line in form.splitlines() if "factorised(" in line]
        assert len(made) == 1 and len(made[0]) - len(made[0].lstrip()) == 4
    assert "np.linalg.solve(" not in text.replace("# u = np.linalg.solve(a, b @ u)", "")


def test_a_singular_matrix_is_an_error():
    with oracles.interpreted(), pytest.raises(np.linalg.LinAlgError, match="singular"):
        tapec.grad(crank_nicolson, 1)(arr(2), np.ones((2, 2)), arr(2, 2))
