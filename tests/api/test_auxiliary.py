"""`has_aux=True`: what a function returns beside the number that is differentiated."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.errors import UsageError
from tests.sampling import sampled

pytestmark = pytest.mark.generated

X = np.array([1.0, 2.0, 3.0])


def running_product(x, a):
    y = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = x[i] ** 2 * a
    for i in range(1, x.shape[0]):
        y[i] *= y[i - 1]
    return np.sum(y), (y, x.shape[0], a * 2)


@pytest.mark.slow
def test_the_gradient_is_that_of_the_number():
    value, (y, count, twice) = running_product(X, 2.0)
    wanted = tapec.grad(lambda x, a: running_product(x, a)[0], wrt=(0, 1))(X, 2.0)
    (found, aux), gradient = tapec.value_and_grad(running_product, wrt=(0, 1), has_aux=True)(X, 2.0)
    assert found == value and aux[1:] == (count, twice)
    np.testing.assert_array_equal(aux[0], y)
    np.testing.assert_allclose(gradient[0], wanted[0])
    assert np.isclose(gradient[1], wanted[1])
    alone, aux = tapec.grad(running_product, has_aux=True)(X, 2.0)
    np.testing.assert_allclose(alone, wanted[0])
    np.testing.assert_array_equal(aux[0], y)


@pytest.mark.slow
def test_products():
    wanted = tapec.grad(lambda x, a: running_product(x, a)[0], wrt=(0, 1))(X, 2.0)
    value, pullback, aux = tapec.vjp(running_product, X, 2.0, has_aux=True)
    np.testing.assert_allclose(pullback(2.0)[0], 2.0 * wanted[0])
    assert np.isclose(pullback(1.0)[1], wanted[1]) and aux[1] == 3
    value, tangent, aux = tapec.jvp(running_product, (X, 2.0), (np.ones(3), None), has_aux=True)
    assert np.isclose(tangent, np.sum(wanted[0])) and value == running_product(X, 2.0)[0] and aux[1] == 3


def test_what_is_overwritten_is_returned_as_it_was_left():
    def squares(x):
        for i in range(x.shape[0]):
            x[i] = x[i] ** 2
        return np.sum(x * x), x

    x = X.copy()
    (value, left), gradient = tapec.value_and_grad(squares, has_aux=True)(x)
    np.testing.assert_array_equal(left, X**2)
    np.testing.assert_array_equal(x, X**2)
    np.testing.assert_allclose(gradient, 4.0 * X**3)


@pytest.mark.slow
def test_structures_and_differentiated_code():
    given = {"w": X, "b": 2.0}
    (_, aux), gradient = tapec.value_and_grad(lambda p: (np.sum(p["w"] * p["b"]), p), has_aux=True)(given)
    assert aux["b"] == 2.0 and gradient["b"] == 6.0

    def outer(x):
        first, (y, _, _) = tapec.grad(running_product, has_aux=True)(x, 2.0)
        (value, _), second = tapec.value_and_grad(running_product, has_aux=True)(x, 2.0)
        return np.sum(first * y) + np.sum(second * second) + value

    tapec.check_grads(outer, (X,))


def waves(x, a):
    y = np.sin(x) * a * x[0]
    return y, (x * a, x.shape[0], (a, None))


def energy(x, a):
    y, rest = waves(x, a)
    return y @ y, rest


def check_rest(rest):
    np.testing.assert_allclose(rest[0], 2.0 * X)
    assert rest[1:] == (3, (2.0, None))


MAKERS = [tapec.jacobian, tapec.jacfwd, tapec.jacrev, tapec.hessian]


@pytest.mark.parametrize("make", sampled(MAKERS, 4), ids=lambda one: one.__name__)
@pytest.mark.parametrize("f", [waves, energy])
def test_blocks(make, f):
    blocks, rest = make(f, wrt=(0, 1), has_aux=True)(X, 2.0)
    wanted = make(lambda x, a: f(x, a)[0], wrt=(0, 1))(X, 2.0)
    for own, other in zip(blocks, wanted, strict=True):
        if make is tapec.hessian:
            np.testing.assert_allclose(own[0], other[0], rtol=1e-13, atol=1e-13)
            np.testing.assert_allclose(own[1], other[1], rtol=1e-13, atol=1e-13)
        else:
            np.testing.assert_allclose(own, other, rtol=1e-13, atol=1e-13)
    check_rest(rest)


def test_blocks_of_a_number_by_a_number_and_of_structures():
    assert tapec.jacobian(lambda a: (a**3, a + 1.0), has_aux=True)(2.0) == (12.0, 3.0)
    blocks, rest = tapec.jacobian(lambda p: ((p["w"] * p["b"], p["b"] ** 2), p), has_aux=True)({"w": X, "b": 2.0})
    np.testing.assert_allclose(blocks[0]["b"], X)
    assert blocks[1]["b"] == 4.0 and rest["b"] == 2.0


def test_hessian_vector_products():
    product, rest = tapec.hvp(energy, has_aux=True)(X, 2.0, X)
    np.testing.assert_allclose(product, tapec.hessian(lambda x: energy(x, 2.0)[0])(X) @ X)
    check_rest(rest)


@pytest.mark.compiled
@pytest.mark.slow
def test_machine_code_of_blocks():
    blocks, rest = tapec.jacobian(waves, has_aux=True)(X, 2.0)
    np.testing.assert_allclose(blocks, tapec.jacobian(lambda x: waves(x, 2.0)[0])(X))
    check_rest(rest)
    product, rest = tapec.hvp(energy, has_aux=True)(X, 2.0, X)
    np.testing.assert_allclose(product, tapec.hessian(energy, has_aux=True)(X, 2.0)[0] @ X)
    check_rest(rest)


def test_other_transforms_refuse_it():
    for make in (tapec.jvp_fun, tapec.function, tapec.vmap):
        with pytest.raises(UsageError, match="takes no `has_aux`"):
            make(running_product, has_aux=True)
