"""Ordinary object code in a tape's block: layers, optimisers, cells, dataclasses, without annotation."""

from __future__ import annotations

import functools
import random
import types
from dataclasses import dataclass, field

import numpy as np
import pytest

from tapec import GradientTape, Variable, constant, function
from tapec.tape.plan import tape_plan as plans

pytestmark = pytest.mark.usefixtures("mostly_plainly")


class Dense:
    """Makes its variables when it is first called, as layers do."""

    def __init__(self, units, activation=None, rng=None):
        self.units, self.activation, self.rng = units, activation, rng
        self.w = self.b = None

    @property
    def variables(self):
        return [] if self.w is None else [self.w, self.b]

    def build(self, size):
        rng = np.random.default_rng(0) if self.rng is None else self.rng
        self.w = Variable(rng.normal(size=(size, self.units)) * 0.1, name=f"w{self.units}")
        self.b = Variable(np.zeros(self.units), name=f"b{self.units:02d}")

    def __call__(self, x):
        if self.w is None:
            self.build(x.shape[-1])
        y = x @ self.w + self.b
        return y if self.activation is None else self.activation(y)


class Sequential:
    def __init__(self, *layers):
        self.layers = list(layers)

    @property
    def variables(self):
        return [v for layer in self.layers for v in layer.variables]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Momentum:
    """An optimiser with a slot for every variable, made when it is first needed."""

    def __init__(self, rate, decay):
        self.rate, self.decay, self.slots, self.steps = rate, decay, {}, 0

    def apply(self, pairs):
        self.steps += 1
        for gradient, variable in pairs:
            slot = self.slots.get(variable.name)
            if slot is None:
                slot = np.zeros(variable.shape)
            slot = self.decay * slot + gradient
            self.slots[variable.name] = slot
            variable.assign_sub(self.rate * slot)


def differences(f, x, step=1e-6):
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += step
        down[place] -= step
        found[place] = (f(up) - f(down)) / (2 * step)
    return found


def new_plans(before):
    return [len(known) for key, known in plans._plans.items() if key not in before]


@pytest.mark.slow
def test_a_stack_of_lazy_layers_trains():
    rng = np.random.default_rng(1)
    model, optimiser = Sequential(Dense(3, np.tanh, rng), Dense(2, np.tanh), Dense(1)), Momentum(0.1, 0.5)
    x, target = rng.normal(size=(5, 4)), rng.normal(size=(5, 1))
    losses, before = [], dict(plans._plans)
    for _ in range(6):
        with GradientTape() as tape:
            loss = np.mean((model(x) - target) ** 2)
        gradients = tape.gradient(loss, model.variables)
        assert tape.watched_variables() == tuple(sorted(model.variables, key=lambda v: v._serial))
        first = model.layers[0].w.numpy()

        def at(w):
            hidden = np.tanh(x @ w + model.layers[0].b.numpy())
            for layer in model.layers[1:]:
                hidden = hidden @ layer.w.numpy() + layer.b.numpy()
                hidden = hidden if layer.activation is None else np.tanh(hidden)
            return np.mean((hidden - target) ** 2)

        np.testing.assert_allclose(gradients[0], differences(at, first), atol=1e-7)
        optimiser.apply(zip(gradients, model.variables, strict=True))
        losses.append(loss)
    assert losses[-1] < losses[0]
    # one plan for the step that builds the layers, one for all that follow
    assert new_plans(before) == [2]


@pytest.mark.slow
def test_the_optimiser_inside_the_block():
    v, optimiser = Variable([1.0, 2.0]), Momentum(0.1, 0.9)
    v.name = "v"
    x = constant(2.0)
    before = dict(plans._plans)
    for step in range(4):
        with GradientTape() as outer:
            outer.watch(x)
            with GradientTape() as inner:
                loss = np.sum(v * v) * x
            optimiser.apply([(inner.gradient(loss, v), v)])
            y = np.sum(optimiser.slots["v"] * optimiser.slots["v"])
        slot = optimiser.slots["v"]
        slope = outer.gradient(y, x)
        # the slot of earlier steps is constant, this step's gradient is 2 v x
        assert optimiser.steps == step + 1
        earlier = (slot - 2 * (v.numpy() + 0.1 * slot) * 2.0) / 0.9
        np.testing.assert_allclose(slope, np.sum(2 * slot * 2 * (v.numpy() + 0.1 * slot)))
        assert np.all(np.isfinite(earlier))
    # the outer block makes the slot in its first step; the inner block is the same in all
    assert sorted(new_plans(before)) == [1, 2]


