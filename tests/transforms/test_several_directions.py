"""Products in several directions at once against the dense Jacobian, and against one direction after the other."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from numba import njit

import tapec
from tapec.errors import NotDifferentiable, UsageError
from tapec.transforms.several_directions import pulled_together, pushed_together
from tests.optimise.comparison import run
from tests.optimise.reading import read
from tests.sampling import sampled

Pair = namedtuple("Pair", "w b")
X = np.array([0.4, -0.7, 1.3])

SCALED = """
def f(a, n):
    a_y = np.zeros(n)
    for i in range(n):
        t = a[i]
        s = a[0]
        u = t * s
        a_y[i] = u
    return a_y
"""


def waves(x, a):
    y = np.empty((x.shape[0], 2))
    for i in range(x.shape[0]):
        y[i, 0] = np.sin(x[i]) * a * x[0]
        y[i, 1] = np.exp(x[i] * x[-1])
    return y, np.sum(x * x) * a


def in_place(x, a):
    for i in range(1, x.shape[0]):
        x[i] = x[i - 1] * x[i] + a
    return x, a * x[-1]


def solved(x, a):
    m = np.eye(3) * 4.0 + np.outer(x, x) * a
    return np.linalg.solve(m, x * a), np.float64(a)


def by_columns(x, a):
    m = np.asfortranarray(np.outer(x, x[:2]))
    return m.T @ x, m[0, 0] * a


FUNCTIONS = [waves, in_place, solved, by_columns]


def tangents_wanted(blocks: Any, dx: np.ndarray, da: np.ndarray) -> Any:
    return [np.moveaxis(by_x @ dx.T, -1, 0) + np.multiply.outer(da, by_a) for by_x, by_a in blocks]


def adjoints_wanted(blocks: Any, seeds: Any, place: int) -> Any:
    return sum(np.tensordot(seed, block[place], seed.ndim - 1) for block, seed in zip(blocks, seeds, strict=True))


@pytest.mark.parametrize("count", [0, 1, 8, 11])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_products_with_the_jacobian(f, count):
    rng = np.random.default_rng(count)
    blocks = tapec.jacobian(f, wrt=(0, 1))(X, 0.3)
    wanted = f(X.copy(), 0.3)
    dx, da = rng.normal(size=(count, 3)), rng.normal(size=count)
    value, tangents = tapec.jvp_fun(f, wrt=(0, 1), directions=True)(X.copy(), 0.3, dx, da)
    for own, other in zip(value, wanted, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-13)
    for own, other in zip(tangents, tangents_wanted(blocks, dx, da), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-12, atol=1e-13)
    seeds = tuple(rng.normal(size=(count, *np.shape(part))) for part in wanted)
    value, adjoints = tapec.vjp_fun(f, wrt=(0, 1), directions=True)(X.copy(), 0.3, seeds)
    np.testing.assert_allclose(value[0], wanted[0], rtol=1e-13)
    for place, own in enumerate(adjoints):
        assert own.shape == (count, 3)[: 2 - place]
        np.testing.assert_allclose(own, adjoints_wanted(blocks, seeds, place), rtol=1e-12, atol=1e-13)


def test_arguments_stay_as_they_are():
    x = X.copy()
    tapec.jvp_fun(in_place, directions=True)(x, 0.3, np.eye(3))
    tapec.vjp_fun(in_place, directions=True)(x, 0.3, (np.eye(3), np.zeros(3)))
    np.testing.assert_array_equal(x, X)


@pytest.mark.slow
def test_matrices_in_the_order_of_columns_and_strided_directions():
    def f(m):
        return m.T @ m[:, 0]

    m = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    block = tapec.jacobian(f)(m)
    given = np.random.default_rng(1).normal(size=(2, 3, 9)).transpose(2, 0, 1)
    found = tapec.jvp_fun(f, directions=True)(m, given)[1]
    np.testing.assert_allclose(found, np.tensordot(given, block, ((1, 2), (1, 2))))
    seeds = np.random.default_rng(2).normal(size=(4, 9, 3))[0]
    np.testing.assert_allclose(tapec.vjp_fun(f, directions=True)(m, seeds)[1], np.tensordot(seeds, block, 1))


@pytest.mark.slow
def test_structures_numbers_and_what_has_no_derivative():
    def f(p, k):
        w, b = p
        return {"y": w * b}["y"], k, b * b

    given = Pair(X, 2.0)
    value, (dy, dk, db) = tapec.jvp_fun(f, directions=True)(given, 3, Pair(np.eye(3), np.array([1.0, 0.0, 2.0])))
    np.testing.assert_allclose(dy, 2.0 * np.eye(3) + np.outer([1.0, 0.0, 2.0], X))
    assert value[1] == 3 and dk == 0
    np.testing.assert_allclose(db, [4.0, 0.0, 8.0])
    (_, _, _), adjoint = tapec.vjp_fun(f, directions=True)(given, 3, (np.eye(3), None, np.ones(3)))
    assert type(adjoint) is Pair
    np.testing.assert_allclose(adjoint.w, 2.0 * np.eye(3))
    np.testing.assert_allclose(adjoint.b, X + 4.0)
    by_dict = tapec.vjp_fun(lambda p: p["w"] * p["b"], directions=True)({"w": X, "b": 2.0}, np.eye(3))[1]
    np.testing.assert_allclose(by_dict["w"], 2.0 * np.eye(3))


def test_single_precision_stays():
    x = X.astype(np.float32)
    value, tangents = tapec.jvp_fun(lambda x: x * x, directions=True)(x, np.eye(3, dtype=np.float32))
    assert value.dtype == tangents.dtype == np.float32
    np.testing.assert_allclose(tangents, 2.0 * np.diag(x))


def test_gradients_of_the_users_own_go_one_by_one():
    @tapec.custom_gradient
    def clipped(x):
        def pull(bar):
            return np.minimum(bar, 0.5) * x

        return x * x, pull

    def f(m, k):
        return clipped(m[:, 0].copy()) * 1.0, k * 2.0

    m = np.asfortranarray(np.arange(6.0).reshape(3, 2))
    seeds = np.array([[1.0, 0.2, -1.0], [0.5, 3.0, 0.0]])
    _, adjoints = tapec.vjp_fun(f, wrt=(0, 1), directions=True)(m, 1.5, (seeds, np.array([1.0, 2.0])))
    wanted = np.zeros((2, 3, 2))
    wanted[:, :, 0] = np.minimum(seeds, 0.5) * m[:, 0]
    np.testing.assert_allclose(adjoints[0], wanted)
    np.testing.assert_allclose(adjoints[1], [2.0, 4.0])


def test_vmap_of_one_direction_gives_the_same():
    given = np.random.default_rng(3).normal(size=(5, 3))
    push = tapec.vmap(lambda x, v: tapec.jvp_fun(lambda x: x * x[0])(x, v)[1], in_axes=(None, 0))
    np.testing.assert_allclose(push(X, given), tapec.jvp_fun(lambda x: x * x[0], directions=True)(X, given)[1])


def test_shapes_that_differ_are_refused():
    push, pull = (make(waves, wrt=(0, 1), directions=True) for make in (tapec.jvp_fun, tapec.vjp_fun))
    with pytest.raises(ValueError, match="the tangents of `x` have another shape"):
        push(X, 1.0, np.eye(2), np.ones(2))
    with pytest.raises(ValueError, match="more or fewer"):
        push(X, 1.0, np.eye(3), np.ones(2))
    with pytest.raises(ValueError, match="the cotangents have another shape"):
        pull(X, 1.0, (np.ones((2, 2, 2)), np.ones(2)))
    with pytest.raises(UsageError, match="where float64"):
        push(X, 1.0, X, np.ones(3))


@pytest.mark.parametrize("make", [tapec.jvp_fun, tapec.vjp_fun])
def test_complex_numbers_are_refused(make):
    z = X + 1j
    with pytest.raises(NotDifferentiable, match="complex"):
        make(lambda z: z.real, directions=True)(z, np.ones((2, 3)))
    with pytest.raises(NotDifferentiable, match="which returns complex"):
        make(lambda x: x * 1j, directions=True)(X, np.ones((2, 3)))


def test_one_forward_sweep_serves_all_cotangents():
    text = tapec.vjp_fun(lambda x: np.exp(x * x), directions=True).source(X, np.eye(3))
    assert text.count("tapec_runtime.exp(") == 1
    assert "range(0, n" in text


def test_core_text():
    core, x = read(SCALED), np.array([1.0, -2.0, 0.5])
    given = np.random.default_rng(4).normal(size=(9, 3))
    block = np.diag(np.full(3, x[0]))
    block[:, 0] += x
    value, tangents, *_ = run(pushed_together(core, ("a",), frozenset()), (x, 3, given))
    np.testing.assert_allclose(value, x * x[0])
    np.testing.assert_allclose(tangents, given @ block.T)
    value, adjoints, *_ = run(pulled_together(core, ("a",), frozenset()), (x, 3, given))
    np.testing.assert_allclose(value, x * x[0])
    np.testing.assert_allclose(adjoints, given @ block)


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("f", sampled(FUNCTIONS, 4, default=4), ids=lambda f: f.__name__)
def test_machine_code(f):
    push, pull = tapec.jvp_fun(f, directions=True), tapec.vjp_fun(f, directions=True)

    @njit
    def both(x, a, tangents, cotangents):
        return push(x, a, tangents)[1], pull(x, a, cotangents)[1]

    blocks = [row[0] for row in tapec.jacobian(f, wrt=(0, 1))(X, 0.3)]
    rng = np.random.default_rng(6)
    given = rng.normal(size=(10, 3))
    seeds = tuple(rng.normal(size=(10, *block.shape[:-1])) for block in blocks)
    tangents, adjoints = both(X, 0.3, given, seeds)
    for own, block in zip(tangents, blocks, strict=True):
        np.testing.assert_allclose(own, np.moveaxis(block @ given.T, -1, 0), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(adjoints, adjoints_wanted([(block,) for block in blocks], seeds, 0), rtol=1e-12)
