"""`tapec.pytensor` against PyTensor's own derivatives, and in a model of PyMC."""

from __future__ import annotations

import doctest

import cloudpickle
import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor")

import pytensor.tensor as pt  # noqa: E402  after the library is known to be there

import tapec.pytensor  # noqa: E402
from tapec.errors import TypeMismatch, UnsupportedFunction, UsageError  # noqa: E402

pytestmark = pytest.mark.slow


def energy(x, k):
    total = 0.0
    for i in range(1, x.shape[0]):
        total += 0.5 * k * (x[i] ** 2 - x[i - 1]) ** 2
    return total


def reference(x, k):
    return pt.sum(0.5 * k * (x[1:] ** 2 - x[:-1]) ** 2)


def response(x, n, A):
    y = A @ x
    for _ in range(n):
        y = np.tanh(y)
    return y, np.sum(x * x), n


X = np.linspace(0.1, 2.0, 5)


def both(make):
    x, k = pt.dvector("x"), pt.dscalar("k")
    for mode in ("FAST_COMPILE", None):
        ours, theirs = (make(f(x, k), x, k) for f in (tapec.pytensor.wrap(energy), reference))
        results = [pytensor.function([x, k], made, mode=mode)(X, 2.0) for made in (ours, theirs)]
        np.testing.assert_allclose(*results, rtol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda y, x, k: y,
        lambda y, x, k: pytensor.grad(y**2, x),
        lambda y, x, k: pytensor.grad(y, k),
        lambda y, x, k: pytensor.gradient.hessian(y, x),
        lambda y, x, k: pytensor.grad(pytensor.grad(y, k), x),
        lambda y, x, k: pytensor.gradient.Rop(y, x, pt.sin(x), use_op_rop_implementation=True),
        lambda y, x, k: pytensor.gradient.Rop(pytensor.grad(y, x), x, x * k, use_op_rop_implementation=True),
    ],
    ids=["value", "gradient", "by a scalar", "hessian", "mixed", "R_op", "R_op of the gradient"],
)
def test_derivatives(make):
    both(make)


def test_a_tuple_of_outputs_and_an_integer():
    x, A = pt.dvector("x"), pt.dmatrix("A")
    f = tapec.pytensor.wrap(response)
    y, squares, n = f(x, 2, A)
    assert [one.type.ndim for one in (y, squares, n)] == [1, 0, 0] and n.type.dtype == "int64"
    gradients = pytensor.grad(y.sum() * squares, [x, A])
    plain = pt.tanh(pt.tanh(A @ x))
    expected = pytensor.grad(plain.sum() * pt.sum(x * x), [x, A])
    values = {x: np.array([0.5, -1.0]), A: np.array([[1.0, 2.0], [0.0, 1.0], [-1.0, 1.0]])}
    for one, other in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(one.eval(values), other.eval(values), rtol=1e-12)
    alone = pytensor.grad(squares, x).eval({x: values[x], A: values[A]}, on_unused_input="ignore")
    np.testing.assert_allclose(alone, 2 * values[x])


def test_the_numba_backend():
    x = pt.dvector("x")
    compiled = pytensor.function([x], pytensor.grad(tapec.pytensor.wrap(energy)(2 * x, 2.0), x), mode="NUMBA")
    np.testing.assert_allclose(compiled(X), 2 * tapec.grad(energy)(2 * X, 2.0))


def test_pytensors_own_check():
    from pytensor.gradient import verify_grad

    f = tapec.pytensor.wrap(lambda x: np.cumsum(np.sin(x)))
    verify_grad(f, [X], rng=np.random.default_rng(0))


def test_single_precision():
    x = pt.fvector("x")
    y = tapec.pytensor.wrap(lambda x: np.sum(x * x))(x)
    gradient = pytensor.grad(y, x)
    assert y.type.dtype == gradient.type.dtype == "float32"
    np.testing.assert_array_equal(gradient.eval({x: np.float32([1, 2])}), np.float32([2, 4]))


