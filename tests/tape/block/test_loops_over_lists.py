"""Loops over lists in tapes: loops of the derivative where the items are alike, and right in any case."""

from __future__ import annotations

import collections
import dataclasses
from unittest import mock

import numba
import numpy as np
import pytest

import tapec
from tapec.tape.derivatives import block_derivative
from tapec.transforms import rerolled_loops
from tests.sampling import sampled

Layer = collections.namedtuple("Layer", ["w", "b"])
RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4))


@pytest.fixture(autouse=True)
def interpreted(request):
    with mock.patch.object(numba.config, "DISABLE_JIT", "compiled" not in request.node.name):
        with mock.patch.object(rerolled_loops, "_LONG", 1), mock.patch.object(rerolled_loops, "_OF_NUMBERS", 1):
            yield


@dataclasses.dataclass
class Dense:
    w: np.ndarray
    b: np.ndarray

    def __call__(self, x):
        return np.tanh(x @ self.w + self.b)


class Step:
    def __init__(self, scale):
        self.scale = tapec.Variable(scale)

    def forward(self, x):
        return x - np.tanh(x) * self.scale


def weights(count, wide=False):
    extents = [4 + (k % 3) * wide for k in range(count + 1)]
    return [(RNG.normal(size=(a, b)), RNG.normal(size=b)) for a, b in zip(extents[:-1], extents[1:], strict=True)]


def variables(count, wide=False):
    return [(tapec.Variable(w), tapec.Variable(b)) for w, b in weights(count, wide)]


def pairs(tape, count):
    params, x = variables(count), X
    with tape:
        for w, b in params:
            x = np.tanh(x @ w + b)
        total = np.sum(x * x)
    return tape.gradient(total, params)


def arrays(tape, count):
    params, x = weights(count), X.copy()
    with tape:
        tape.watch([params, x])
        y = x
        for w, b in params:
            y = np.tanh(y @ w + b)
        total = np.sum(y * y)
    return tape.gradient(total, [params, x])


def other_shapes(tape, count):
    params, x = variables(count, True), X
    with tape:
        for w, b in params:
            x = np.tanh(x @ w + b)
        total = np.sum(x * x)
    return tape.gradient(total, params)


def other_shapes_of_arrays(tape, count):
    params, y = weights(count, True), X
    with tape:
        tape.watch(params)
        for w, b in params:
            y = np.tanh(y @ w + b)
        total = np.sum(y * y)
    return tape.gradient(total, params)


def objects(tape, count):
    layers, x = [Dense(tapec.Variable(w), tapec.Variable(b)) for w, b in weights(count, True)], X
    with tape:
        for layer in layers:
            x = layer(x)
        total = np.sum(x * x)
    return tape.gradient(total, [(layer.w, layer.b) for layer in layers])


def methods(tape, count):
    steps, x = [Step(0.1 * k) for k in range(count)], X
    with tape:
        for k, step in enumerate(steps):
            x = step.forward(x) * (k + 1.0)
        total = np.sum(x * x)
    return tape.gradient(total, [step.scale for step in steps])


def values(tape, count):
    params, x = {f"layer_{k}": Layer(*pair) for k, pair in enumerate(variables(count))}, X
    with tape:
        for layer in params.values():
            x = np.maximum(x @ layer.w + layer.b, 0.0)
        for _, layer in params.items():
            x = x + np.sum(layer.w * layer.w) * 1e-2
        total = np.sum(x * x)
    return tape.gradient(total, [list(one) for one in params.values()])


def zipped(tape, count):
    params, x = variables(count), X
    scales = [0.5 + 0.1 * k for k in range(count)]
    with tape:
        for (w, b), scale in zip(params, scales):
            x = np.tanh(x @ w * scale + b)
        total = np.sum(x * x)
    return tape.gradient(total, params)


def nested(tape, count):
    blocks, x = [variables(2) for _ in range(count)], X
    with tape:
        for block in blocks:
            y = x
            for w, b in block:
                y = np.tanh(y @ w + b)
            x = x + y
        total = np.sum(x * x)
    return tape.gradient(total, blocks)


def numbers(tape, count):
    params, x = [(tapec.Variable(0.1 * k), tapec.Variable(1.0)) for k in range(count)], X
    with tape:
        for a, c in params:
            x = np.sin(x * a) + c
        total = np.sum(x * x)
    return tape.gradient(total, params)


def some_items(tape, count):
    params, x = variables(count), X
    with tape:
        for w, b in params:
            x = np.tanh(x @ w + b)
        total = np.sum(x * x)
    return tape.gradient(total, [params[-1], params[0][1]])


def used_elsewhere(tape, count):
    params, x = variables(count), X
    with tape:
        for w, b in params:
            x = np.tanh(x @ w + b)
        total = np.sum(x * x) + sum(np.sum(w * w) for w, _ in params) + np.sum(params[2 % count][1]) ** 2
        for _, b in params[1:]:
            total = total + np.sum(b * b * b)
    return tape.gradient(total, [params, params[0][0]])


def shared_items(tape, count):
    one = variables(1)[0]
    params, x = [one] * count, X
    with tape:
        for w, b in params:
            x = np.tanh(x @ w + b)
        total = np.sum(x * x)
    return tape.gradient(total, [one, params[-1][0]])


