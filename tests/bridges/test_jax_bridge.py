"""`tapec.jax` under JAX's transforms, against the same functions written in JAX."""

from __future__ import annotations

import doctest
import pickle
from typing import NamedTuple

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402  after the library is known to be there

import tapec.jax  # noqa: E402
from tapec.errors import TypeMismatch, UnsupportedFunction  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture(params=["x32", "x64"])
def precision(request):
    with jax.enable_x64(request.param == "x64"):
        yield request.param


def energy(x, k):
    total = 0.0
    for i in range(1, x.shape[0]):
        total += 0.5 * k * (x[i] ** 2 - x[i - 1]) ** 2
    return total


def reference(x, k):
    return jnp.sum(0.5 * k * (x[1:] ** 2 - x[:-1]) ** 2)


def layer(params, x):
    for i in range(len(params["w"])):
        x = np.tanh(params["w"][i] @ x) + params["b"]
    return x, np.sum(x * x), 3


def reference_layer(params, x):
    for w in params["w"]:
        x = jnp.tanh(w @ x) + params["b"]
    return x, jnp.sum(x * x), 3


def same(ours, theirs):
    def close(one, other):
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-4 if one.dtype == jnp.float32 else 1e-12, atol=1e-5)

    jax.tree.map(close, ours, theirs)


def descent(f):
    def step(x, _):
        return x - 0.01 * jax.grad(f)(x, 2.0), f(x, 2.0)

    return jax.jit(lambda x, k: jax.lax.scan(step, x, None, length=5))


