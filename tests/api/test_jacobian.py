"""`jacobian`, `jacfwd`, `jacrev`, `hessian` and `hvp`: values, shapes, dtypes, structure, refusals."""

from __future__ import annotations

import doctest
import pickle
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numba import njit

import tapec
import tapec.jacobians
from tapec.backend.jit import load
from tapec.errors import NotDifferentiable, UnsupportedType, UsageError
from tapec.frontend.evaluator.numba_types import from_numba, type_of_value
from tapec.pipeline import build
from tests.oracles import clone
from tests.programs.test_programs import PROGRAMS
from tests.sampling import sampled

pytestmark = pytest.mark.generated

Pair = namedtuple("Pair", ["first", "second"])
X = np.array([0.4, -0.7, 1.3])


def differences(f: Any, x: Any, step: float = 1e-5) -> np.ndarray:
    """The Jacobian of `f` at one array, by central differences."""
    columns = []
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += step
        down[place] -= step
        columns.append((f(up) - f(down)) / (2.0 * step))
    stacked = np.array(columns).reshape(*x.shape, *np.shape(f(x)))
    return np.moveaxis(stacked, range(x.ndim), range(np.ndim(f(x)), np.ndim(f(x)) + x.ndim))


def waves(x):
    y = np.empty((x.shape[0], 2))
    for i in range(x.shape[0]):
        y[i, 0] = np.sin(x[i]) * x[0]
        y[i, 1] = np.exp(x[i] * x[-1])
    return y


def recurrence(x):
    u = x.copy()
    for _ in range(3):
        for i in range(1, u.shape[0]):
            u[i] = np.sin(u[i] * u[i - 1]) + u[i]
    return u


def table(x):
    return (x.T @ x)[0] * np.sum(x)


def unreached(x):
    return np.array([x[0], 1.0, 3.0])


@pytest.mark.parametrize("make", [tapec.jacobian, tapec.jacfwd, tapec.jacrev])
@pytest.mark.parametrize(
    ("f", "x"),
    sampled([(waves, X), (recurrence, X), (table, np.arange(6.0).reshape(2, 3)), (unreached, X), (np.sum, None)], 2),
    ids=["waves", "recurrence", "table", "unreached", "number"],
)
def test_jacobians_against_differences(make, f, x):
    if x is None:
        x = X

        def f(x):
            return np.sum(x**3)

    found = make(f)(x)
    wanted = differences(f, x)
    assert found.shape == wanted.shape and found.dtype == np.float64
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)


def interpreted(function: Any, kind: str, wrt: Any, args: tuple[Any, ...]) -> Any:
    types = tuple(from_numba(type_of_value(arg)) for arg in args)
    if any(one is None for one in types):
        pytest.skip("structured arguments")
    return load(build(function, types, kind, wrt))


@pytest.mark.slow
# every eighth one: reverse and forward mode are held to each other in `programs/test_programs.py`
@pytest.mark.parametrize("program", sampled(PROGRAMS[::4], 100, default=2), ids=str)
def test_rows_and_columns_of_whole_programs_agree(program):
    args = program.arguments(program.sizes[0])
    given = range(len(args)) if program.wrt is None else program.wrt
    wrt = tuple(k for k in given if isinstance(args[k], float | np.ndarray) and np.asarray(args[k]).dtype.kind == "f")
    kept = clone(args)
    with np.errstate(all="ignore"):
        rows = interpreted(program.f, "jacrev", wrt, args)(*args)
        columns = interpreted(program.f, "jacfwd", wrt, args)(*args)
    for argument, old in zip(args, kept, strict=True):
        np.testing.assert_array_equal(argument, old)
    for one, other in zip(_flat(rows), _flat(columns), strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * (1.0 + np.max(np.abs(one), initial=0.0)))


def _flat(tree: Any) -> list[Any]:
    return [leaf for item in tree for leaf in _flat(item)] if isinstance(tree, tuple) else [tree]


def mixed(x, a):
    return np.sum(x**3) * a**2


def test_hessians():
    (xx, xa), (ax, aa) = tapec.hessian(mixed, (0, "a"))(X, 2.0)
    np.testing.assert_allclose(xx, np.diag(24.0 * X), rtol=1e-14)
    np.testing.assert_allclose(xa, 12.0 * X**2, rtol=1e-14)
    np.testing.assert_allclose(ax, xa, rtol=1e-14)
    assert aa == pytest.approx(2.0 * np.sum(X**3))
    assert tapec.hessian(lambda x: np.sin(x) * x)(0.3) == pytest.approx(2 * np.cos(0.3) - 0.3 * np.sin(0.3))