class Cell:
    def __init__(self, size):
        self.state = np.zeros(size)
        self.w, self.u = Variable(np.eye(size) * 0.5), Variable(np.eye(size) * 0.3)
        self.history = []

    def step(self, x):
        self.state = np.tanh(self.w @ x + self.u @ self.state)
        self.history.append(self.state)
        return self.state


@pytest.mark.slow
def test_a_recurrent_cell_over_a_sequence():
    rng = np.random.default_rng(2)
    cell, inputs = Cell(3), [rng.normal(size=3) for _ in range(4)]
    start = cell.state
    with GradientTape(persistent=True) as tape:
        for x in inputs:
            out = cell.step(x)
        loss = np.sum(out * out)

    def at(u):
        state = start
        for x in inputs:
            state = np.tanh(cell.w.numpy() @ x + u @ state)
        return np.sum(state * state)

    np.testing.assert_allclose(tape.gradient(loss, cell.u), differences(at, cell.u.numpy()), atol=1e-7)
    assert tape.gradient(loss, start) is None
    np.testing.assert_allclose(tape.gradient(loss, cell.state), 2 * out)
    assert tape.gradient(loss, cell.history[1]).shape == (3,)
    np.testing.assert_array_equal(tape.gradient(cell.history[3], cell.history[3]), np.ones(3))


@dataclass
class Parameters:
    slope: float
    offset: float = 0.5
    extra: list = field(default_factory=list)

    def line(self, x):
        return self.slope * x + self.offset


def test_a_dataclass_of_parameters():
    p = Parameters(constant(2.0), constant(0.25))
    with GradientTape(persistent=True) as tape:
        tape.watch([p.slope, p.offset])
        y = p.line(3.0)
        q = Parameters(y * 2.0, extra=[p.slope])
        z = q.line(p.slope) + q.extra[0]
    assert tape.gradient(y, [p.slope, p.offset]) == [3.0, 1.0]
    # z = 2 (3 s + o) s + 0.5 + s
    assert tape.gradient(z, [p.slope, p.offset]) == [2 * (3 * 2.0 + 0.25) + 2 * 3.0 * 2.0 + 1.0, 4.0]
    assert tape.gradient(z, q.slope) == 2.0


def batches(data, size):
    for start in range(0, len(data), size):
        yield data[start : start + size]


def test_a_generator_feeds_the_block():
    w, data = Variable(2.0), np.arange(6.0)
    with GradientTape() as tape:
        loss = 0.0
        for batch in batches(data, 2):
            loss = loss + np.sum(w * batch)
    assert tape.gradient(loss, w) == 15.0


def test_a_generator_gives_its_values_once():
    w, data = Variable(2.0), np.arange(6.0)
    with GradientTape() as tape:
        rows = batches(data, 2)
        loss = 0.0
        for _ in range(2):
            for batch in rows:
                loss = loss + np.sum(w * batch)
        rest = batches(data, 3)
        sums = [np.sum(w * batch) for batch in rest]
        loss = loss + sums[0] + sum(rest, 0.0) + len([row for row in rows])
    assert float(loss) == 2 * 15.0 + 2 * 3.0
    assert tape.gradient(loss, w) == 18.0


def test_dicts_of_parameters():
    params = {"w": np.array([1.0, 2.0]), "b": constant(0.5), "deep": {"k": constant(3.0)}}
    with GradientTape() as tape:
        tape.watch(params)
        total = 0.0
        for key, value in params.items():
            if key != "deep":
                total = total + np.sum(value * value)
        total = total * params["deep"]["k"]
    found = tape.gradient(total, params)
    assert found["w"].tolist() == [6.0, 12.0] and found["b"] == 3.0 and found["deep"] == {"k": 5.25}


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, scale):
        return Vector(self.x * scale, self.y * scale)

    __rmul__ = __mul__

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __getitem__(self, k):
        return self.x if k == 0 else self.y

    @classmethod
    def diagonal(cls, x):
        return cls(x, x)

    @staticmethod
    def dot(a, b):
        return a.x * b.x + a.y * b.y