TRANSFORMS = {
    "jit": jax.jit,
    "grad": jax.grad,
    "jit of grad by both": lambda f: jax.jit(jax.grad(f, argnums=(0, 1))),
    "value_and_grad": jax.value_and_grad,
    "jacfwd": jax.jacfwd,
    "jvp": lambda f: lambda x, k: jax.jvp(f, (x, k), (x, 1.0)),
    "linearize": lambda f: lambda x, k: jax.linearize(f, x, k)[1](x, 1.0),
    "hessian": jax.hessian,
    "jit of hessian by both": lambda f: jax.jit(jax.hessian(f, argnums=(0, 1))),
    "reverse over reverse": lambda f: jax.jacrev(jax.jacrev(f)),
    "reverse over forward": lambda f: jax.jacrev(jax.jacfwd(f)),
    "forward over forward": lambda f: jax.jacfwd(jax.jacfwd(f)),
    "third derivatives": lambda f: jax.jit(jax.jacfwd(jax.hessian(f))),
    "vmap of grad": lambda f: lambda x, k: jax.vmap(jax.grad(f), in_axes=(0, None))(jnp.stack([x, x - 1]), k),
    "jit of vmap": lambda f: lambda x, k: jax.jit(jax.vmap(f, in_axes=(1, None)))(jnp.stack([x, x - 1], 1), k),
    "scan": descent,
    "checkpoint": lambda f: jax.grad(jax.checkpoint(f)),
    "cond": lambda f: jax.grad(lambda x, k: jax.lax.cond(k > 1, lambda: f(x, k), lambda: 0.0 * k)),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_transforms(transform, precision):
    x, k = jnp.linspace(0.1, 2.0, 5), jnp.asarray(2.0)
    same(transform(tapec.jax.wrap(energy))(x, k), transform(reference)(x, k))


def test_dicts_and_lists_of_parameters_and_a_tuple_of_results(precision):
    rng = np.random.default_rng(0)
    params = {"w": [jnp.asarray(rng.normal(size=(3, 3))) for _ in range(2)], "b": jnp.asarray(rng.normal(size=3))}
    x, f = jnp.asarray(rng.normal(size=3)), tapec.jax.wrap(layer)

    def scalar(f):
        return lambda p, x: f(p, x)[1] + jnp.sum(f(p, x)[0])

    y, squares, steps = jax.jit(f)(params, x)
    assert y.shape == (3,) and squares.shape == () and steps == 3 and jnp.issubdtype(steps.dtype, jnp.integer)
    same(jax.jit(jax.grad(scalar(f)))(params, x), jax.grad(scalar(reference_layer))(params, x))
    first = [jax.jacfwd(lambda p, x, g=g: g(p, x)[:2])(params, x) for g in (f, reference_layer)]
    same(*first)
    same(*(jax.jacfwd(jax.grad(scalar(g)), argnums=1)(params, x) for g in (f, reference_layer)))


class Pair(NamedTuple):
    left: object
    right: object


def test_named_tuples_static_arguments_and_arguments_by_name():
    def f(pair, mode=None, *, scale):
        return scale * pair.left * pair.right if mode == "product" else scale * (pair.left + pair.right)

    wrapped = tapec.jax.wrap(f)
    assert jax.grad(lambda x: wrapped(Pair(x, 3.0), "product", scale=2.0))(1.0) == 6.0
    assert jax.grad(lambda x: wrapped(Pair(x, 3.0), scale=x))(1.0) == 5.0
    with pytest.raises(TypeError, match="unhashable"):
        wrapped(Pair(1.0, 2.0), {1}, scale=1.0)


def test_integers_are_dynamic():
    def power(x, n):
        y = 1.0
        for _ in range(n):
            y *= x
        return y

    compiled = jax.jit(jax.grad(tapec.jax.wrap(power)))
    assert [float(compiled(2.0, n)) for n in (1, 2, 3)] == [1.0, 4.0, 12.0]


def test_large_arrays():
    x = jnp.ones(1_000_000)
    f = tapec.jax.wrap(lambda x: np.sum(x * x))
    np.testing.assert_array_equal(jax.jit(lambda x: jax.grad(f)(x) + f(x))(x), np.full(1_000_000, 1_000_002.0))


def test_arrays_without_elements(precision):
    f = tapec.jax.wrap(energy)
    same(jax.jit(jax.grad(f))(jnp.zeros(0), 2.0), jnp.zeros(0))


def test_results_that_jax_is_told():
    def first(x, n):
        if x[0] < 2.0:
            raise ValueError("small")
        return x[:n] * 2.0

    x = jnp.array([2.0, 3.0, 4.0])
    assert tapec.jax.wrap(first)(x, 2).shape == (2,)
    with pytest.raises(ValueError, match="small") as caught:
        jax.jit(tapec.jax.wrap(first), static_argnums=1)(x, 2)
    assert "`result` tells them otherwise" in caught.value.__notes__[0]
    told = tapec.jax.wrap(first, result=lambda x, n: jax.ShapeDtypeStruct((2,), x.dtype))
    np.testing.assert_array_equal(jax.jit(told)(x, 2), [4.0, 6.0])
    with pytest.raises(Exception, match=r"of shape \(3,\) .* JAX was told \(2,\)"):
        jax.block_until_ready(jax.jit(told)(x, 3))
    with pytest.raises(ValueError, match="returns 1 results, not 2"):
        tapec.jax.wrap(energy, result=(jax.ShapeDtypeStruct((), float),) * 2)(x, 2.0)
    with pytest.raises(ValueError, match="dtype float64, but JAX was told .* int32"):
        tapec.jax.wrap(energy, result=jax.ShapeDtypeStruct((), np.int32))(x, np.float64(2.0))


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit, jax.vmap], ids=["eager", "jit", "vmap"])
def test_errors_of_tapec_are_not_hidden(transform):
    def writes(x):
        x[0] = 1.0
        return np.sum(x)

    with pytest.raises(TypeMismatch, match="read-only"):
        transform(tapec.jax.wrap(writes))(jnp.ones((3, 3)))
    with pytest.raises(UnsupportedFunction):
        transform(tapec.jax.wrap(lambda x: np.sum(np.busday_count(x, x))))(jnp.ones((3, 3)))


