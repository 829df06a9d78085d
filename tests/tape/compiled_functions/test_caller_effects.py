"""What a compiled function leaves in the objects of its caller, and that nothing of it is left out."""

from __future__ import annotations

import collections
import dataclasses
import functools
import types

import numba
import numpy as np
import pytest

from tapec import GradientTape, Variable, function
from tapec.errors import TapecError

total = 0.0


@pytest.fixture(autouse=True)
def python(monkeypatch):
    # machine code is the subject of other tests
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)


class Layer:
    def __init__(self, units):
        self.units, self.w, self.calls = units, None, 0

    def __call__(self, x):
        self.calls += 1
        if self.w is None:
            self.w = Variable(np.full((x.shape[-1], self.units), 0.5), name="kernel")
        return x @ self.w


@pytest.mark.slow
def test_a_layer_is_built_by_its_first_call():
    layers = [Layer(3), Layer(1)]

    @function
    def step(x):
        with GradientTape() as tape:
            y = x
            for layer in layers:
                y = layer(y)
            loss = np.sum(y**2)
        return loss, tape.gradient(loss, [layer.w for layer in layers])

    x = np.arange(4.0).reshape(2, 2)
    first, second = step(x), step(x)
    assert [layer.calls for layer in layers] == [2, 2]
    assert [layer.w.shape for layer in layers] == [(2, 3), (3, 1)] and layers[0].w.name == "kernel"
    assert first[0] == second[0] and all(map(np.array_equal, first[1], second[1]))


def test_lists_dicts_and_deques():
    losses, best = [1.0], {"loss": 3.0, "old": 1}
    last = collections.deque(maxlen=2)
    history = collections.defaultdict(list)

    @function
    def step(x):
        losses.append(x * x)
        losses[0] = x
        best["loss"] = min(best["loss"], x)
        best.pop("old", None)
        last.append(x + 1.0)
        history["x"].append(x)
        return x

    for x in (4.0, 2.0, 5.0):
        step(x)
    assert losses == [5.0, 16.0, 4.0, 25.0] and best == {"loss": 2.0}
    assert list(last) == [3.0, 6.0] and last.maxlen == 2
    assert history == {"x": [4.0, 2.0, 5.0]} and history.default_factory is list


def test_variables_of_modules_and_functions():
    count = 0

    @function
    def step(x):
        global total
        nonlocal count
        total = total + x
        count += 1
        return total

    global total
    total = 1.0
    assert [step(2.0), step(3.0)] == [3.0, 6.0]
    assert total == 6.0 and count == 2


def test_objects_that_it_makes():
    @dataclasses.dataclass
    class State:
        mean: float
        parts: list

    holder = Layer(1)

    @function
    def step(x):
        state = State(x / 2.0, [x, state_of(x)])
        holder.state, holder.same = state, state
        return state

    def state_of(x):
        return State(x, [])

    made = step(3.0)
    assert made is holder.state is holder.same
    assert made == State(1.5, [3.0, State(3.0, [])])


def test_generators_go_on():
    rng, other = np.random.default_rng(3), np.random.default_rng(3)
    w = Variable([1.0, 2.0])

    @function
    def step():
        with GradientTape() as tape:
            noise = rng.normal(size=2)
            loss = np.sum(w * noise)
        return loss, tape.gradient(loss, w)

    for _ in range(3):
        noise = other.normal(size=2)
        loss, gradient = step()
        assert loss == np.sum(w.numpy() * noise) and np.array_equal(gradient, noise)


@pytest.mark.slow
def test_a_gradient_is_that_of_the_numbers_drawn():
    """The block was run again for the gradient, with other numbers."""
    w = Variable([1.0, 2.0])

    @function
    def step():
        with GradientTape() as tape:
            loss = np.sum(w * np.random.randn(2))
        return loss, tape.gradient(loss, w)

    loss, gradient = step()
    assert loss == pytest.approx(np.sum(w.numpy() * gradient))


