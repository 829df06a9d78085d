"""Lists of items that are alike as arguments: one program for any number of items, the same gradients."""

from __future__ import annotations

import collections
import dataclasses
import functools
from unittest import mock

import numba
import numpy as np
import pytest

import tapec
import tapec_runtime
from tapec.backend import packing
from tapec.errors import ArgumentOverlap, TapecError, UsageError

Layer = collections.namedtuple("Layer", ["w", "b"])
RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4))


@pytest.fixture(autouse=True)
def interpreted(request):
    with mock.patch.object(numba.config, "DISABLE_JIT", "compiled" not in request.node.name):
        yield


@dataclasses.dataclass
class Dense:
    w: np.ndarray
    b: np.ndarray

    def __call__(self, x):
        return np.tanh(x @ self.w + self.b)


class Model:
    def __init__(self, layers, out):
        self.layers, self.out = layers, out

    def loss(self, x):
        for layer in self.layers:
            x = layer(x)
        return np.sum(x @ self.out)


def weights(count: int, wide: bool = True):
    extents = [4 + (k % 3) * wide for k in range(count + 1)]
    return [(RNG.normal(size=(a, b)), RNG.normal(size=b)) for a, b in zip(extents[:-1], extents[1:], strict=True)]


def by_items(params, x):
    for w, b in params:
        x = np.tanh(x @ w + b)
    return np.sum(x * x)


def by_places(params, x):
    for k in range(len(params)):
        w, b = params[k]
        x = np.tanh(x @ w + b)
    return np.sum(x * params[-1][1])


def all_but_the_last(params, x):
    for w, b in params[:-1]:
        x = np.maximum(x @ w + b, 0.0)
    w, b = params[-1]
    return np.sum((x @ w + b) ** 2) + np.sum(params[0][1]) + len(params[1:])


def numbered(params, x):
    for k, (w, b) in enumerate(params):
        x = x @ w + b
        if k < len(params) - 1:
            x = np.maximum(x, 0.0)
    return np.sum(x * x) + 0.1 * sum(np.sum(w * w) for w, _ in params)


def by_names(params, x):
    for layer in params:
        x = np.tanh(x @ layer["w"] + layer["b"])
    return np.sum(x * x)


def by_fields(params, x):
    for layer in params:
        x = np.tanh(x @ layer.w + layer.b)
    return np.sum(x * x)


def called(params, x):
    for layer in params:
        x = layer(x)
    return np.sum(x * x)


def inside(params, x):
    for w, b in params["hidden"]:
        x = np.tanh(x @ w + b)
    return np.sum(x @ params["out"])


def backwards(params, x):
    for w, b in reversed(params):
        x = np.tanh(x.T @ np.ones((3, 1)) @ b[:1][None])
        x = x[:3, :1] @ np.ones((1, 3)) * np.sum(w)
    return np.sum(x)


def horner(params, x):
    s = 0.0
    for c in params:
        s = s * x[0, 0] + c
    return s


def cubes(params, x):
    for a in params:
        x = x * np.sum(a) + a[0, 0, 0]
    return np.sum(x)


LAYERS = weights(5)
PACKED = [
    (by_items, LAYERS),
    (by_items, tuple(LAYERS)),
    (by_items, [(np.asfortranarray(w), np.repeat(b, 2)[::2]) for w, b in LAYERS]),
    (by_items, [(LAYERS[0][0][:, :4], LAYERS[0][1][:4])] * 5),
    (by_places, weights(5, False)),
    (all_but_the_last, LAYERS),
    (numbered, LAYERS),
    (by_names, [{"w": w, "b": b} for w, b in LAYERS]),
    (by_fields, [Layer(w, b) for w, b in LAYERS]),
    (by_fields, [Dense(w, b) for w, b in LAYERS]),
    (called, [Dense(w, b) for w, b in LAYERS]),
    (inside, {"hidden": LAYERS, "out": RNG.normal(size=(LAYERS[-1][0].shape[1], 2))}),
    (backwards, LAYERS),
    (horner, [1.0, 2.0, 3.0, 4.0, 5.0]),
    (cubes, [RNG.normal(size=(2, k + 1, 3)) for k in range(5)]),
]


def flat(value):
    """The numbers of a gradient, one after the other."""
    if dataclasses.is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        value = list(value.values())
    return np.concatenate([flat(one) for one in value]) if isinstance(value, list | tuple) else np.ravel(value)


def unrolled(f, params, wrt=0):
    """The value and the gradient without packing, by Python."""
    with mock.patch.object(packing, "_LEAST", 10**9), mock.patch.object(numba.config, "DISABLE_JIT", True):
        from tapec.api import _make
        from tapec.options import DEFAULT

        return _make(f, wrt, "value_and_grad", DEFAULT)(params, X)


@functools.cache
def of_layers():
    """What all programs compute that apply `LAYERS` one after the other, however they stand in `params`."""
    return unrolled(by_items, LAYERS)


