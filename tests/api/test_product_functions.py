"""`jvp_fun`, `vjp_fun`, `hessp`, `hessian_diag` and `gnvp` against Jacobians, Hessians and central differences."""

from __future__ import annotations

import doctest
import pickle
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.optimize
from numba import njit
from numba.core.errors import TypingError

import tapec
import tapec.product_functions
from tapec.errors import TapecError, UsageError

pytestmark = pytest.mark.generated

X, V = np.array([0.4, -0.7, 1.3]), np.array([1.0, 2.0, -0.5])
Pair = namedtuple("Pair", "w b")


@dataclass
class Model:
    w: np.ndarray
    b: float


def residuals(x, a=2.0, *, scale=1.0):
    y = np.empty(x.shape[0] + 1)
    for i in range(x.shape[0]):
        y[i] = np.sin(x[i]) * a * x[0] * scale
    y[-1] = np.exp(x[-1]) * a
    return y


def loss(x, a=2.0, *, scale=1.0):
    r = residuals(x, a, scale=scale)
    return r @ r


def structured(p):
    w, b = p
    return w**2 * b, b


@pytest.mark.slow
def test_directions_are_products_with_the_jacobian():
    jacobian = tapec.jacobian(residuals, wrt=("x", "a"))(X, 3.0, scale=0.5)
    wanted = jacobian[0] @ V + jacobian[1] * 0.7
    value, tangent = tapec.jvp_fun(residuals, wrt=("x", "a"))(X, 3.0, V, 0.7, scale=0.5)
    np.testing.assert_allclose(value, residuals(X, 3.0, scale=0.5))
    np.testing.assert_allclose(tangent, wanted)
    cotangent = np.array([1.0, -2.0, 0.5, 3.0])
    value, (x_bar, a_bar) = tapec.vjp_fun(residuals, wrt=("x", "a"))(X, 3.0, cotangent, scale=0.5)
    np.testing.assert_allclose(value, residuals(X, 3.0, scale=0.5))
    np.testing.assert_allclose(x_bar, cotangent @ jacobian[0])
    np.testing.assert_allclose(a_bar, cotangent @ jacobian[1])
    np.testing.assert_allclose(cotangent @ wanted, x_bar @ V + a_bar * 0.7)


def test_directions_by_name_and_defaults():
    push, pull = tapec.jvp_fun(residuals), tapec.vjp_fun(residuals)
    np.testing.assert_array_equal(push(X, V)[1], push(X, 2.0, x_dot=V)[1])
    ones = np.ones(4)
    np.testing.assert_array_equal(pull(X, ones)[1], pull(X, cotangent=ones, a=2.0)[1])
    with pytest.raises(TypeError, match="misses its `x_dot`"):
        push()


@pytest.mark.slow
def test_gauss_newton_products_and_diagonals():
    jacobian = tapec.jacobian(residuals)(X, 3.0, scale=0.5)
    np.testing.assert_allclose(tapec.gnvp(residuals)(X, 3.0, V, scale=0.5), jacobian.T @ jacobian @ V)
    hessian = tapec.hessian(loss, wrt=(0, 1))(X, 3.0)
    diagonal = tapec.hessian_diag(loss, wrt=(0, 1))(X, 3.0)
    np.testing.assert_allclose(diagonal[0], np.diag(hessian[0][0]))
    np.testing.assert_allclose(diagonal[1], hessian[1][1])
    np.testing.assert_allclose(tapec.hessp(loss)(X, V, 3.0), hessian[0][0] @ V)
    np.testing.assert_allclose(tapec.hessp(loss)(X, p=V), tapec.hvp(loss)(X, V))
    by_scale = tapec.hessp(lambda x, a: loss(x, a), wrt="a")(X, 3.0, 2.0)
    np.testing.assert_allclose(by_scale, 2.0 * hessian[1][1])


