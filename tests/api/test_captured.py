"""Closures over numbers and arrays: a new one of the same code compiles nothing, and means what Python says."""

from __future__ import annotations

import pickle
from unittest import mock

import cloudpickle
import numba
import numpy as np
import pytest

import tapec
from tapec import captured
from tapec.errors import TypeMismatch, UsageError

RNG = np.random.default_rng(0)
P = RNG.normal(size=3)


@pytest.fixture(autouse=True)
def interpreted(request):
    with mock.patch.object(numba.config, "DISABLE_JIT", "compiled" not in request.node.name):
        yield


def loss(q, batch):
    x, y = batch
    return np.sum((x @ q - y) ** 2)


def batches(count: int):
    for _ in range(count):
        yield RNG.normal(size=(8, 3)), RNG.normal(size=8)


def slopes(transform):
    """The derivative of the loss of each of several batches, and what it should be."""
    for batch in batches(4):
        x, y = batch
        yield transform(lambda q: loss(q, batch)), 2.0 * x.T @ (x @ P - y)  # noqa: B023


@pytest.mark.slow
def test_each_closure_has_the_derivative_of_what_it_holds():
    for found, wanted in slopes(lambda f: tapec.grad(f)(P)):
        assert np.allclose(found, wanted)
    for found, wanted in slopes(lambda f: tapec.value_and_grad(f)(P)[1]):
        assert np.allclose(found, wanted)
    for found, wanted in slopes(lambda f: tapec.jacobian(f)(P)):
        assert np.allclose(found, wanted)
    for found, wanted in slopes(lambda f: tapec.jvp(f, (P,), (P,))[1]):
        assert np.isclose(found, wanted @ P)
    for found, wanted in slopes(lambda f: tapec.vjp(f, P)[1](1.0)[0]):
        assert np.allclose(found, wanted)
    for found, _ in slopes(lambda f: (tapec.hessian(f)(P) @ P, tapec.hvp(f)(P, P))):
        assert np.allclose(*found)


@pytest.mark.slow
def test_compiled_closures_are_compiled_twice():
    made = [tapec.grad(lambda q: loss(q, batch)) for batch in batches(5)]  # noqa: B023
    for one in made:
        one(P)
    assert not isinstance(made[0], captured.CapturedDerivative)
    later = {id(one.derivative) for one in made[1:]}
    assert len(later) == 1 and len(made[1].derivative.overloads) == 1


def scaled(a, k=2.0):
    def f(x, y=1.0, *, z=1.0):
        return np.sum(x * a) * k * y * z

    return f


def test_arguments_are_given_in_every_way():
    for _ in range(3):
        a = RNG.normal(size=3)
        assert np.isclose(tapec.grad(scaled(a), "y")(P, 2.0, z=3.0), P @ a * 6.0)
        assert np.isclose(tapec.grad(scaled(a), 1)(P, y=2.0, z=3.0), P @ a * 6.0)
        assert np.allclose(tapec.grad(scaled(a), (0, "z"))(P, y=2.0)[0], 4.0 * a)
        assert np.isclose(tapec.hvp(scaled(a), (0, 1))(P, (np.zeros(3), 1.0))[1], 0.0)
        with pytest.raises(UsageError, match="has no parameter"):
            tapec.grad(scaled(a), "w")


def counted(n, a):
    return lambda x: np.sum(x[:n] * a[:n]) * len(range(n))


def test_integers_are_known():
    for n in (1, 2, 3, 2):
        assert np.allclose(tapec.grad(counted(n, np.ones(3)))(P), n * (np.arange(3) < n))


def containers(d):
    return lambda x: np.sum(x * d["a"]) * d["k"] + sum(np.sum(v) for v in d["l"]) * x[0]


@pytest.mark.slow
def test_containers():
    for k in (1, 2, 3):
        a = RNG.normal(size=3)
        by = tapec.grad(containers({"a": a, "k": 2.0, "l": [np.ones(2)] * k}))(P)
        assert np.allclose(by, 2.0 * a + [2.0 * k, 0.0, 0.0])


def filled(buffer):
    def f(x):
        buffer[0] = x[0]
        return buffer[0] * x[1]

    return f


def test_what_a_closure_holds_is_not_written():
    for _ in range(3):
        with pytest.raises(TypeMismatch, match="read-only"):
            tapec.grad(filled(np.zeros(2)))(P)


def rebound(a):
    def f(x):
        return np.sum(x * a)

    def bind(value):
        nonlocal a
        a = value

    return f, bind


