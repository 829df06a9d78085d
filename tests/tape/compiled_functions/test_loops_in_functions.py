"""Loops over lists in compiled functions: gradients, updates of variables, results; right in any case."""

from __future__ import annotations

from unittest import mock

import numba
import numpy as np
import pytest

import tapec
from tapec.tape.compiled_functions import function_lowering
from tapec.transforms import rerolled_loops
from tests.sampling import sampled

X = np.random.default_rng(0).normal(size=(3, 4))


@pytest.fixture(autouse=True)
def interpreted(request):
    with (
        mock.patch.object(numba.config, "DISABLE_JIT", "compiled" not in request.node.name),
        mock.patch.object(rerolled_loops, "_LONG", 1),
        mock.patch.object(rerolled_loops, "_OF_NUMBERS", 1),
    ):
        yield


def weights(count, wide=False):
    rng = np.random.default_rng(count)
    extents = [4 + (k % 3) * wide for k in range(count + 1)]
    return [(rng.normal(size=(a, b)), rng.normal(size=b)) for a, b in zip(extents[:-1], extents[1:], strict=True)]


def variables(count, wide=False):
    return [(tapec.Variable(w), tapec.Variable(b)) for w, b in weights(count, wide)]


def network(params, x):
    for w, b in params:
        x = np.tanh(x @ w + b)
    return x


def descent(function):
    params = variables(6, True)

    @function
    def step(x):
        with tapec.GradientTape() as tape:
            total = np.sum(network(params, x) ** 2)
        for (w, b), (gw, gb) in zip(params, tape.gradient(total, params)):
            w.assign_sub(0.1 * gw)
            b.assign_sub(0.1 * gb)
        return total

    return [step(X) for _ in range(3)], params


def adam(function):
    pairs = variables(5)
    params = [one for pair in pairs for one in pair]
    first, second = ([tapec.Variable(np.zeros(p.shape), trainable=False) for p in params] for _ in range(2))
    steps = tapec.Variable(0.0, trainable=False)

    @function
    def step(x):
        with tapec.GradientTape() as tape:
            total = np.sum(network(pairs, x) ** 2)
        grads = tape.gradient(total, params)
        steps.assign_add(1.0)
        for p, m, v, g in zip(params, first, second, grads):
            m.assign(0.9 * m + 0.1 * g)
            v.assign(0.99 * v + 0.01 * g * g)
            p.assign_sub(0.01 * (m / (1.0 - 0.9**steps)) / (np.sqrt(v / (1.0 - 0.99**steps)) + 1e-8))
        return total

    return [step(X) for _ in range(3)], params, first, second


def slots(function):
    params, table = variables(5), {}

    @function
    def step(x):
        with tapec.GradientTape() as tape:
            total = np.sum(network(params, x) ** 2)
        grads = tape.gradient(total, params)
        for k, ((w, _), (g, _)) in enumerate(zip(params, grads)):
            if k not in table:
                table[k] = tapec.Variable(np.zeros_like(w), trainable=False)
            table[k].assign(0.9 * table[k] + g)
            w.assign_sub(0.1 * table[k])
        return total

    return [step(X) for _ in range(3)], params, table


def of_arguments(function):
    @function
    def gradients(params, x):
        with tapec.GradientTape() as tape:
            tape.watch(params)
            total = np.sum(network(params, x) ** 2)
        return tape.gradient(total, params), total

    return [gradients(weights(count, True), X) for count in (6, 6, 5)]


def written_arguments(function):
    @function
    def step(params, x):
        with tapec.GradientTape() as tape:
            tape.watch(params)
            total = np.sum(network(params, x) ** 2)
        for (w, b), (gw, gb) in zip(params, tape.gradient(total, params)):
            w -= 0.1 * gw
            b -= 0.1 * gb
        return total

    params = weights(6)
    return [step(params, X) for _ in range(2)], params


def numbers(function):
    params = [tapec.Variable(0.1 * k) for k in range(6)]

    @function
    def step(x):
        with tapec.GradientTape() as tape:
            for p in params:
                x = np.sin(x * p) + p
            total = np.sum(x)
        for p, g in zip(params, tape.gradient(total, params)):
            p.assign_sub(0.1 * g)
        return total

    return [step(X) for _ in range(2)], params