def test_scipy_takes_hessp_as_it_is():
    def valley(x, a):
        return np.sum(a * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    gradient, product = tapec.grad(valley), tapec.hessp(valley)
    found = scipy.optimize.minimize(
        valley, np.zeros(4), args=(100.0,), jac=gradient, hessp=product, method="trust-ncg"
    )
    np.testing.assert_allclose(found.x, 1.0, rtol=1e-5)


@pytest.mark.slow
def test_a_diagonal_of_a_matrix_has_its_shape():
    a = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(tapec.hessian_diag(lambda x: np.sum(x**3) * x[0, 1])(a), 6 * a + 6 * (a == 1.0))
    assert tapec.hessian_diag(lambda x: np.sum(x))(np.zeros((0, 2))).shape == (0, 2)
    single = tapec.hessian_diag(lambda x: np.sum(x**3))(X.astype(np.float32))
    assert single.dtype == np.float32


@pytest.mark.parametrize("given", [(X, 2.0), [X, 2.0], Pair(X, 2.0)], ids=["tuple", "list", "named"])
def test_structures_keep_their_types(given):
    moved = type(given)(*(V, 1.0)) if isinstance(given, Pair) else type(given)((V, 1.0))
    (y, b), (dy, db) = tapec.jvp_fun(structured)(given, moved)
    np.testing.assert_allclose(dy, 4.0 * X * V + X**2)
    (_, _), adjoint = tapec.vjp_fun(structured)(given, (V, 1.0))
    assert type(adjoint) is type(given)
    np.testing.assert_allclose(adjoint[0], 4.0 * X * V)
    np.testing.assert_allclose(adjoint[1], X**2 @ V + 1.0)
    product = tapec.gnvp(structured)(given, moved)
    np.testing.assert_allclose(product[0], 4.0 * X * dy)
    np.testing.assert_allclose(product[1], X**2 @ dy + db)


@pytest.mark.slow
def test_dicts_and_objects():
    def of_dict(p):
        return p["w"] ** 2 * p["b"], p

    def of_object(p):
        return p.w**2 * p.b

    given, moved = {"w": X, "b": 2.0}, {"b": 1.0, "w": V}  # in another order
    (_, whole), (tangent, back) = tapec.jvp_fun(of_dict)(given, moved)
    np.testing.assert_allclose(tangent, 4.0 * X * V + X**2)
    assert list(whole) == list(back) == ["w", "b"] and back["b"] == 1.0
    _, adjoint = tapec.vjp_fun(of_dict)(given, (V, {"b": 10.0, "w": np.zeros(3)}))
    np.testing.assert_allclose(adjoint["b"], X**2 @ V + 10.0)
    with pytest.raises(UsageError, match="other keys"):
        tapec.vjp_fun(of_dict)(given, (V, {"b": 10.0, "c": 1.0}))
    product = tapec.gnvp(of_object)(Model(X, 2.0), Model(V, 1.0))
    assert type(product) is Model
    np.testing.assert_allclose(product.w, 4.0 * X * tangent)
    diagonal = tapec.hessian_diag(lambda p: np.sum(p["w"] ** 3) * p["b"] ** 2)(given)
    np.testing.assert_allclose(diagonal["w"], 24.0 * X)
    np.testing.assert_allclose(diagonal["b"], 2.0 * np.sum(X**3))


class Spring:
    def __init__(self, stiffness):
        self.stiffness = stiffness

    def energy(self, x, a):
        return np.sum(x**3) * self.stiffness * a

    def forces(self, x):
        return x**2 * self.stiffness


def test_methods_are_of_the_object_as_it_is():
    spring = Spring(2.0)
    push, product = tapec.jvp_fun(spring.forces), tapec.hessp(spring.energy)
    np.testing.assert_allclose(push(X, V)[1], 4.0 * X * V)
    spring.stiffness = 3.0
    np.testing.assert_allclose(push(X, V)[1], 6.0 * X * V)
    np.testing.assert_allclose(product(X, V, 2.0), 36.0 * X * V)
    np.testing.assert_allclose(tapec.gnvp(spring.forces)(X, V), 36.0 * X**2 * V)
    np.testing.assert_allclose(tapec.hessian_diag(spring.energy)(X, 1.0), 18.0 * X)


@pytest.mark.slow
def test_seeds_of_other_dtypes_and_layouts_are_converted():
    square = np.arange(9.0).reshape(3, 3)
    push, pull = tapec.jvp_fun(lambda x: x.T * x[0]), tapec.vjp_fun(lambda x: x.T * x[0])
    seed = np.arange(18.0).reshape(3, 6)[:, ::2]
    wanted = push(square, seed.copy())[1], pull(square, seed.copy())[1]
    for one in (seed, np.asfortranarray(seed), seed.astype(np.float32), seed.astype(np.int64)):
        np.testing.assert_array_equal(push(square, one)[1], wanted[0])
        np.testing.assert_array_equal(pull(square, one)[1], wanted[1])
    rows = np.arange(6.0).reshape(2, 3)
    product, hessian = tapec.gnvp(lambda x: x.ravel() ** 2), tapec.hessp(lambda x: np.sum(x.ravel() ** 3))
    for one in (np.asfortranarray(rows), rows.astype(np.int64)):
        np.testing.assert_array_equal(product(rows, one), 4.0 * rows**3)
        np.testing.assert_array_equal(hessian(rows, one), 6.0 * rows**2)
    single = tapec.jvp_fun(lambda x: x * x)(X.astype(np.float32), V)[1]
    assert single.dtype == np.float32
    fixed = V.copy()
    fixed.flags.writeable = False
    np.testing.assert_allclose(tapec.jvp_fun(lambda x: x * x)(X, fixed)[1], 2.0 * X * V)
    assert tapec.vjp_fun(lambda x: x * x)(2.0, 3)[1] == 12.0


def written_by_columns(x):
    rows = x.T.ravel()
    rows[0] = 1.0
    rows *= 2.0
    return np.sum(x * x)


@pytest.mark.parametrize("order", ["C", "F"])
def test_tangents_that_are_copied_are_in_the_order_of_what_they_belong_to(order):
    columns, seed = np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0], [7.0, 8.0]], order=order)
    # 8 x . dx, but for the first element
    assert tapec.jvp_fun(written_by_columns)(columns.copy("F"), seed) == (120.0, 8.0 * (12.0 + 21.0 + 32.0))
    assert tapec.jvp(written_by_columns, (columns.copy("F"),), (seed,)) == (120.0, 8.0 * (12.0 + 21.0 + 32.0))