def wanted(f, params):
    alike = f in (by_items, by_names, by_fields, called) and np.array_equal(flat(params), flat(LAYERS))
    return of_layers() if alike else unrolled(f, params)


def agree(found, wanted, params):
    assert np.isclose(found[0], wanted[0], rtol=1e-12)
    assert type(found[1]) is type(params)
    assert np.allclose(flat(found[1]), flat(wanted[1]), rtol=1e-10, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(("f", "params"), PACKED)
def test_gradients_by_packed_lists(f, params):
    made = tapec.value_and_grad(f)
    found = made(params, X)
    assert not made._not_packed
    agree(found, wanted(f, params), params)


@pytest.mark.slow
def test_compiled_programs_are_of_any_number_of_items():
    made = tapec.value_and_grad(by_items)
    for count in (4, 7, 30):
        params = weights(count)
        found = made(params, X)
        if count < 10:
            agree(found, unrolled(by_items, params), params)
    assert len(made.overloads) == 1
    # of fewer items each number has its own
    made(weights(2), X)
    assert len(made.overloads) == 2


def stored(params, x):
    for w in params:
        w[0] = w[0] * 2.0
        x = x @ w
    return np.sum(x)


def an_array(params, x):
    return np.sum(np.array(params) * x[0, 0])


def compared(params, x):
    return np.sum(x) if params == [] else np.sum(x * params[0])


@pytest.mark.parametrize(
    ("f", "params"),
    [(stored, [np.eye(4) * k for k in range(1, 6)]), (an_array, [1.0, 2.0, 3.0, 4.0])],
)
def test_functions_that_ask_for_more_are_lowered_with_each_array(f, params):
    made = tapec.value_and_grad(f)
    before = [np.copy(one) for one in params]
    found = made(params, X)
    assert len(made._not_packed) == 1
    agree(found, unrolled(f, [np.copy(one) if np.ndim(one) else float(one) for one in before]), params)


def test_errors_are_those_of_the_list_as_it_is():
    with pytest.raises(TapecError, match="cannot compute `==`") as refused:
        tapec.grad(compared)([np.ones((3, 4))] * 5, X)
    assert "packed" not in str(refused.value)
    with pytest.raises(IndexError, match="list index out of range"):
        tapec.grad(lambda p, k: np.sum(p[k]))([np.ones(2)] * 5, 5)


def test_items_that_are_not_alike_stay_as_they_are():
    alike = tuple(weights(5))
    assert packing.packed(alike) is not alike
    for other in ((*alike, (np.ones(3), np.ones(3))), alike[:3], (1, 2, 3, 4), (np.ones(2, int),) * 5, (None,) * 5):
        assert packing.packed(other) is other
    # a few large ones would be copied at each call
    with mock.patch.object(packing, "LARGE", 8):
        assert packing.packed(alike) is alike


def test_both_arguments_are_packed():
    def scaled(params, scales, x):
        for (w, b), s in zip(params, scales, strict=True):
            x = np.tanh(x @ w + b) * s
        return np.sum(x * x)

    scales = [1.0, 2.0, 0.5, 1.5, 1.0]
    by = tapec.grad(scaled, (0, 1))(LAYERS, scales, X)
    step = 1e-6
    moved = [scales[:2] + [0.5 + way * step] + scales[3:] for way in (1, -1)]
    assert np.isclose(by[1][2], (scaled(LAYERS, moved[0], X) - scaled(LAYERS, moved[1], X)) / (2 * step), rtol=1e-6)
    assert [b.shape for _, b in by[0]] == [b.shape for _, b in LAYERS] and type(by[1][0]) is float


@pytest.mark.slow
def test_single_precision():
    params = [(w.astype(np.float32), b.astype(np.float32)) for w, b in LAYERS]
    by = tapec.grad(by_items)(params, X.astype(np.float32))
    assert by[0][0].dtype == by[0][1].dtype == np.float32
    assert np.allclose(flat(by), flat(tapec.grad(by_items)(LAYERS, X)), rtol=1e-3, atol=1e-4)


def test_an_object_that_holds_a_list():
    model = Model([Dense(w, b) for w, b in LAYERS], RNG.normal(size=(LAYERS[-1][0].shape[1], 2)))
    step = 1e-6
    moved = [model.loss(X + way * step * np.eye(3, 4)) for way in (1, -1)]
    assert np.isclose(np.trace(tapec.grad(model.loss)(X)), (moved[0] - moved[1]) / (2 * step), rtol=1e-6)


def written_beside(params, x):
    x[0] = 5.0
    total = 0.0
    for w in params:
        total += np.sum(w * w)
    return total


def test_an_array_that_is_written_and_stands_in_the_list():
    params = [np.ones(3) * k for k in range(1, 6)]
    assert tapec.value_and_grad(written_beside)(params, np.zeros(3))[0] == 165.0
    for x in (params[0], params[2][:2], params[4][1:]):
        with pytest.raises((ArgumentOverlap, tapec_runtime.AliasedArguments)):
            tapec.value_and_grad(written_beside)(params, x)
        with pytest.raises((ArgumentOverlap, tapec_runtime.AliasedArguments)):
            tapec.value_and_grad(lambda p: written_beside(p["w"], p["x"]))({"w": params, "x": x})  # noqa: B023
    assert tapec.value_and_grad(written_beside)(params, np.zeros(3))[0] == 165.0


def random_like(value):
    if isinstance(value, list | tuple):
        return type(value)(map(random_like, value))
    return RNG.normal(size=np.shape(value)) if np.ndim(value) else float(RNG.normal())


def network(params, x):
    for w, b in params:
        x = np.tanh(x @ w + b)
    return x, np.sum(x * x)


@pytest.mark.slow
@pytest.mark.parametrize("params", [weights(5), tuple(weights(4)), weights(3)], ids=len)
def test_products_by_packed_lists(params):
    by, of_x = tapec.grad(by_items, wrt=(0, 1))(params, X)
    tangents, moved = random_like(params), random_like(X)
    slope = flat(by) @ flat(tangents)
    assert np.isclose(tapec.jvp(by_items, (params, X), (tangents, moved))[1], slope + np.sum(of_x * moved))
    assert np.isclose(tapec.jvp(by_items, (params, X), (tangents, None))[1], slope)
    # the dot-product identity, for a function of several results
    (value, _), pull = tapec.vjp(network, params, X)
    seeds = RNG.normal(size=value.shape), 2.0
    pulled, of_x = pull(seeds)
    (_, _), (first, second) = tapec.jvp(network, (params, X), (tangents, moved))
    pushed = np.sum(seeds[0] * first) + 2.0 * second
    assert type(pulled) is type(params) and np.isclose(flat(pulled) @ flat(tangents) + np.sum(of_x * moved), pushed)


@pytest.mark.slow
def test_wrong_tangents_of_packed_lists():
    tangents = [(np.ones_like(w.T), np.ones_like(b)) for w, b in LAYERS]
    with pytest.raises(UsageError, match="the tangent of argument 0 has shape"):
        tapec.jvp(by_items, (LAYERS, X), (tangents, None))
    with pytest.raises(ValueError, match="another shape"):
        tapec.hvp(by_items)(LAYERS, X, tangents)


@pytest.mark.slow
def test_functions_whose_lists_are_not_packed_have_products():
    params = [np.eye(4) * k for k in range(1, 6)]
    tangents = [np.ones((4, 4)) * k for k in range(5)]

    def copied():
        return [w.copy() for w in params]

    by = tapec.grad(stored)(copied(), X)
    assert np.isclose(tapec.jvp(stored, (copied(), X), (tangents, None))[1], flat(by) @ flat(tangents))
    assert np.allclose(flat(tapec.vjp(stored, copied(), X)[1](1.0)[0]), flat(by))


@pytest.mark.slow
@pytest.mark.parametrize("f", [by_items, network])
def test_jacobians_by_packed_lists(f):
    params = weights(5)
    tangents = random_like(params)
    found = tapec.jacobian(f)(params, X)
    found = found if f is network else (found,)
    wanted = tapec.jvp(f, (params, X), (tangents, None))[1]
    for block, one in zip(found, wanted if f is network else (wanted,), strict=True):
        assert type(block) is list and type(block[0]) is tuple
        parts = zip([b for pair in block for b in pair], [t for pair in tangents for t in pair], strict=True)
        assert np.allclose(sum(np.tensordot(b, t, t.ndim) for b, t in parts), one)


@pytest.mark.slow
def test_hessians_by_packed_lists():
    params = weights(4)
    vector = random_like(params)
    rows = tapec.hessian(by_items)(params, X)
    products = tapec.hvp(by_items)(params, X, vector)
    step = 1e-6
    moved = [
        flat(tapec.grad(by_items)([(w + way * step * v, b + way * step * u) for (w, b), (v, u) in
                                   zip(params, vector, strict=True)], X))
        for way in (1, -1)
    ]  # fmt: skip
    assert np.allclose(flat(products), (moved[0] - moved[1]) / (2 * step), rtol=1e-6, atol=1e-8)
    for row, product in zip(rows, products, strict=True):
        for block, one in zip(row, product, strict=True):
            parts = zip([b for pair in block for b in pair], [t for pair in vector for t in pair], strict=True)
            assert np.allclose(sum(np.tensordot(b, t, t.ndim) for b, t in parts), one)
    numbers = tapec.hessian(horner)([1.0, 2.0, 3.0, 4.0], X)
    assert type(numbers) is list and type(numbers[0][0]) is float


def test_any_number_of_alike_arguments():
    def joined(*args):
        first, *middle, last = args
        return first * last + sum(m**2 for m in middle)

    for count in (4, 5, 8):
        args = tuple(float(k) for k in range(1, count + 1))
        value, gradient = tapec.value_and_grad(joined, 1)(*args)
        assert (value, gradient) == (joined(*args), 4.0)