def test_an_error_while_a_program_runs():
    def positive(x):
        if x < 0.0:
            raise ValueError("x is negative")
        return x

    f = tapec.jax.wrap(positive)
    with pytest.raises(ValueError, match="x is negative"):
        f(-1.0)
    with pytest.raises(Exception, match="x is negative"):
        jax.block_until_ready(jax.jit(f)(-1.0))


def test_arrays_that_are_refused():
    with pytest.raises(TypeError, match="complex arrays"):
        tapec.jax.wrap(lambda x: x * x)(jnp.ones(2, complex))
    for result in (lambda x: x * 1j, lambda x: (x, (x, x))):
        with pytest.raises(TypeError, match="no array for a result"):
            tapec.jax.wrap(result)(jnp.ones(2))
    with pytest.raises(TypeError, match="arrays of bfloat16"):
        tapec.jax.wrap(lambda x: x)(jnp.ones(2, jnp.bfloat16))


def test_calls_that_python_refuses():
    with pytest.raises(TypeError, match="too many positional arguments"):
        tapec.jax.wrap(energy)(jnp.ones(3), 2.0, 1.0)


def test_an_array_that_is_passed_twice():
    x = jnp.arange(3.0)
    f = tapec.jax.wrap(lambda a, b: np.sum(a * b * b))
    np.testing.assert_array_equal(jax.jit(jax.hessian(lambda x: f(x, x)))(x), np.diag(6 * np.arange(3.0)))


def test_pickles():
    f = pickle.loads(pickle.dumps(tapec.jax.wrap(energy, strict=True)))
    assert f.f is energy and f.options == {"strict": True} and f(jnp.arange(3.0), 2.0) == 10.0


def test_the_examples_of_the_module():
    assert doctest.testmod(tapec.jax).failed == 0


def test_compiled_programs_call_no_python(monkeypatch, precision):
    called = []
    plain = tapec.jax._Node.run
    monkeypatch.setattr(tapec.jax._Node, "run", lambda self, *given: called.append(self) or plain(self, *given))
    step = jax.jit(jax.value_and_grad(tapec.jax.wrap(energy)))
    for x in (jnp.linspace(0.1, 2.0, 5), jnp.zeros(0), jnp.ones(7)):
        same(step(x, 2.0), jax.value_and_grad(reference)(x, 2.0))
    assert not called


def several(x, n, flag):
    return (x[::2, ::-1], n + 1, flag, x.sum()) if flag else (x[:1], n, flag, x[0, 0])


def test_strided_results_integers_and_booleans(precision):
    x, wrapped = jnp.arange(12.0).reshape(4, 3), tapec.jax.wrap(several)
    same(jax.jit(wrapped)(x, 3, True), (x[::2, ::-1], jnp.asarray(4), jnp.asarray(True), jnp.sum(x)))


def test_results_of_another_shape_than_jax_was_told(precision):
    # with ones there is one row, with others there are more
    wrapped = jax.jit(tapec.jax.wrap(lambda x: x[: int(x[0])]))
    same(wrapped(jnp.ones(3)), jnp.ones(1))
    with pytest.raises(Exception, match="JAX was told"):
        jax.block_until_ready(wrapped(jnp.full(3, 2.0)))


def rooted(x):
    if x[0] < 0.0:
        raise ValueError("a root of what is below zero")
    return np.sqrt(x[0])


def test_errors_of_compiled_programs_have_their_text(precision):
    slope = jax.jit(jax.grad(tapec.jax.wrap(rooted)))
    same(slope(jnp.full(1, 4.0)), jnp.full(1, 0.25))
    with pytest.raises(Exception, match="ValueError: a root of what is below zero"):
        jax.block_until_ready(slope(jnp.full(1, -1.0)))
    same(slope(jnp.full(1, 4.0)), jnp.full(1, 0.25))