def overwrites(x, a):
    for i in range(x.shape[0]):
        x[i] = x[i] * a[i]
    return np.sum(x * a)


def test_seeds_stay_as_they_are_and_may_share_memory_with_what_is_written():
    push, pull = tapec.jvp_fun(overwrites, wrt=(0, 1)), tapec.vjp_fun(lambda x, a: (overwrites(x, a), x * 1.0)[1])
    a = np.array([1.0, 2.0, 3.0])
    wanted = push(X.copy(), a, V.copy(), a.copy())[1]
    x, tangent = X.copy(), V.copy()
    assert push(x, a, tangent, a)[1] == wanted
    np.testing.assert_array_equal(tangent, V)
    x = X.copy()
    assert np.isclose(push(x, a, x, a)[1], push(X.copy(), a, X.copy(), a.copy())[1])
    x = X.copy()
    np.testing.assert_allclose(pull(x, a, x)[1], X * a)


def test_an_adjoint_is_no_view_of_the_cotangent():
    cotangent = V.copy()
    value, adjoint = tapec.vjp_fun(lambda x: x)(X, cotangent)
    adjoint[0] = 100.0
    np.testing.assert_array_equal(cotangent, V)


def test_complex_numbers():
    z, dz = np.array([1.0 + 2.0j, 0.5j]), np.array([1.0, 1.0j])
    _, tangent = tapec.jvp_fun(lambda z: z * z)(z, dz)
    np.testing.assert_allclose(tangent, 2.0 * z * dz)
    np.testing.assert_allclose(tapec.jvp_fun(lambda z: z * z)(z, dz.real)[1], 2.0 * z * dz.real)
    _, adjoint = tapec.vjp_fun(lambda z: z * z)(z, dz)
    np.testing.assert_allclose(adjoint, np.conj(2.0 * z) * dz)
    assert tapec.vjp_fun(lambda x: (x + 1j) ** 2)(2.0, 1.0)[1] == 4.0


def test_results_that_are_no_floats_have_no_seed():
    value, tangent = tapec.jvp_fun(lambda x: (x * x, 3, None))(2.0, 1.0)
    assert value == (4.0, 3, None) and tangent[0] == 4.0
    for filler in (0, None):
        assert tapec.vjp_fun(lambda x: (x * x, 3))(2.0, (1.0, filler))[1] == 4.0