def test_constants_have_no_gradient():
    x, k = pt.dvector("x"), pt.dscalar("k")
    y = tapec.pytensor.wrap(energy, wrt="x")(x, k)
    with pytest.raises(pytensor.gradient.NullTypeGradError, match="not in `wrt`"):
        pytensor.grad(y, k)
    with pytest.raises(UsageError, match="no parameter"):
        tapec.pytensor.wrap(energy, wrt="z")


def test_empty_and_strided_arrays():
    x = pt.dmatrix("x")
    y = tapec.pytensor.wrap(energy)(x[:, 0], 2.0)
    gradient = pytensor.function([x], pytensor.grad(y, x))
    assert gradient(np.zeros((0, 2))).shape == (0, 2)
    whole = np.stack([X, X], axis=1)
    np.testing.assert_allclose(gradient(whole)[:, 0], tapec.grad(energy)(X, 2.0))


def test_results_share_no_memory():
    x = pt.dvector("x")
    first, second = tapec.pytensor.wrap(lambda x: (x, x[::-1]))(x)
    given = X.copy()
    one, other = pytensor.function([x], [first, second])(given)
    one[:] = 0.0
    assert given.all() and other.all()


def test_errors_are_not_hidden():
    def writes(x):
        x[0] = 1.0
        return np.sum(x)

    def fails(x):
        if x[0] > 0.0:
            raise ValueError("x is positive")
        return x[0]

    x = pt.dvector("x")
    with pytest.raises(TypeMismatch, match="read-only"):
        tapec.pytensor.wrap(writes)(x)
    with pytest.raises(TypeError, match="too many positional arguments"):
        tapec.pytensor.wrap(writes)(x, x)
    with pytest.raises(UnsupportedFunction):
        tapec.pytensor.wrap(lambda x: np.sum(np.busday_count(x, x)))(x)
    with pytest.raises(ValueError, match="x is positive"):
        tapec.pytensor.wrap(fails)(x).eval({x: X})
    with pytest.raises(TypeError, match="complex128"):
        tapec.pytensor.wrap(lambda x: x * x)(pt.zvector("z"))
    with pytest.raises(TypeError, match="something else"):
        tapec.pytensor.wrap(lambda x: (x, (x, x)))(x)


def test_a_graph_is_pickled():
    x = pt.dvector("x")
    gradient = pytensor.function([x], pytensor.grad(tapec.pytensor.wrap(energy)(x, 2.0), x))
    again = cloudpickle.loads(cloudpickle.dumps(gradient))
    np.testing.assert_array_equal(again(X), gradient(X))


def test_equal_calls_are_merged():
    x = pt.dvector("x")
    f = tapec.pytensor.wrap(energy)
    assert f == tapec.pytensor.wrap(energy) and f != tapec.pytensor.wrap(energy, strict=True)
    compiled = pytensor.function([x], f(x, 2.0) + tapec.pytensor.wrap(energy)(x, 2.0))
    assert sum(isinstance(node.op, tapec.pytensor.DerivativeOp) for node in compiled.maker.fgraph.apply_nodes) == 1


def test_a_model_of_pymc_is_sampled_by_nuts():
    pm = pytest.importorskip("pymc")

    def log_likelihood(mu, y):
        total = 0.0
        for i in range(y.shape[0]):
            total -= 0.5 * (y[i] - mu) ** 2
        return total

    y = np.random.default_rng(0).normal(1.0, 1.0, 20)
    f = tapec.pytensor.wrap(log_likelihood)
    with pm.Model():
        mu = pm.Normal("mu", 0.0, 10.0)
        pm.Potential("likelihood", f(mu, y))
        sampled = pm.sample(600, tune=400, chains=2, cores=2, random_seed=1, progressbar=False)
    draws = sampled.posterior["mu"].values.ravel()
    precision = 20 + 1 / 100
    assert abs(draws.mean() - y.sum() / precision) < 0.05
    assert abs(draws.std() - precision**-0.5) < 0.03


def test_the_examples_of_the_module():
    assert doctest.testmod(tapec.pytensor).failed == 0