def test_operators_of_a_class():
    a, s = Vector(constant(1.0), constant(2.0)), constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch([a.x, a.y, s])
        b = s * a + Vector.diagonal(s) * 2.0
        y = Vector.dot(-b, a) + b[1]
    # b = (s x + 2 s, s y + 2 s); y = -b.a + b_y
    assert tape.gradient(y, s) == -(1.0 + 4.0 + 2.0 * 3.0) + 4.0
    assert tape.gradient(y, [a.x, a.y]) == [-(2 * 3.0 * 1.0 + 6.0), -(2 * 3.0 * 2.0 + 6.0) + 3.0]
    assert tape.gradient(y, b.y) == -2.0 + 1.0


class Base:
    gain = 2.0

    def __init__(self, w):
        self.w = w

    def call(self, x):
        return self.w * x * self.gain


class Derived(Base):
    gain = 3.0

    def __init__(self, w, b):
        super().__init__(w)
        self.b = b

    def call(self, x):
        return super().call(x) + self.b


def test_inheritance():
    layer, x = Derived(Variable(2.0), Variable(1.0)), constant(5.0)
    with GradientTape() as tape:
        tape.watch(x)
        made = Derived(layer.w, layer.b)
        y = made.call(x) + layer.call(x)
    assert tape.gradient(y, [layer.w, layer.b, x]) == [30.0, 2.0, 12.0]


class Counter:
    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return x * self.calls


def test_a_counter_on_an_object():
    f, x = Counter(), constant(2.0)
    before = dict(plans._plans)
    for k in range(5):
        with GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        assert tape.gradient(y, x) == k + 1
    assert new_plans(before) == [1]


def test_objects_that_become_one():
    a, b = Base(constant(2.0)), Base(constant(3.0))
    x = constant(1.0)
    found = []
    for first, second in ((a, b), (a, a), (b, a)):
        first.w, second.w = constant(2.0), constant(3.0)
        with GradientTape() as tape:
            tape.watch(x)
            first.w = first.w * x
            y = first.w * second.w
        found.append(tape.gradient(y, x))
    # one object: y = (3 x) ** 2
    assert found == [6.0, 18.0, 6.0]


@pytest.mark.parametrize("source", ["global", "generator", "random"])
def test_random_numbers(source):
    x, rng = np.array([1.0, 2.0, 3.0]), np.random.default_rng(3)
    for _ in range(3):
        with GradientTape() as tape:
            tape.watch(x)
            if source == "global":
                noise = np.random.normal(size=3)
            elif source == "generator":
                noise = rng.normal(0.0, 1.0, 3)
            else:
                noise = random.gauss(0.0, 1.0)
            y = np.sum(x * noise)
        np.testing.assert_allclose(tape.gradient(y, x), noise * np.ones(3))


def test_dropout():
    x, rng = np.arange(1.0, 9.0), np.random.default_rng(4)
    for _ in range(3):
        with GradientTape() as tape:
            tape.watch(x)
            mask = rng.random(8) < 0.5
            y = np.sum(np.where(mask, x * x, 0.0))
        np.testing.assert_allclose(tape.gradient(y, x), np.where(mask, 2 * x, 0.0))


class Lazy:
    w = None
    names = ()

    def __call__(self, x):
        if self.w is None:
            self.w = Variable([0.3, 0.2])
        return self.w * x


@pytest.mark.slow
def test_attributes_that_the_class_holds_as_none():
    def made_inside(x):
        with GradientTape() as tape:
            layer = Lazy()
            y = layer(x) * layer(x)
        return tape.gradient(y, layer.w)

    layer, x = Lazy(), np.array([1.0, 2.0])
    for _ in range(2):
        with GradientTape() as tape:
            y = layer(x)
        np.testing.assert_array_equal(tape.gradient(y, layer.w), x)
    np.testing.assert_allclose(made_inside(x), 2 * np.array([0.3, 0.2]) * x**2)


def test_folding_and_sorting_over_structure():
    weights = {"b": Variable(2.0), "a": Variable(3.0)}
    with GradientTape() as tape:
        y = 0.0
        for place, key in enumerate(sorted(weights, reverse=True)):
            y = y + weights[key] ** (place + 2)
        for _, value in sorted(weights.items()):
            y = y * value
        z = functools.reduce(lambda a, v: a * v, weights.values(), y) + max(range(3)) * weights["a"]
    by_key = tape.gradient(z, weights)
    a, b = 3.0, 2.0
    np.testing.assert_allclose(by_key["b"], (4 * b**3 + 2 * a**3 * b) * a**2)
    np.testing.assert_allclose(by_key["a"], (5 * a**4 + 2 * a * b**2) * b**2 + 2.0)