def test_draws_in_loops():
    w = Variable(2.0)

    @function
    def step(n):
        with GradientTape() as tape:
            loss = 0.0
            for _ in range(n):
                loss = loss + w * np.random.random()
        return loss, tape.gradient(loss, w)

    @function
    def until(limit):
        with GradientTape() as tape:
            loss = w * 1.0
            while loss < limit:
                loss = loss + w * np.random.random()
        return loss, tape.gradient(loss, w)

    loss, gradient = step(3)
    assert loss == pytest.approx(2.0 * gradient)
    with pytest.raises(TapecError, match="random numbers"):
        until(9.0)


def test_a_return_leaves_a_context():
    """What stood behind the `with` was run, too."""

    @function
    def step(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
            if x > 1.0:
                return y
        return tape.gradient(y, x)

    assert step(3.0) == 9.0 and step(0.5) == 1.0


def test_continue_leaves_a_context():
    def odd(x):
        s = 0.0
        for k in range(5):
            with np.errstate(all="ignore"):
                if k % 2 == 0:
                    continue
                s = s + x
            s = s + x * k
        return s

    @function
    def step(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = odd(x)
        return y, tape.gradient(y, x)

    assert step(2.0) == (odd(2.0), 6.0)


def test_whether_an_array_has_a_method():
    """It was said to have none, and the gradient was None."""
    x = np.array([1.0, 2.0])

    def measured(y):
        return np.sum(y.astype(float)) if hasattr(y, "astype") else 0.0

    with GradientTape() as tape:
        tape.watch(x)
        loss = measured(x * x)
    assert np.array_equal(tape.gradient(loss, x), 2 * x)


def test_the_largest_by_a_key():
    """The key was left out."""
    w = Variable([3.0, -4.0, 1.0])
    with GradientTape(persistent=True) as tape:
        items = [w[0], w[1], w[2]]
        far, near = max(items, key=abs), min(items, key=abs)
        first = max([(1, w[0]), (2, w[1])])[1]
    assert np.array_equal(tape.gradient(far, w), [0.0, 1.0, 0.0])
    assert np.array_equal(tape.gradient(near, w), [0.0, 0.0, 1.0])
    assert np.array_equal(tape.gradient(first, w), [0.0, 1.0, 0.0])


def test_the_truth_of_objects():
    """`__bool__` and `__len__` of objects that the block makes were not asked."""

    class Bag:
        def __init__(self, items):
            self.items = items

        def __len__(self):
            return len(self.items)

    w = Variable(2.0)
    with GradientTape() as tape:
        loss = w * w if Bag([]) else w * 3.0
    assert tape.gradient(loss, w) == 3.0


def test_attributes_of_a_namespace():
    """They were taken for constants."""
    settings = types.SimpleNamespace(scale=2.0, w=Variable(3.0))
    for scale in (2.0, 5.0):
        settings.scale = scale
        with GradientTape() as tape:
            loss = settings.w * settings.scale
        assert tape.gradient(loss, settings.w) == scale


def test_any_stops():
    asked = []

    def large(value):
        asked.append(value)
        return value > 1.5

    w = Variable([1.0, 2.0, 3.0])
    with GradientTape() as tape:
        loss = w[0] * 2.0 if any(large(value) for value in [w[0], w[1], w[2]]) else w[1]
        loss = loss * len(asked)
    assert len(asked) == 2
    assert np.array_equal(tape.gradient(loss, w), [4.0, 0.0, 0.0])


def test_cached_functions():
    """What they gave at an earlier call is a constant, also where the block seems to compute it."""
    w = Variable(2.0)

    @functools.cache
    def table(n):
        return np.arange(1.0, n + 1.0)

    @functools.cache
    def scaled():
        return w * 3.0

    with GradientTape() as tape:
        loss = w * np.sum(table(3)) + np.sum(table(3))
    assert tape.gradient(loss, w) == 6.0
    scaled()
    with GradientTape() as tape:
        loss = w * scaled()
    with pytest.raises(TapecError, match="cached function"):
        tape.gradient(loss, w)


def test_a_cached_property_is_one_object():
    """It was computed at every access."""

    class Net:
        def __init__(self, w):
            self.w = w

        @functools.cached_property
        def double(self):
            return self.w * 2.0

    w = Variable(3.0)
    net = Net(w)
    with GradientTape(persistent=True) as tape:
        loss = net.double * net.double
    assert tape.gradient(loss, w) == 24.0
    assert tape.gradient(loss, net.double) == 12.0