def two_tapes(function):
    one, other = variables(5), variables(6)

    @function
    def step(x):
        with tapec.GradientTape() as outer, tapec.GradientTape() as inner:
            y = network(one, x)
            z = network(other, y)
            first, second = np.sum(y * y), np.sum(z * z)
        return inner.gradient(first, one), outer.gradient(second, [one, other])

    return step(X)


def nested(function):
    params = [w for w, _ in variables(5)]

    @function
    def step(x):
        with tapec.GradientTape() as outer:
            with tapec.GradientTape() as inner:
                y = x
                for w in params:
                    y = np.tanh(y @ w)
                total = np.sum(y)
            grads = inner.gradient(total, params)
            penalty = sum(np.sum(g * g) for g in grads)
        return outer.gradient(penalty, params)

    return step(X)


def shared(function):
    one = variables(1)[0]
    params = [one, *variables(6), one]

    @function
    def step(x):
        with tapec.GradientTape() as tape:
            total = np.sum(network(params, x) ** 2)
        for w, g in zip([w for w, _ in params], tape.gradient(total, [w for w, _ in params])):
            w.assign_sub(0.1 * g)
        return total

    return [step(X) for _ in range(2)], params


def changed_gradients(function):
    params = variables(6)

    @function
    def step(x):
        with tapec.GradientTape() as tape:
            total = np.sum(network(params, x) ** 2)
        grads = tape.gradient(total, params)
        norm = np.sqrt(sum(np.sum(g * g) for pair in grads for g in pair))
        for gw, _ in grads:
            gw *= 0.5 / norm
        for (w, b), (gw, gb) in zip(params, grads):
            w.assign_sub(gw)
            b.assign_sub(gb / norm)
        return norm, grads

    return [step(X) for _ in range(2)], params


def several_steps(function):
    params = variables(5)

    @function
    def train(x):
        losses = []
        for _ in range(3):
            with tapec.GradientTape() as tape:
                total = np.sum(network(params, x) ** 2)
            for (w, b), (gw, gb) in zip(params, tape.gradient(total, params)):
                w.assign_sub(0.1 * gw)
                b.assign_sub(0.1 * gb)
            losses.append(total)
        return losses

    return train(X), params


def unconnected(function):
    params = variables(6)

    @function
    def step(x):
        with tapec.GradientTape() as tape:
            total = np.sum(network(params[:5], x) ** 2)
        return tape.gradient(total, params)

    return step(X)


def asked_twice(function):
    params = variables(6, True)

    @function
    def step(x):
        with tapec.GradientTape(persistent=True) as tape:
            y = network(params, x)
            first, second = np.sum(y * y), np.sum(y)
        pairs = zip(tape.gradient(first, params), tape.gradient(second, params))
        for (w, b), ((gw, gb), (hw, hb)) in zip(params, pairs):
            w.assign_sub(0.1 * gw * hw)
            b.assign_sub(0.1 * gb - hb)
        return first

    return [step(X) for _ in range(2)], params


def images(function):
    params = variables(6)

    @function
    def values(x):
        return [np.tanh(x @ w + b) for w, b in params], [b * 2.0 for _, b in params]

    return values(X)


BODIES = [
    descent, adam, slots, of_arguments, written_arguments, numbers, two_tapes, nested, shared, changed_gradients,
    several_steps, unconnected, asked_twice, images,
]  # fmt: skip
LOOPS = {descent, adam, of_arguments, numbers, asked_twice, images}
# whose loops are made fast, too: at other levels they are written out
FAST = LOOPS | {slots}


def flat(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in flat(item)]
    return [value]


@pytest.mark.slow
@pytest.mark.parametrize("body", sampled(BODIES, 3), ids=lambda body: body.__name__)
def test_programs_do_what_they_do_written_out(body):
    made = []

    def noted(*args):
        found = rerolled_loops.rerolled_wholly(*args)
        made.append(found)
        return found

    with mock.patch.object(function_lowering, "rerolled_wholly", noted):
        found = flat(body(lambda f: tapec.function(f, opt_level=2 if body in FAST else 1)))
    expected = flat(body(lambda f: tapec.function(f, opt_level=0)))
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert np.shape(one) == np.shape(other)
            np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-11, atol=1e-14)
    assert body not in LOOPS or any(one is not None for one in made)