@pytest.mark.slow
@pytest.mark.compiled
def test_hessians_of_arrays():
    found = tapec.hessian(recurrence)(X)
    assert found.shape == (3, 3, 3)
    np.testing.assert_allclose(found, differences(tapec.jacobian(recurrence), X), rtol=1e-7, atol=1e-7)


@pytest.mark.slow
def test_products_with_vectors():
    v = np.array([1.0, -2.0, 0.5])
    product = tapec.hvp(mixed, ("x", 1))(X, 2.0, (v, 3.0))
    (xx, xa), (ax, aa) = tapec.hessian(mixed, (0, 1))(X, 2.0)
    np.testing.assert_allclose(product[0], xx @ v + 3.0 * xa, rtol=1e-13)
    assert product[1] == pytest.approx(ax @ v + 3.0 * aa)
    np.testing.assert_allclose(tapec.hvp(mixed)(X, 2.0, v), xx @ v, rtol=1e-13)
    with pytest.raises(ValueError, match="shape"):
        tapec.hvp(mixed)(X, 2.0, v[:2])
    with pytest.raises(NotDifferentiable, match="one number"):
        tapec.hvp(waves)(X, X)


@pytest.mark.slow
def test_products_leave_the_vector_as_it_is():
    def overwrites(x, s):
        x[1] = x[0] * s
        x *= 2.0
        return np.sum(x * x) * s

    vector = (np.array([1.0, 2.0, 3.0]), 0.5)
    kept = clone(vector)
    product = tapec.hvp(overwrites, (0, 1))
    first, second = (product(X.copy(), 2.0, vector) for _ in range(2))
    np.testing.assert_array_equal(vector[0], kept[0])
    np.testing.assert_array_equal(first[0], second[0])
    inner = tapec.grad(lambda x, s, v: np.sum(tapec.hvp(overwrites)(x, s, v) * v), 1)
    inner(X.copy(), 2.0, vector[0])
    np.testing.assert_array_equal(vector[0], kept[0])


def test_products_where_reverse_mode_keeps_numbers_on_lists():
    def shrinking(x):
        while x * x > 0.1:
            x = x * x * 0.9
        return x

    x = 0.7
    assert tapec.hvp(shrinking)(x, 2.0) == pytest.approx(2.0 * 12 * 0.9**3 * x * x, rel=1e-12)


@pytest.mark.slow
def test_structures():
    def parts(p, x):
        return p.first * x, (p.second, np.sum(x))

    first, (second, third) = tapec.jacobian(parts, (0, 1))(Pair(2.0, 3.0), X)
    assert isinstance(first[0], Pair)
    np.testing.assert_array_equal(first[0].first, X)
    np.testing.assert_array_equal(first[0].second, np.zeros(3))
    np.testing.assert_array_equal(first[1], 2.0 * np.eye(3))
    assert second[0] == Pair(0.0, 1.0) and third[0] == Pair(0.0, 0.0)
    np.testing.assert_array_equal(third[1], np.ones(3))


@pytest.mark.slow
def test_dicts_and_dataclasses():
    @dataclass
    class Line:
        slope: Any
        offset: float

    found = tapec.jacobian(lambda p, x: p.slope * x + p.offset)(Line(X, 1.0), X)
    np.testing.assert_array_equal(found.slope, np.diag(X))
    np.testing.assert_array_equal(found.offset, np.ones(3))
    second = tapec.hessian(lambda p: np.sum(p["w"] ** 2) * p["b"])({"w": X, "b": 2.0})
    np.testing.assert_array_equal(second["w"]["w"], 4.0 * np.eye(3))
    np.testing.assert_array_equal(second["b"]["w"], 2.0 * X)
    with pytest.raises(UnsupportedType, match="list"):
        tapec.jacobian(lambda p: p[0] * p[1])([X, 2.0])


@pytest.mark.slow
@pytest.mark.compiled
def test_dtypes_and_empty_arrays():
    single = X.astype(np.float32)
    assert tapec.jacobian(lambda x: x * x)(single).dtype == np.float32
    assert tapec.hessian(lambda x: np.sum(x**3))(single).dtype == np.float32
    by_x, by_s = tapec.jacobian(lambda x, s: x * s, (0, 1))(single, 2.0)
    assert by_x.dtype == np.float32 and by_s.dtype == np.float64
    empty = np.zeros((0, 2))
    assert tapec.jacobian(lambda x: x * x)(empty).shape == (0, 2, 0, 2)
    assert tapec.jacobian(lambda x: np.ones(3) * np.sum(x))(empty).shape == (3, 0, 2)
    assert tapec.hessian(lambda x: np.sum(x * x))(empty).shape == (0, 2, 0, 2)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_arguments_that_are_written_stay_as_they_are(layout):
    def doubled(x):
        x *= 2.0
        return x.T.copy().reshape(6) ** 2

    x = np.arange(6.0).reshape(2, 3)
    if layout == "F":
        x = np.asfortranarray(x)
    if layout == "strided":
        x = np.repeat(x, 2, axis=1)[:, ::2]
    kept = x.copy()
    for make in (tapec.jacfwd, tapec.jacrev):
        np.testing.assert_allclose(make(doubled)(x), differences(lambda a: (2 * a).T.reshape(6) ** 2, x), atol=1e-6)
        np.testing.assert_array_equal(x, kept)