def twice_in_the_list(tape, count):
    params, x = variables(count), X
    params = [*params, *params[:2]]
    with tape:
        for w, b in params:
            x = np.tanh(x @ w + b)
        total = np.sum(x * x)
    return tape.gradient(total, params[2:])


def absent_items(tape, count):
    params, x = [(w, b if k % 2 else None) for k, (w, b) in enumerate(variables(count))], X
    with tape:
        for w, b in params:
            x = x @ w
            if b is not None:
                x = np.tanh(x + b)
        total = np.sum(x * x)
    return tape.gradient(total, [[one for one in pair if one is not None] for pair in params])


def written_items(tape, count):
    params, x = weights(count), X
    with tape:
        tape.watch([w for w, _ in params])
        for _, b in params:
            b *= 0.5
        for w, b in params:
            x = np.tanh(x @ w + b)
        total = np.sum(x * x)
    return tape.gradient(total, [w for w, _ in params])


def written_views(tape, count):
    params, x = weights(count), X
    with tape:
        tape.watch([w for w, _ in params])
        for w, b in params:
            x = np.tanh(x @ w + b)
        first = params[0][1][1:]
        first *= 2.0
        for w, b in params:
            x = np.tanh(x @ w + b)
        total = np.sum(x * x)
    return tape.gradient(total, [w for w, _ in params])


def views_of_one(tape, count):
    whole, x = RNG.normal(size=(count, 4, 4)), X
    params = list(whole)
    with tape:
        tape.watch(params)
        for w in params:
            x = np.tanh(x @ w)
        total = np.sum(x * x)
    return tape.gradient(total, params)


def transposed(tape, count):
    params, x = [w.T for w, _ in weights(count)], X
    with tape:
        tape.watch(params)
        for w in params:
            x = np.tanh(x @ w)
        total = np.sum(x * x)
    return tape.gradient(total, params)


def between(tape, count):
    params, x, kept = variables(count), X, []
    with tape:
        for w, b in params:
            x = np.tanh(x @ w + b)
            kept.append(x)
        total = sum(np.sum(one * one) for one in kept)
    return tape.gradient(total, [params, kept[0]])


def stopped(tape, count):
    params, x = variables(count), X
    with tape:
        for w, b in params:
            x = np.tanh(x @ w + b)
            x = x + tapec.stop_gradient(x) * 0.5
        total = np.sum(x * x)
    return tape.gradient(total, params)


def paused(tape, count):
    params, x = variables(count), X
    with tape:
        for w, b in params[: count // 2]:
            x = np.tanh(x @ w + b)
        with tape.stop_recording():
            scale = np.sum(x)
        for w, b in params[count // 2 :]:
            x = np.tanh(x @ w + b) * scale
        total = np.sum(x * x)
    return tape.gradient(total, params)


def branches(tape, count):
    params, x = variables(count), X
    with tape:
        for w, b in params:
            x = x @ w + b
            if np.sum(x) > 0.0:
                x = np.tanh(x)
        total = np.sum(x * x)
    return tape.gradient(total, params)


def constants(tape, count):
    params, x = variables(count), X
    with tape:
        for k, (w, b) in enumerate(params):
            x = np.tanh(x @ w + b) ** (1 + k % 2) + x[:, : k % 4 + 1].sum()
        total = np.sum(x * x)
    return tape.gradient(total, params)


def of_no_use(tape, count):
    params, x = variables(count), X
    with tape:
        for w, b in params:
            y = np.tanh(x @ w + b)
        total = np.sum(y * y)
    return tape.gradient(total, params)


def as_table(tape, count):
    params, x = variables(count), X
    with tape:
        for w, b in params:
            x = np.tanh(x @ w + b)
    return tape.jacobian(x, params)


BODIES = [
    pairs, arrays, other_shapes, other_shapes_of_arrays, objects, methods, values, zipped, nested, numbers,
    used_elsewhere, shared_items, stopped, views_of_one, as_table,
]  # fmt: skip
UNROLLED = [
    branches, some_items, paused, twice_in_the_list, absent_items, written_items, transposed, between, constants,
    of_no_use, written_views,
]  # fmt: skip


def flat(value):
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in flat(item)]
    return [value]


def rolled():
    """Counts the programs that are rolled."""
    made = []

    def noted(*args, **kwargs):
        found = derive_rerolled(*args, **kwargs)
        made.append(found)
        return found

    derive_rerolled = block_derivative.rerolled
    return mock.patch.object(block_derivative, "rerolled", noted), made


def gradients(body, count, packs, persistent):
    global RNG
    RNG = np.random.default_rng(count)
    patch, made = rolled()
    options = {} if packs else {"opt_level": 0}
    with patch:
        found = body(tapec.GradientTape(persistent=persistent, **options), count)
    return flat(found), [one for one in made if one is not None]


@pytest.mark.parametrize(
    ("body", "count"), [*sampled([(body, 5) for body in (*BODIES, *UNROLLED)], 8), (pairs, 0), (pairs, 1), (objects, 3)]
)
def test_gradients_are_those_of_the_iterations_written_out(body, count):
    found, made = gradients(body, count, True, count == 5)
    expected, _ = gradients(body, count, False, False)
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert np.shape(one) == np.shape(other) and one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
    assert made or body not in BODIES or count < 5