def test_a_variable_that_is_bound_anew():
    for _ in range(3):
        f, bind = rebound(np.ones(3))
        g = tapec.grad(f)
        bind(np.full(3, 5.0))
        assert np.array_equal(g(P), np.full(3, 5.0))
    # and one that needs to be known by then
    bind(2.0)
    assert np.array_equal(g(P), np.full(3, 2.0))


def nested(a):
    def inner(x):
        return x * a

    def f(x):
        def g(y):
            return y * a

        return np.sum(g(x) * x) + np.sum((lambda z: z * a)(x))

    return f, lambda x: np.sum(inner(x))


@pytest.mark.slow
def test_functions_inside_and_functions_that_hold_functions():
    for _ in range(3):
        a = RNG.normal(size=3)
        f, g = nested(a)
        assert np.allclose(tapec.grad(f)(P), 2.0 * P * a + a)
        assert np.allclose(tapec.grad(g)(P), a)


def shaped(shape, a):
    return lambda x: np.sum(np.ones((len(shape), 3)) * x) + np.sum(np.zeros(shape[0]) + a) + x[0] * len(shape)


@pytest.mark.slow
def test_what_needs_to_be_known_is_a_constant():
    for shape in ((2.0, 3.0), (2.0, 3.0, 4.0)):
        for _ in range(3):
            with pytest.raises(TypeMismatch):
                tapec.grad(shaped(shape, np.ones(2)))(P)
    for n in (2, 3):
        fixed = lambda x, n=n: x  # noqa: E731
        assert np.array_equal(tapec.jacobian(lambda x: fixed(x) * np.ones(3))(P), np.eye(3))  # noqa: B023


@pytest.mark.slow
def test_compiled_derivatives_are_called_from_jitted_code_and_pickled():
    for _ in range(3):
        a = RNG.normal(size=3)
        g = tapec.grad(scaled(a))

        @numba.njit
        def caller(x):
            return g(x)  # noqa: B023

        assert np.allclose(caller(P), 2.0 * a)
        assert np.allclose(pickle.loads(cloudpickle.dumps(g))(P), 2.0 * a)
        assert np.allclose(tapec.grad(lambda x: np.sum(g(x) * x))(P), 2.0 * a)  # noqa: B023


def composed(g, k):
    """A closure over a function and a number, and what binds the function anew."""

    def f(x):
        return g(x) * k

    def rebind(other):
        nonlocal g
        g = other

    return f, rebind


def test_functions_that_closures_hold_are_their_own():
    made = [composed(np.sin, float(k)) for k in range(2, 6)]
    derivatives = [tapec.grad(f) for f, _ in made]
    assert [d(0.0) for d in derivatives] == [2.0, 3.0, 4.0, 5.0]
    made[1][1](np.exp)
    for k in (2, 3):
        f = made[k][0]
        assert tapec.grad(f)(0.0) == derivatives[k](0.0) == derivatives[k](np.float32(0.0)) == k + 2.0
        assert tapec.vjp(f, 0.0)[1](1.0)[0] == tapec.jvp(f, (0.0,), (1.0,))[1] == k + 2.0
    assert tapec.grad(made[1][0])(1.0) == 3.0 * np.exp(1.0)
    # a variable that is bound anew before the first call
    made[3][1](np.exp)
    assert derivatives[3](1.0) == 5.0 * np.exp(1.0)


def holder(c):
    def inner(x):
        return c[0] * x if isinstance(c, tuple) else c * x

    def rebind(other):
        nonlocal c
        c = other

    return composed(inner, 1.0)[0], rebind


def test_functions_in_functions_that_closures_hold():
    (first, _), (second, rebind), (third, _) = holder(2.0), holder(2.0), holder(2.0)
    derivatives = [tapec.grad(f) for f in (first, second, third)]
    assert [d(1.0) for d in derivatives] == [2.0, 2.0, 2.0]
    rebind(3.0)
    assert tapec.grad(third)(1.0) == derivatives[2](1.0) == derivatives[2](np.float32(1.0)) == 2.0
    assert tapec.grad(second)(1.0) == derivatives[1](1.0) == 3.0


def with_rule():
    @tapec.custom_gradient
    def rule(x):
        return x * x, lambda d: 3.0 * d * x

    def f(x):
        return rule(x) * 2.0

    return f


def test_closures_over_functions_and_rules_are_compiled_twice():
    for make in (with_rule, lambda: composed(lambda x: x * 3.0, 2)[0]):
        made = [tapec.grad(make()) for _ in range(4)]
        assert len({one(2.0) for one in made}) == 1
        assert len({id(getattr(one, "derivative", one)) for one in made}) == 2
