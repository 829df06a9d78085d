"""Matrices of `scipy.sparse`: SciPy's values, and derivatives against central differences of SciPy itself."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

import tapec
from tests.sampling import sampled

pytestmark = pytest.mark.usefixtures("mostly_plainly")

CLASSES = ("csr_array", "csc_array", "coo_array", "csr_matrix", "csc_matrix", "coo_matrix")
STEP = 1e-6


def matrix(name: str, rows: int = 4, columns: int = 3) -> Any:
    rng = np.random.default_rng(3)
    row, column = np.array([3, 0, 0, 2, 1, 3, 2]), np.array([1, 0, 2, 2, 1, 0, 0])
    keep = (row < rows) & (column < columns)
    data = rng.normal(size=7)
    return getattr(sp, name)((data[keep], (row[keep], column[keep])), shape=(rows, columns))


def square(name: str) -> Any:
    return getattr(sp, name)(matrix("coo_array", 4, 4) + 3.0 * sp.eye_array(4))


def times_vector(A: Any, x: Any) -> Any:
    return np.sum((A @ x[:3]) ** 2) + (A.dot(x[:3]))[0]


def times_matrix(A: Any, x: Any) -> Any:
    B = np.outer(x[:3], x)
    return np.sum(np.sin(A @ B) * A.dot(B))


def from_the_left(A: Any, x: Any) -> Any:
    return np.sum(np.exp(x @ A)) + np.sum((np.outer(x, x) @ A) ** 2)


def transposed(A: Any, x: Any) -> Any:
    B = A.T
    return np.sum(np.sin(B @ x)) + np.sum(A.transpose().toarray() ** 3)


def sums(A: Any, x: Any) -> Any:
    diagonals = np.sum(A.diagonal() ** 3) + np.sum(A.diagonal(k=-1) * x[1])
    return A.data.sum() ** 2 * x[0] + A.mean() + A.trace() ** 2 + diagonals


def scaled(A: Any, x: Any) -> Any:
    B = (2.0 * -A) * x[0] / x[1]
    return np.sum((B @ x[:3]) ** 2)


def elementwise(A: Any, x: Any) -> Any:
    B = A.multiply(x[:3]).multiply(x.reshape(4, 1)).multiply(np.outer(x, x[:3]))
    return np.sum((B @ x[:3]) ** 2) + A.tocsr().sum()


def own_arrays(A: Any, x: Any) -> Any:
    total = 0.0
    for k in range(A.nnz):
        total += A.data[k] ** 3
    return total * x[0] + A.shape[0] * A.ndim


def converted(A: Any, x: Any) -> Any:
    B = A.tocsr()
    C = A.tocsc()
    D = A.tocoo().copy()
    total = 0.0
    for k in range(B.nnz):
        total += (k + 1) * B.data[k] ** 2 * B.indices[k] + C.data[k] * k * C.indices[k] * x[1]
    return total + np.sum((D @ x[:3]) ** 2)


def branches(A: Any, x: Any) -> Any:
    if x[0] > 0:
        B = A * 2.0
    else:
        B = A * x[1]
    y = x[:3]
    for _ in range(3):
        y = np.tanh(B.T @ (B @ y))
        B = B * 0.5
    return np.sum(y)


PROGRAMS = (times_vector, times_matrix, from_the_left, transposed, sums, scaled, elementwise, own_arrays, converted)


def differences(f: Any, A: Any, x: Any) -> tuple[Any, Any]:
    """Central differences of what Python computes."""
    by_data = np.empty(A.data.shape)
    for k in range(A.data.size):
        values = []
        for sign in (1, -1):
            B = A.copy()
            B.data[k] += sign * STEP
            values.append(f(B, x))
        by_data[k] = (values[0] - values[1]) / (2 * STEP)
    by_x = [(f(A, x + STEP * e) - f(A, x - STEP * e)) / (2 * STEP) for e in np.eye(x.size)]
    return by_data, np.array(by_x)


def check(f: Any, A: Any, x: Any) -> None:
    before = A.data.copy()
    value, (A_bar, x_bar) = tapec.value_and_grad(f, wrt=(0, 1))(A, x)
    np.testing.assert_allclose(value, f(A, x), rtol=1e-12)
    by_data, by_x = differences(f, A, x)
    assert type(A_bar) is type(A) and A_bar.shape == A.shape
    np.testing.assert_allclose(A_bar.data, by_data, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(x_bar, by_x, rtol=1e-6, atol=1e-7)
    tangent = A.copy()
    tangent.data[:] = np.cos(np.arange(A.data.size))
    x_dot = np.sin(np.arange(x.size) + 1.0)
    _, moved = tapec.jvp(f, (A, x), (tangent, x_dot))
    np.testing.assert_allclose(moved, A_bar.data @ tangent.data + x_bar @ x_dot, rtol=1e-10)
    np.testing.assert_array_equal(A.data, before)


X = np.array([0.7, -0.4, 0.9, 1.3])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "name"),
    sampled(itertools.product(PROGRAMS, CLASSES[:3]), 1, 2),
    ids=lambda one: getattr(one, "__name__", one),
)
def test_arrays(f: Any, name: str) -> None:
    check(f, matrix(name), X)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "name"),
    sampled(itertools.product((times_vector, from_the_left, transposed, branches), CLASSES[3:]), 1, 2),
    ids=lambda one: getattr(one, "__name__", one),
)
def test_matrices(f: Any, name: str) -> None:
    check(f, matrix(name), X)


def another(name: str) -> Any:
    row, column = np.array([3, 0, 1, 2, 1]), np.array([1, 0, 0, 2, 2])
    return getattr(sp, name)((np.arange(1.0, 6.0), (row, column)), shape=(4, 3))


def sums_of_matrices(A: Any, B: Any) -> Any:
    C, D = A + B, A - B
    return np.sum(np.arange(C.nnz) * C.data**2) + np.sum(np.sin(D.toarray())) + np.sum(D.indices * D.data)


def products_of_elements(A: Any, B: Any) -> Any:
    C = A.multiply(B)
    return np.sum((np.arange(C.nnz) + 1) * C.data**2)


def products_of_matrices(A: Any, B: Any) -> Any:
    C = A @ (B.T @ A) - B
    return np.sum((np.arange(C.nnz) + 1) * C.data**2) + np.sum(C.indices * C.data)


def check_pair(f: Any, A: Any, B: Any) -> None:
    value, bars = tapec.value_and_grad(f, wrt=(0, 1))(A, B)
    np.testing.assert_allclose(value, f(A, B), rtol=1e-12)
    tangents = A.copy(), B.copy()
    expected = 0.0
    for place, (bar, tangent) in enumerate(zip(bars, tangents, strict=True)):
        tangent.data[:] = np.cos(np.arange(tangent.data.size) + place)
        expected += bar.data @ tangent.data
        for k in range(bar.data.size):
            high, low = (A.copy(), B.copy()), (A.copy(), B.copy())
            high[place].data[k] += STEP
            low[place].data[k] -= STEP
            np.testing.assert_allclose(bar.data[k], (f(*high) - f(*low)) / (2 * STEP), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(tapec.jvp(f, (A, B), tangents)[1], expected, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "one", "two"),
    sampled(
        itertools.product(
            (sums_of_matrices, products_of_elements, products_of_matrices), CLASSES[:3], CLASSES[:3]
        ),
        1,
        4,
    ),
    ids=lambda one: getattr(one, "__name__", one),
)
def test_pairs(f: Any, one: str, two: str) -> None:
    check_pair(f, matrix(one), another(two))


@pytest.mark.slow
@pytest.mark.compiled
def test_pairs_compiled() -> None:
    check_pair(products_of_matrices, matrix("csr_array"), another("csr_array"))


def test_a_star_between_matrices_is_their_product() -> None:
    A, B = matrix("csr_matrix"), another("csr_matrix")
    found = tapec.grad(lambda A: (A * B.T).sum())(A)
    np.testing.assert_allclose(found.data, np.asarray(B.sum(axis=0)).ravel()[A.indices])


def test_elements_that_cancel_have_derivatives() -> None:
    A = matrix("csr_array")
    found = tapec.grad(lambda A, B: ((A - B) @ np.ones(3)).sum())(A, A.copy())
    np.testing.assert_allclose(found.data, 1.0)


def test_pairs_have_one_shape() -> None:
    for f in (lambda A, B: (A + B).sum(), lambda A, B: A.multiply(B).sum(), lambda A, B: (A @ B).sum()):
        with pytest.raises(ValueError, match="two sparse matrices"):
            tapec.grad(f)(matrix("csr_array"), matrix("csr_array", 2, 3))


def test_pairs_in_tapes() -> None:
    A, B = matrix("csr_array"), another("csc_array")
    with tapec.GradientTape() as tape:
        tape.watch(A)
        y = (A @ B.T).sum() + (A + B).multiply(A).sum()
    expected = B.toarray().sum(axis=0)[A.indices] + (2 * A.toarray() + B.toarray())[A.tocoo().coords]
    np.testing.assert_allclose(tape.gradient(y, A).data, expected)


@pytest.mark.slow
def test_branches_and_loops() -> None:
    check(branches, matrix("csr_array"), X)


@pytest.mark.slow
def test_sums_along_axes_of_arrays() -> None:
    def f(A: Any, x: Any) -> Any:
        return np.sum(A.sum(axis=0) ** 2) + np.sum(A.sum(axis=-1) * x) + np.sum(A.mean(axis=1) ** 3)

    for name in CLASSES[:3]:
        check(f, matrix(name), X)


@pytest.mark.slow
def test_a_star_is_the_product_of_matrices_and_elementwise_of_arrays() -> None:
    def f(A: Any, x: Any) -> Any:
        return np.sum((A * x[:3]) ** 2) + np.sum((x * A) ** 3)

    def g(A: Any, x: Any) -> Any:
        return (A * x[:3]).data.sum() + np.sum((np.ones((4, 3)) - A) ** 2)

    check(f, matrix("csr_matrix"), X)
    check(g, matrix("csc_array"), X)


@pytest.mark.slow
@pytest.mark.parametrize("name", ("csr_array", "csc_array", "csc_matrix"))
def test_systems(name: str) -> None:
    def f(A: Any, x: Any) -> Any:
        return np.sum(np.sin(spsolve(A, x))) + np.sum(spsolve(A.T, np.outer(x, x[:2])) ** 2)

    check(f, square(name), X)


@pytest.mark.slow
def test_elements_that_stand_in_one_place_are_added_up() -> None:
    A = sp.coo_array((np.array([1.0, 2.0, 3.0]), (np.array([1, 0, 1]), np.array([0, 1, 0]))), shape=(2, 2))

    def f(A: Any, x: Any) -> Any:
        B = A.tocsr()
        return np.sum(B.data**2) * x[0] + np.sum(A.toarray() ** 3) + B.nnz

    check(f, A, X)


@pytest.mark.slow
def test_second_derivatives() -> None:
    A, place = square("csc_array"), np.arange(4)
    indices, indptr = A.indices, A.indptr

    def f(data: Any, x: Any) -> Any:
        B = sp.csc_array((data, indices, indptr), shape=(4, 4))
        return np.sum(spsolve(B, x) ** 2) + np.sum((B @ x) ** 3)

    (by_data, mixed), _ = tapec.hessian(f, wrt=(0, 1))(A.data, X)
    gradient = tapec.grad(f, wrt=(0, 1))
    for k in place:
        step = STEP * np.eye(A.data.size)[k]
        high, low = gradient(A.data + step, X), gradient(A.data - step, X)
        np.testing.assert_allclose(by_data[k], (high[0] - low[0]) / (2 * STEP), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(mixed[k], (high[1] - low[1]) / (2 * STEP), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_matrices_that_the_program_makes_of_triples() -> None:
    rows, columns = np.array([0, 1, 1, 2, 1]), np.array([0, 1, 2, 2, 1])

    def f(x: Any) -> Any:
        A = sp.csr_matrix((np.concatenate((x, x[:1] ** 2)), (rows, columns)), shape=(3, 3))
        return np.sum(spsolve(A.tocsc(), np.ones(3)) ** 2) + np.sum(A.data)

    found = tapec.grad(f)(X)
    expected = [(f(X + STEP * e) - f(X - STEP * e)) / (2 * STEP) for e in np.eye(4)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_matrices_from_outside_are_constants() -> None:
    A = matrix("csr_array")
    np.testing.assert_allclose(tapec.grad(lambda x: np.sum((A @ x) ** 2))(X[:3]), 2 * A.T @ (A @ X[:3]))


def test_results_are_sparse() -> None:
    A = matrix("csr_array")
    value, pull = tapec.vjp(lambda A: A.T * 2.0, A)
    assert type(value) is sp.csc_array
    np.testing.assert_allclose(value.toarray(), 2 * A.T.toarray())
    [found] = pull(value)
    _, tangent = tapec.jvp(lambda A: A.T * 2.0, (A,), (A,))
    np.testing.assert_allclose(tangent.toarray(), 2 * A.T.toarray())
    np.testing.assert_allclose(found.toarray(), 4 * A.toarray())


def test_in_tapes() -> None:
    A = matrix("csr_array")
    x = X[:3].copy()
    with tapec.GradientTape() as tape:
        tape.watch(x)
        tape.watch(A)
        y = np.sum((A @ x) ** 2)
    x_bar, A_bar = tape.gradient(y, [x, A])
    np.testing.assert_allclose(x_bar, 2 * A.T @ (A @ x))
    dense = 2 * np.outer(A @ x, x)
    assert type(A_bar) is sp.csr_array
    np.testing.assert_allclose(A_bar.toarray(), dense * (A.toarray() != 0))


def test_a_tangent_has_the_same_structure() -> None:
    with pytest.raises(tapec.errors.UsageError, match="other places"):
        tapec.jvp(lambda A: A.sum(), (matrix("csr_array"),), (matrix("csr_array")[::-1],))
    with pytest.raises(tapec.errors.UsageError, match="other places"):
        tapec.jvp_fun(lambda A: A.sum())(matrix("csr_array"), matrix("csr_array")[::-1])
    with pytest.raises(tapec.errors.UsageError, match="other places"):
        tapec.vjp_fun(lambda A: A * 2.0)(matrix("csr_array"), matrix("csr_array")[::-1])


@pytest.mark.parametrize(
    ("f", "what"),
    (
        (lambda A: (A + 1.0).sum(), "`\\+` of a csr_array"),
        (lambda A: A.power(2).sum(), "`power` of a csr_array"),
        (lambda A: A[0, 0], "csr_array"),
        (lambda A: A.sum(0, 1), "wrong arguments for `csr_array.sum`"),
        (lambda A: abs(A).sum(), "csr_array"),
        (lambda A: A.tocoo().sum(), "`sum`, which sorts its elements"),
    ),
)
def test_refused(f: Any, what: str) -> None:
    with pytest.raises(tapec.errors.TapecError, match=what):
        tapec.grad(f)(matrix("csr_array"))


@pytest.mark.parametrize("name", ("dia_array", "lil_array", "bsr_array"))
def test_other_formats_are_refused(name: str) -> None:
    with pytest.raises(tapec.errors.UnsupportedType, match=f"a {name} is not supported"):
        tapec.grad(lambda A: A.sum())(getattr(sp, name)(matrix("csr_array", 4, 4)))


@pytest.mark.slow
@pytest.mark.compiled
def test_compiled() -> None:
    check(times_vector, matrix("csr_array"), X)
    check(transposed, matrix("csc_array"), X)


def test_a_jacobian_is_by_the_numbers() -> None:
    with pytest.raises(tapec.errors.UnsupportedType, match="a Jacobian with respect to a sparse matrix"):
        tapec.jacobian(lambda A: A @ X[:3])(matrix("csr_array"))


def test_numbers_of_a_matrix_that_a_block_makes() -> None:
    A, x = matrix("csr_array"), X[:3].copy()
    for _ in range(3):
        with tapec.GradientTape() as tape:
            tape.watch(x)
            B = A.multiply(x).tocsr()
        np.testing.assert_allclose(tape.gradient(B.data, x), A.sum(axis=0))


def test_gradients_inside_functions() -> None:
    def f(A: Any, x: Any) -> Any:
        return np.sum((A @ x[:3]) ** 2)

    def g(A: Any, x: Any) -> Any:
        return np.sum(tapec.grad(f)(A, x).data ** 2)

    A = matrix("csr_array")
    value, found = tapec.value_and_grad(g)(A, X)
    by_data, _ = differences(lambda A, x: np.sum(tapec.grad(f)(A, x).data ** 2), A, X)
    np.testing.assert_allclose(found.data, by_data, rtol=1e-6)


def test_numbers_are_changed_in_place() -> None:
    def f(A: Any, x: Any) -> Any:
        A.data *= A.data
        return np.sum(A @ x[:3])

    A = matrix("csr_array")
    expected = 2 * A.data * X[A.indices]
    np.testing.assert_allclose(tapec.grad(f)(A.copy(), X).data, expected)


def test_a_matrix_is_not_changed_in_place() -> None:
    def f(A: Any) -> Any:
        A *= 2.0
        return A.sum()

    with pytest.raises(tapec.errors.UnsupportedSyntax, match="changed in place"):
        tapec.grad(f)(matrix("csr_array"))


def test_integers_have_no_gradient() -> None:
    A = sp.csr_array(np.eye(3, dtype=int))
    np.testing.assert_allclose(tapec.grad(lambda A, x: np.sum(A @ x), wrt=1)(A, X[:3]), np.ones(3))
    with pytest.raises(tapec.errors.NotDifferentiable, match="int64"):
        tapec.grad(lambda A, x: np.sum(A @ x))(A, X[:3])