@pytest.mark.slow
@pytest.mark.compiled
def test_from_jitted_code():
    forward, second, product = tapec.jacobian(recurrence), tapec.hessian(mixed, (0, 1)), tapec.hvp(mixed)

    @njit
    def use(x):
        return forward(x), second(x, 2.0)[1][0], product(x, 2.0, x)

    for found, wanted in zip(
        use(X), (forward(X), second(X, 2.0)[1][0], product(X, 2.0, X)), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.slow
@pytest.mark.compiled
def test_inside_differentiated_code():
    def norm(x):
        return np.sum(tapec.jacobian(recurrence)(x) ** 2)

    def trace(x, a):
        return np.trace(tapec.hessian(mixed, (0, 1))(x, a)[0][0])

    def squeeze(x, a):
        return np.sum(tapec.hvp(mixed)(x, a, x))

    rows = tapec.jacobian(recurrence)
    np.testing.assert_allclose(tapec.grad(norm)(X), differences(lambda x: np.sum(rows(x) ** 2), X), rtol=1e-7)
    np.testing.assert_allclose(tapec.grad(trace)(X, 2.0), np.full(3, 24.0), rtol=1e-13)
    np.testing.assert_allclose(tapec.grad(squeeze)(X, 2.0), 48.0 * X, rtol=1e-13)


def test_a_function_prints_once(capfd):
    def told(x):
        print("told")
        return x * x

    np.testing.assert_array_equal(tapec.jacobian(told)(X), np.diag(2.0 * X))
    assert capfd.readouterr().out.split() == ["told"]


@pytest.mark.slow
def test_custom_gradients_have_rows_and_columns():
    @tapec.custom_gradient
    def doubled(x):
        def gradient(dy):
            return 3.0 * dy

        return 2.0 * x, gradient

    def loss(x):
        y = np.empty_like(x)
        for i in range(x.shape[0]):
            y[i] = doubled(x[i]) * x[i]
        return y

    np.testing.assert_allclose(tapec.jacobian(loss)(X), np.diag(5.0 * X), rtol=1e-14)
    np.testing.assert_allclose(tapec.hessian(lambda x: np.sum(loss(x)))(X), 6.0 * np.eye(3), rtol=1e-14)
    np.testing.assert_allclose(tapec.jacfwd(loss)(X), np.diag(5.0 * X), rtol=1e-14)

    def several(x, a):
        return doubled(x) - 0.5, a + x

    number, row = tapec.jacrev(several)(2.0, X)
    assert number == 3.0
    np.testing.assert_array_equal(row, np.ones(3))


@pytest.mark.slow
def test_refusals():
    with pytest.raises(UsageError, match="mode must be"):
        tapec.jacobian(waves, mode="central")
    with pytest.raises(NotDifferentiable, match="returns int64"):
        tapec.jacobian(lambda x: (x, np.argmax(x)))(X)
    with pytest.raises(NotDifferentiable, match="returns nothing"):
        tapec.jacobian(lambda x: None)(X)
    with pytest.raises(NotDifferentiable, match="`n` is int64"):
        tapec.jacobian(lambda n: n * 2.0)(3)
    with pytest.raises(NotDifferentiable, match="random.standard_normal") as error:
        tapec.jacobian(lambda x: x * np.random.normal())(X)
    assert error.value.span.file == __file__


def test_a_single_run_may_draw():
    np.random.seed(3)
    found = tapec.jacobian(lambda x: x * np.random.normal())(2.0)
    np.random.seed(3)
    assert isinstance(found, float)


@pytest.mark.slow
@pytest.mark.compiled
def test_pickling():
    made = pickle.loads(pickle.dumps(tapec.jacobian(waves)))
    np.testing.assert_array_equal(made(X), tapec.jacobian(waves)(X))


@pytest.mark.slow
def test_the_examples_of_the_docstrings():
    result = doctest.testmod(tapec.jacobians, extraglobs={"np": np})
    assert result.attempted > 8 and result.failed == 0