REFUSED = [
    (lambda: tapec.jvp_fun(lambda x: x * x)(X, np.ones(4)), ValueError, "tangent of `x` has another shape"),
    (lambda: tapec.vjp_fun(lambda x: x * x)(X, np.ones(4)), ValueError, "cotangent has another shape"),
    (lambda: tapec.jvp_fun(lambda x: x * x)(X, None), UsageError, "is None, where"),
    (lambda: tapec.vjp_fun(lambda x: None)(1.0, 1.0), TapecError, "returns nothing"),
    (lambda: tapec.jvp_fun(lambda n: n * 2)(3, 1.0), TapecError, "no derivative"),
    (lambda: tapec.gnvp(lambda x: x * x)(X, np.ones(4)), ValueError, "another shape"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED, ids=[message[:20] for *_, message in REFUSED])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.slow
def test_inside_differentiated_code():
    def outer(x):
        (y, s), (dy, ds) = tapec.jvp_fun(lambda u, a: (a * np.sin(u), np.sum(u * u) * a), ("u", "a"))(x, 2.0, x, 1.0)
        _, (x_bar, a_bar) = tapec.vjp_fun(lambda u, a: (a * np.sin(u), np.sum(u * u) * a), (0, 1))(x, 2.0, (dy, 3))
        return np.sum(x_bar * x) + a_bar + ds

    tapec.check_grads(outer, (X,))

    def composed(x):
        first = np.sum(tapec.gnvp(lambda u, a: u**2 * a)(x, 2.0, x)) + np.sum(tapec.hessian_diag(quartic)(x))
        return first + np.sum(tapec.hessp(lambda u, a: np.sum(u**4) * a)(x, x, 2.0))

    tapec.check_grads(composed, (X,))


def quartic(x):
    return np.sum(x**4)


def test_fourth_derivatives():
    fourth = tapec.grad(tapec.grad(tapec.grad(tapec.grad(lambda x: np.sin(x) * x**2))))
    x = 0.7
    assert np.isclose(fourth(x), (x * x - 12.0) * np.sin(x) - 8.0 * x * np.cos(x), rtol=1e-12)


def grown(z):
    return np.array([v * v for v in z]), z[1], z[0] * 2j


def plain(z):
    return z * z, z[1], z[0] * 2j


@pytest.mark.slow
@pytest.mark.parametrize("f", [grown, plain])
def test_adjoints_of_several_complex_results(f):
    z, rng = np.array([1.0 + 2.0j, 3.0 - 4.0j]), np.random.default_rng(3)
    for part in (1.0, 1j):
        seed = (part * rng.normal(size=2), part * rng.normal(), part * rng.normal())
        wanted = np.conj(2.0 * z) * seed[0] + np.array([np.conj(2j) * seed[2], seed[1]])
        np.testing.assert_allclose(tapec.vjp_fun(f)(z, seed)[1], wanted)
        np.testing.assert_allclose(tapec.vjp(f, z)[1](seed)[0], wanted)


def spelt(x, axes="xyz"):
    total = 0.0
    for k, axis in enumerate(axes[::-1]):
        total += x[k] ** 2 * (ord(axis) - ord("w"))
    return total


def test_text_that_is_left_out_is_known():
    scale = np.array([3.0, 2.0, 1.0])
    for found, wanted in (
        (tapec.jvp(spelt, (X,), (V,))[1], 2.0 * scale * X @ V),
        (tapec.jvp_fun(spelt)(X, V)[1], 2.0 * scale * X @ V),
        (tapec.vjp_fun(spelt)(X, 1.0)[1], 2.0 * scale * X),
        (tapec.hvp(spelt)(X, V), 2.0 * scale * V),
    ):
        np.testing.assert_allclose(found, wanted)


@pytest.mark.slow
@pytest.mark.compiled
def test_in_jitted_code_and_pickled():
    push, pull, product = tapec.jvp_fun(quartic), tapec.vjp_fun(quartic), tapec.hessp(quartic)
    inner = njit(quartic)

    @njit
    def use(x, v):
        return push(x, v)[1] + pull(x, 2.0)[1][0] + product(x, v)[1] + tapec.jvp(inner, (x,), (v,))[1]

    wanted = 2.0 * (4.0 * X**3 @ V) + 8.0 * X[0] ** 3 + 12.0 * X[1] ** 2 * V[1]
    assert np.isclose(use(X, V), wanted)
    assert np.isclose(pickle.loads(pickle.dumps(push))(X, V)[1], push(X, V)[1])
    assert "hessp" in repr(product) and "quartic" in repr(product)
    assert pickle.loads(pickle.dumps(tapec.jvp)) is tapec.jvp
    with pytest.raises(TypingError, match="make `pull = tapec.vjp_fun"):
        njit(lambda x: tapec.vjp(inner, x)[0])(X)


@pytest.mark.slow
@pytest.mark.compiled
def test_docstrings():
    assert doctest.testmod(tapec.product_functions).failed == 0
