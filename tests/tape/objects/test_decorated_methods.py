"""Methods under `tapec.function` and `tapec.grad` stay methods: in blocks of tapes, through `super`, of arguments."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.oracles import interpreted

X = np.array([1.0, 2.0, 3.0])


class Model:
    def __init__(self):
        self.w = tapec.Variable(X)
        self.k = 2.0

    @tapec.function
    def loss(self, x):
        return np.sum(self.w * x) * self.k

    @staticmethod
    @tapec.function
    def square(x):
        return x * x


class Penalised(Model):
    @tapec.function
    def loss(self, x):
        return super().loss(x) + np.sum(self.w**2)


class Held:
    def __init__(self, w):
        self.w = w

    @tapec.function
    def energy(self):
        return np.sum(self.w**2)

    @tapec.grad(wrt="x")
    def slope(self, x):
        return self.w**2 * x


class Kept(Held):
    @tapec.function
    def energy(self):
        return super().energy() * 3.0


class Layer:
    def __init__(self, scale):
        self.w = tapec.Variable(X * scale)
        self.scale = scale

    @tapec.function
    def __call__(self, x):
        return np.sum(self.w * x) * self.scale

    @tapec.function
    def __matmul__(self, x):
        return np.sum(self.w * x)

    @tapec.function
    def __getitem__(self, place):
        return self.w[place]


class Doubled(Layer):
    @tapec.function
    def __call__(self, x):
        return super().__call__(x) * 2.0


@pytest.mark.parametrize(("cls", "factor"), [(Layer, 1.0), (Doubled, 2.0)])
def test_objects_are_called_whose_class_has_a_compiled_call(cls, factor):
    layers = cls(1.0), cls(2.0)
    for scale in (1.0, 1.0, 5.0):
        layers[0].scale = scale
        with tapec.GradientTape() as tape:
            y = 0.0
            for layer in layers:
                y += layer(X)
        first, second = tape.gradient(y, [layer.w for layer in layers])
        np.testing.assert_allclose(first, scale * factor * X)
        np.testing.assert_allclose(second, 2.0 * factor * X)


def test_operators_may_be_compiled_functions():
    layer = Layer(1.0)
    with tapec.GradientTape() as tape:
        y = layer[1] * (layer @ X)
    np.testing.assert_allclose(tape.gradient(y, layer.w), 2.0 * X + [0.0, 14.0, 0.0])


@pytest.mark.parametrize(("cls", "expected"), [(Model, 2.0 * X), (Penalised, 4.0 * X)])
def test_a_block_calls_them(cls, expected):
    model = cls()
    with interpreted(), tapec.GradientTape() as tape:
        y = model.loss(X)
    np.testing.assert_allclose(tape.gradient(y, model.w), expected)


def test_a_block_calls_those_of_objects_that_it_makes():
    w = tapec.Variable(X)
    with tapec.GradientTape() as tape:
        y = Held(w * 2.0).energy() + Model.square(w[0])
    np.testing.assert_allclose(tape.gradient(y, w), 8.0 * X + [2.0, 0.0, 0.0])


def test_compiled_functions_call_them():
    model = Model()

    @tapec.function
    def step(x):
        with tapec.GradientTape() as tape:
            y = model.loss(x)
        return tape.gradient(y, model.w)

    np.testing.assert_allclose(step(X), 2.0 * X)
    model.k = 3.0
    np.testing.assert_allclose(step(X), 3.0 * X)


def test_what_they_are_is_looked_up_each_time():
    class Changed(Model):
        pass

    model, slopes = Changed(), []
    for step in range(4):
        with tapec.GradientTape() as tape:
            y = model.loss(X)
        slopes.append(tape.gradient(y, model.w)[0])
        if step == 1:
            model.k = 5.0
        if step == 2:
            Changed.loss = lambda self, _: np.sum(self.w) * 7.0
    assert slopes == [2.0, 2.0, 5.0, 7.0]


@pytest.mark.parametrize(("cls", "scale"), [(Held, 1.0), (Kept, 3.0)])
def test_functions_call_those_of_arguments(cls, scale):
    with interpreted():
        made = tapec.grad(lambda one: one.energy() + one.slope(2.0))(cls(1.5))
    assert made.w == 3.0 * scale + 3.0