def test_dict_comprehensions():
    weights = {k: Variable(float(k)) for k in range(1, 4)}
    with GradientTape() as tape:
        squares = {k: w * w for k, w in weights.items() if k != 2}
        named = {f"{k}/{j}": squares[k] * j for k in squares for j in range(2)}
        y = sum(squares.values()) + max(squares.values()) + named["3/1"]
    assert tape.gradient(y, weights) == {1: 2.0, 2: None, 3: 18.0}


def test_partial_functions():
    def power(a, b, c=1.0):
        return a * b**c

    x, k = constant(2.0), constant(3.0)
    cube = functools.partial(power, c=k)
    with GradientTape() as tape:
        tape.watch([x, k])
        y = cube(2.0, x) + functools.partial(cube, x)(1.0)
    in_x, in_k = tape.gradient(y, [x, k])
    assert in_x == 24.0 + 1.0
    np.testing.assert_allclose(in_k, 2.0 * 8.0 * np.log(2.0))


def test_slots_by_identity():
    class Momentum:
        def __init__(self):
            self.slots = {}

        def apply(self, pairs):
            for gradient, variable in pairs:
                slot = self.slots.get(id(variable), 0.0)
                self.slots[id(variable)] = slot = 0.5 * slot + gradient
                variable.assign_sub(0.1 * slot)

    for _ in range(2):
        v, w, optimiser = Variable(2.0), Variable(3.0), Momentum()
        with GradientTape() as outer:
            for _ in range(2):
                with GradientTape() as tape:
                    loss = v * v * w
                optimiser.apply(zip(tape.gradient(loss, [v, w]), [v, w], strict=True))
            y = v * w
        in_v, in_w = 2.0, 3.0
        slots = [0.0, 0.0]
        for _ in range(2):
            slots = [0.5 * slots[0] + 2.0 * in_v * in_w, 0.5 * slots[1] + in_v * in_v]
            in_v, in_w = in_v - 0.1 * slots[0], in_w - 0.1 * slots[1]
        np.testing.assert_allclose([v.numpy(), w.numpy()], [in_v, in_w])
        np.testing.assert_allclose(outer.gradient(y, [v, w]), [in_w, in_v])


def test_text_of_what_is_known():
    slots = {f"{kind}{k}": Variable(float(k + 1)) for k in range(2) for kind in "vm"}

    def step(x):
        with GradientTape() as tape:
            y = x
            for k in range(2):
                y = y * slots["v" + str(k)] + slots["m" + str(k)]
                text = str(y) + str(x.dtype if hasattr(x, "dtype") else "")
        return tape.gradient(y, [slots["v0"], slots["m1"]]), len(text) if text is None else 0

    assert step(3.0)[0] == [6.0, 1.0] and function(step)(3.0)[0] == [6.0, 1.0]


def test_text_that_is_joined_from_what_the_run_knows_is_no_key():
    slots = {"v0": Variable(1.0), "v1": Variable(2.0)}

    def step(x):
        with GradientTape() as tape:
            y = x
            for k in range(2):
                y = y * slots.get("v" + str(k), 1.0)
        return tape.gradient(y, [slots["v0"], slots["v1"]])

    assert step(3.0) == [6.0, 3.0] and function(step)(3.0) == [6.0, 3.0]


def test_a_transposed_vector_is_another_value():
    x = np.array([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        h = x * 2.0
        a = h.T
        y = np.sum(h * a)
    np.testing.assert_array_equal(tape.gradient(y, h), 2.0 * h)
    # what only `a` is used for
    np.testing.assert_array_equal(tape.gradient(y, a), h)


def test_namespaces_are_objects_that_a_block_makes():
    w = Variable([2.0, 3.0])
    for _ in range(2):
        with GradientTape() as tape:
            made = types.SimpleNamespace(w=w, inner=types.SimpleNamespace(scale=2.0))
            made.twice = made.w * made.inner.scale
            for _ in range(2):
                made.inner.scale = made.inner.scale * made.w[0]
            y = np.sum(made.twice) * made.inner.scale
            missing = hasattr(made, "scale")
        assert tape.gradient(y, w).tolist() == [96.0, 16.0]
        assert not missing and made.inner.scale == 8.0 and made.twice.tolist() == [4.0, 6.0]
